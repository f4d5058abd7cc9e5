//! Programs written for this purpose, run plainly, under the library without far memory, and on far
//! memory with much and with little room: output and exit code must always be the same.

mod harness;

use harness::{Compiler, Run, compile, far_memory_works, library, run};

/// Runs the program compiled from `tests/programs/SOURCE` in all ways.
fn same_everywhere(source: &str) {
    let program = compile(Compiler::for_source(source), source, &[]);
    same_runs(&program.display().to_string(), &[Run::Local, Run::Far, Run::Tight, Run::Copied]);
}

fn same_runs(program: &str, ways: &[Run]) {
    let plain = run(Run::Plain, program, &[]);
    assert_eq!(plain.code, Some(0), "{program} fails by itself: {plain}");
    for way in ways {
        if *way == Run::Local || far_memory_works(program) {
            assert_eq!(plain, run(*way, program, &[]), "{program} differs, {way:?}");
        }
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
    same_runs(&program.display().to_string(), &[Run::Local, Run::Far, Run::Tight, Run::Copied]);
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
    // With little room, pages would have to leave while the program keeps them closed.
    let program = compile(Compiler::C, "quiet_free.c", &[]);
    same_runs(&program.display().to_string(), &[Run::Local, Run::Far]);
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
    let managed = run(Run::Local, &program, &[]);
    assert_eq!(managed.code, Some(0), "{managed}");
}

#[test]
fn without_its_supervisor_a_program_does_not_start() {
    let output = std::process::Command::new("/bin/echo")
        .arg("ran")
        .env("LD_PRELOAD", library())
        .env("FARSIDE_CONTROL", "nobody-listens-here")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("supervisor"), "{message}");
}

#[test]
fn bad_setting_stops_the_program_before_it_starts() {
    let output = std::process::Command::new("/bin/echo")
        .arg("ran")
        .env("LD_PRELOAD", library())
        .env("FARSIDE_CONTROL", "nobody-listens-here")
        .env("FARSIDE_LOCAL", "lots")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("FARSIDE_LOCAL") && message.contains("lots"), "{message}");
}
