//! Programs that go through their memory in order, or in strides, faster than pages come.

use std::process::Command;

use farside_exam::{compile, farside, has_program};
use serde_json::Value;

/// Runs a program far away from its pages, insists that it prints what a plain run does, and returns demand faults and
/// late hits.
fn run(pattern: &str, prefetch: &str) -> (u64, u64) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = compile(directory.path(), "patterns.c", &["-O2", "-pthread"]);
    let stats = directory.path().join("stats.json");
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--local", "8M", "--far", "embedded:latency=1ms"]);
    command.args(["--prefetch", prefetch, "--stats"]).arg(&stats).arg("--").arg(&program);
    let far = command.args([pattern, "0"]).output().expect("farside starts");
    let plain = Command::new(&program).args([pattern, "0"]).output().expect("it starts");
    assert!(plain.status.success() && far.status.success(), "{far:?}");
    assert_eq!(plain.stdout, far.stdout);
    let text = std::fs::read_to_string(&stats).expect("statistics");
    let stats: Value = serde_json::from_str(&text).expect("JSON");
    let count = |name: &str| stats["counters"][name].as_u64().expect("a counter");
    (count("demand_faults"), count("late_hits"))
}

#[test]
fn a_stream_goes_on_from_pages_that_are_late() {
    if !has_program("a_stream_goes_on_from_pages_that_are_late", "gcc", "gcc") {
        return;
    }
    let (demand, late) = run("passes", "linux");
    assert!(demand * 4 < late, "{demand} demand faults, {late} late hits");
}

#[test]
fn strides_are_followed_though_few_uses_are_seen() {
    if !has_program("strides_are_followed_though_few_uses_are_seen", "gcc", "gcc") {
        return;
    }
    // Each of 6000 steps is a fault to who does not follow the stride.
    for prefetch in ["leap", "adaptive"] {
        let (demand, _) = run("scan", prefetch);
        assert!(demand < 1000, "{prefetch}: {demand} demand faults");
    }
}
