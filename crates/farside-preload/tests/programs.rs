//! Programs written for this purpose, run plainly, under the library without far memory, and on far
//! memory: output and exit code must be the same in all three.

mod harness;

use harness::{Compiler, Run, compile, library, run};

/// Runs the program compiled from `tests/programs/SOURCE` in all three ways.
fn same_everywhere(source: &str) {
    let program = compile(Compiler::for_source(source), source, &[]);
    same_runs(&program.display().to_string(), &[]);
}

fn same_runs(program: &str, args: &[&str]) {
    let plain = run(Run::Plain, program, args);
    assert_eq!(plain.code, Some(0), "{program} fails by itself: {plain}");
    for way in [Run::Local, Run::Far] {
        let other = run(way, program, args);
        assert_eq!(plain, other, "{program} differs, {way:?}");
    }
}

#[test]
fn malloc_family() {
    same_everywhere("malloc_family.c");
}

#[test]
fn foreign_pointers() {
    let program = compile(Compiler::C, "foreign_pointers.c", &[]);
    let shared = compile(Compiler::C, "foreign_pointers_library.c", &["-shared", "-fPIC"]);
    std::fs::copy(&shared, program.with_extension("so")).unwrap();
    same_runs(&program.display().to_string(), &[]);
}

#[test]
fn threads() {
    same_everywhere("threads.c");
}

#[test]
fn processes() {
    same_everywhere("processes.c");
}

#[test]
fn mapping() {
    same_everywhere("mapping.c");
}

#[test]
fn remapping() {
    same_everywhere("remapping.c");
}

#[test]
fn protection() {
    same_everywhere("protection.c");
}

#[test]
fn advice() {
    same_everywhere("advice.c");
}

#[test]
fn breaks() {
    same_everywhere("breaks.c");
}

#[test]
fn quiet_free() {
    same_everywhere("quiet_free.c");
}

#[test]
fn objects() {
    same_everywhere("objects.cc");
}

#[test]
fn static_program_runs_unmanaged() {
    let program = compile(Compiler::C, "breaks.c", &["-static", "-w"]);
    let program = program.display().to_string();
    assert_eq!(run(Run::Plain, &program, &[]).code, Some(0));
    // Nothing loads the library into it.
    let far = run(Run::Far, &program, &[]);
    assert_eq!(far.code, Some(0), "{far}");
}

#[test]
fn bad_setting_stops_the_program_before_it_starts() {
    let output = std::process::Command::new("/bin/echo")
        .arg("ran")
        .env("LD_PRELOAD", library())
        .env("FARSIDE_CONTROL", harness::CONTROL)
        .env("FARSIDE_LOCAL", "lots")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("FARSIDE_LOCAL") && message.contains("lots"), "{message}");
}
