//! What the plugin of capture does not ask about, because it is known from what it was told before,
//! held against what really happens.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use support::capture::{build, group_checker, works};

/// Runs a program under the plugin that checks; accesses, and how many of them were foretold.
fn check(argv: &[&str]) -> (u64, u64) {
    let output = Command::new("qemu-x86_64")
        .args(["-cpu", "max", "-plugin"])
        .arg(group_checker())
        .args(argv)
        .stdin(Stdio::null())
        .output()
        .expect("the emulator starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{argv:?}: {}, {said}", output.status);
    let line = said.lines().last().unwrap_or_default();
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [accesses, _groups, foretold, cut] = numbers[..] else { panic!("{argv:?}: {said}") };
    assert_eq!(cut, 0, "{argv:?}: groups that were not completed: {said}");
    (accesses, foretold)
}

/// Every access that is foretold of a program happens, and no other. The program takes no signals: QEMU 7.2 tells of
/// what it writes into a signal's frame itself as if the last instruction of the block before had done it.
fn hold(test: &str, argv: &[&str]) {
    if !works(test) {
        return;
    }
    if !Path::new(argv[0]).exists() {
        println!("skipped: {test}: no {} here", argv[0]);
        return;
    }
    let (accesses, foretold) = check(argv);
    assert!(foretold * 20 > accesses, "{argv:?}: {foretold} of {accesses} foretold");
}

#[test]
fn groups_hold_in_python() {
    let many = "for i in range(200): x = {j: str(j) for j in range(i)}; y = sorted(x.values())";
    hold("groups_hold_in_python", &["/usr/bin/python3", "-c", many]);
}

#[test]
fn groups_hold_in_perl() {
    let counts = "my %n; $n{$_ % 1000} .= $_ for 1..30000; print scalar(keys %n)";
    hold("groups_hold_in_perl", &["/usr/bin/perl", "-e", counts]);
}

#[test]
fn groups_hold_in_bash() {
    let append = "for i in {1..2000}; do s=$s$i; done; echo ${#s}";
    hold("groups_hold_in_bash", &["/bin/bash", "-c", append]);
}

#[test]
fn groups_hold_in_openssl() {
    let digest =
        ["/usr/bin/openssl", "dgst", "-sha256", "/usr/bin/openssl", "/usr/bin/qemu-x86_64"];
    hold("groups_hold_in_openssl", &digest);
}

/// Instructions of many forms, with every register as base, index and operand, made from a seed by the program
/// itself.
#[test]
fn instructions_of_many_forms_do_what_is_foretold() {
    if !works("instructions_of_many_forms_do_what_is_foretold") {
        return;
    }
    let program = build("instructions", &[], "tests/programs/instructions.c");
    for seed in ["1", "2", "3", "4"] {
        let (accesses, foretold) = check(&[program.to_str().unwrap(), seed]);
        assert!(foretold > 1000, "{foretold} of {accesses}");
    }
}
