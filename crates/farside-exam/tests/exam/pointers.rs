//! Programs that follow pointers, with `--prefetch pointer`: the same output, and hardly a page that nobody foresaw.

use std::process::Command;

use farside_exam::{compile, farside, has_program};
use serde_json::Value;

/// Nodes of each list, one on a page.
const NODES: u64 = 4000;

/// Insists that a run prints what a plain one does, within its limit; returns its demand faults, and the pages that were
/// sent for because of pointers.
fn run(threads: &str, options: &[&str]) -> (u64, u64) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = compile(directory.path(), "pointers.c", &["-O2", "-pthread"]);
    let stats = directory.path().join("stats.json");
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--local", "8M", "--prefetch", "pointer", "--stats"]);
    command.arg(&stats).args(options).arg("--").arg(&program);
    let far = command.args([&NODES.to_string(), threads]).output().expect("farside starts");
    let plain = Command::new(&program).args([&NODES.to_string(), threads]).output();
    let plain = plain.expect("the program starts");
    assert!(plain.status.success() && far.status.success(), "{far:?}");
    assert_eq!(plain.stdout, far.stdout);
    let text = std::fs::read_to_string(&stats).expect("statistics");
    let stats: Value = serde_json::from_str(&text).expect("JSON");
    let count = |name: &str| stats["counters"][name].as_u64().expect("a counter");
    assert!(count("resident_peak_bytes") <= count("limit_bytes"), "{text}");
    (count("demand_faults"), count("pointer_pages"))
}

#[test]
fn a_list_is_followed_ahead_of_the_program() {
    if !has_program("a_list_is_followed_ahead_of_the_program", "gcc", "gcc") {
        return;
    }
    for far in ["embedded:", "embedded:latency=5us,bandwidth=25gbit"] {
        let (demand, sent) = run("1", &["--far", far]);
        assert!(sent > NODES, "{far}: {sent} pages sent for because of pointers");
        assert!(demand < NODES / 4, "{far}: {demand} demand faults");
    }
}

#[test]
fn lists_of_several_threads_keep_every_byte() {
    if !has_program("lists_of_several_threads_keep_every_byte", "gcc", "gcc") {
        return;
    }
    for options in [&["--exact-prefetch-count"][..], &["--far", "embedded:latency=5us"], &[]] {
        run("3", options);
    }
}
