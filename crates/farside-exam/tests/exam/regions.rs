//! Programs whose large arrays are used in ways of their own (`--replacement region`).

use std::path::Path;
use std::process::{Command, Stdio};

use farside_exam::{compile_with, farside, has_program, source};
use serde_json::Value;

/// Pages of the array that is gone through, of the one that is used by chance, and rounds.
const ARGUMENTS: [&str; 3] = ["12000", "4000", "20"];

/// Runs the program and insists that it prints what a plain run does; returns the counters.
fn counted(program: &Path, options: &[&str]) -> impl Fn(&str) -> u64 + use<> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let stats = directory.path().join("stats.json");
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--local", "40M", "--prefetch", "none"]).args(options);
    command.arg("--stats").arg(&stats).arg("--").arg(program).args(ARGUMENTS);
    let far = command.stdin(Stdio::null()).output().expect("farside starts");
    let plain = Command::new(program).args(ARGUMENTS).output().expect("it starts");
    assert!(plain.status.success() && far.status.success(), "{far:?}");
    assert_eq!(plain.stdout, far.stdout);
    let text = std::fs::read_to_string(&stats).expect("statistics");
    let stats: Value = serde_json::from_str(&text).expect("JSON");
    move |name| stats["counters"][name].as_u64().expect("a counter")
}

#[test]
fn arrays_that_are_used_in_different_ways_leave_in_different_orders() {
    let test = "arrays_that_are_used_in_different_ways_leave_in_different_orders";
    if !has_program(test, "gcc", "gcc") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join("regions");
    let source = source("regions.c");
    compile_with(Command::new("gcc").args(["-O2", "-o"]).arg(&program).arg(source));
    let faults = |options: &[&str]| {
        let count = counted(&program, options);
        assert!(count("resident_peak_bytes") <= 40 << 20);
        println!("{options:?}: {} {}", count("demand_faults"), count("tracked_faults"));
        (count("demand_faults"), count("tracked_faults"))
    };
    let (usual, _) = faults(&["--replacement", "second-chance"]);
    // It is tracked without being asked for.
    let (by_region, tracked) = faults(&["--replacement", "region"]);
    assert!(tracked > 0);
    assert!(by_region < usual * 3 / 4, "{by_region} beside {usual}");
    let (untracked, none) = faults(&["--replacement", "region", "--track", "off"]);
    assert_eq!(none, 0);
    // What was used last stays in each region, as it does under second chance.
    assert!(untracked < usual * 21 / 20, "{untracked} beside {usual}");
}
