//! Programs that nothing can be put under: they run as they are, with one line of warning.

use std::path::PathBuf;
use std::process::Command;

use farside_exam::{Exam, compile, compile_with, farside, has_program, plain_only, source};

/// Runs `program` by itself and under `farside run`; the latter must warn once and change nothing else.
fn unmanaged(program: &PathBuf) {
    let run = |command: &mut Command| {
        let output = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let plain = run(&mut Command::new(program));
    assert_eq!(plain.0, Some(0), "{}", plain.2);
    if plain_only() {
        return;
    }
    let far = run(Command::new(farside()).args(["run", "--local", "64M", "--"]).arg(program));
    assert_eq!((far.0, far.1), (plain.0, plain.1), "{}", far.2);
    assert_eq!(far.2.lines().count(), 1, "one line of warning, not: {}", far.2);
    assert!(far.2.starts_with("farside: "), "{}", far.2);
    assert!(far.2.contains("without far memory"), "{}", far.2);
}

#[test]
fn a_static_program_runs_unmanaged() {
    if !has_program("a_static_program_runs_unmanaged", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("static");
    unmanaged(&compile(&exam.inputs(), "static.c", &["-static"]));
}

#[test]
fn a_go_program_runs_unmanaged() {
    if !has_program("a_go_program_runs_unmanaged", "go", "golang-go") {
        return;
    }
    let exam = Exam::new("go");
    let program = exam.input("unmanaged");
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program).arg(source("unmanaged.go"));
    command
        .env("GOCACHE", exam.input("cache"))
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off");
    compile_with(&mut command);
    unmanaged(&program);
}
