//! Programs that follow pointers, with pointers followed: the same output, and hardly a page that nobody foresaw.

use std::process::Command;

use farside_exam::{compile, farside, has_program};
use serde_json::Value;

/// Nodes of each list, one on a page.
const NODES: u64 = 4000;

/// Insists that a run prints what a plain one does, within its limit; returns its demand faults, the pages that were
/// sent for because of pointers, and those prefetched that are known to have been used.
fn run(threads: &str, prefetch: &str, options: &[&str]) -> (u64, u64, u64) {
    run_list(&[threads], prefetch, options)
}

/// The same of a list of some kind.
fn run_list(list: &[&str], prefetch: &str, options: &[&str]) -> (u64, u64, u64) {
    run_program("pointers.c", list, prefetch, options)
}

/// The same of a program.
fn run_program(
    source: &str,
    arguments: &[&str],
    prefetch: &str,
    options: &[&str],
) -> (u64, u64, u64) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = compile(directory.path(), source, &["-O2", "-pthread"]);
    let stats = directory.path().join("stats.json");
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--local", "8M", "--prefetch", prefetch, "--stats"]);
    command.arg(&stats).args(options).arg("--").arg(&program);
    let far = command.arg(NODES.to_string()).args(arguments).output().expect("farside starts");
    let plain = Command::new(&program).arg(NODES.to_string()).args(arguments).output();
    let plain = plain.expect("the program starts");
    assert!(plain.status.success() && far.status.success(), "{far:?}");
    assert_eq!(plain.stdout, far.stdout);
    let text = std::fs::read_to_string(&stats).expect("statistics");
    let stats: Value = serde_json::from_str(&text).expect("JSON");
    let count = |name: &str| stats["counters"][name].as_u64().expect("a counter");
    assert!(count("resident_peak_bytes") <= count("limit_bytes"), "{text}");
    let sent = count("pointer_pages");
    assert!(sent <= count("pointer_candidates"), "{text}");
    let ended = count("pointer_used") + count("pointer_late") + count("pointer_unused");
    assert!(sent == 0 || (1..=sent).contains(&ended), "{text}");
    (count("demand_faults"), sent, count("prefetched_used"))
}

#[test]
fn a_list_is_followed_ahead_of_the_program() {
    if !has_program("a_list_is_followed_ahead_of_the_program", "gcc", "gcc") {
        return;
    }
    for far in ["embedded:", "embedded:latency=5us,bandwidth=25gbit"] {
        for prefetch in ["pointer", "pointer:depth=128,before=0,behind=64", "adaptive"] {
            let (demand, sent, _) = run("1", prefetch, &["--far", far]);
            assert!(sent > NODES, "{far}, {prefetch}: {sent} pages sent for because of pointers");
            assert!(demand < NODES / 4, "{far}, {prefetch}: {demand} demand faults");
        }
    }
}

#[test]
fn what_an_array_that_is_here_points_to_is_fetched() {
    if !has_program("what_an_array_that_is_here_points_to_is_fetched", "gcc", "gcc") {
        return;
    }
    for far in ["embedded:", "embedded:latency=5us,bandwidth=25gbit"] {
        for prefetch in ["pointer", "adaptive"] {
            let (demand, sent, _) = run_program("texts.c", &["6"], prefetch, &["--far", far]);
            assert!(
                sent > 4 * NODES,
                "{far}, {prefetch}: {sent} pages sent for because of pointers"
            );
            assert!(demand < NODES, "{far}, {prefetch}: {demand} demand faults");
        }
    }
}

#[test]
fn lists_of_several_threads_keep_every_byte() {
    if !has_program("lists_of_several_threads_keep_every_byte", "gcc", "gcc") {
        return;
    }
    for options in [&["--exact-prefetch-count"][..], &["--far", "embedded:latency=5us"], &[]] {
        run("3", "pointer", options);
        run("3", "adaptive", options);
    }
}

#[test]
fn pages_sent_for_because_of_pointers_are_counted_exactly() {
    if !has_program("pages_sent_for_because_of_pointers_are_counted_exactly", "gcc", "gcc") {
        return;
    }
    let (_, sent, used) = run("1", "pointer", &["--exact-prefetch-count"]);
    assert!(used > sent / 2, "{used} of {sent} pages are known to have been used");
}

#[test]
fn what_a_program_says_of_its_pointers_is_believed() {
    if !has_program("what_a_program_says_of_its_pointers_is_believed", "gcc", "gcc") {
        return;
    }
    for (kind, is_followed) in [
        ("plain", true),
        ("untagged", false),
        ("reused", true),
        ("marked", false),
        ("tagged", true),
    ] {
        let (demand, sent, _) = run_list(&["1", kind], "pointer", &[]);
        assert_eq!(sent > NODES, is_followed, "{kind}: {sent} pages sent for");
        assert_eq!(demand < NODES / 4, is_followed, "{kind}: {demand} demand faults");
    }
}
