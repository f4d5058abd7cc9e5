//! A C++ program with exceptions, threads and a plugin; one that forks a tree; one that uses every
//! call on mappings and blocks; one whose signal handlers map memory; one that lets the kernel pin its
//! memory.

use std::process::Command;

use farside_exam::{
    Exam, Place, Program, compile, compile_with, has_program, pick, skipped, source,
};

#[test]
fn exceptions_threads_and_plugins() {
    if !has_program("exceptions_threads_and_plugins", "g++", "g++") {
        return;
    }
    let exam = Exam::new("exceptions");
    let plugin = exam.input("plugin.so");
    let mut command = Command::new("g++");
    compile_with(
        command.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&plugin).arg(source("plugin.cc")),
    );
    let program = compile(&exam.inputs(), "exceptions.cc", &["-ldl"]);
    exam.compare(&Program::new(program).arg(plugin).arg(pick("60000", "2000000")));
}

#[test]
fn a_tree_of_forked_workers() {
    if !has_program("a_tree_of_forked_workers", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("forktree");
    let program = compile(&exam.inputs(), "forktree.c", &[]);
    exam.compare(&Program::new(program).args([pick("48", "512"), pick("2", "3"), "3"]));
}

#[test]
fn children_whose_locale_is_far() {
    if !has_program("children_whose_locale_is_far", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("localefork");
    let program = compile(&exam.inputs(), "localefork.c", &["-O2", "-pthread"]);
    exam.compare(&Program::new(program).arg(pick("48", "512")));
}

#[test]
fn forks_of_a_program_whose_streams_are_far() {
    if !has_program("forks_of_a_program_whose_streams_are_far", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("streamfork");
    let program = compile(&exam.inputs(), "streamfork.c", &["-O2", "-pthread"]);
    let megabytes = pick("24", "256");
    exam.compare(&Program::new(&program).arg(megabytes));
    exam.compare(&Program::new(&program).args([megabytes, "busy"]));
}

#[test]
fn a_fork_while_all_streams_are_flushed() {
    if !has_program("a_fork_while_all_streams_are_flushed", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("flushfork");
    let program = compile(&exam.inputs(), "flushfork.c", &["-O2", "-pthread"]);
    exam.compare(&Program::new(program));
}

#[test]
fn threads_that_hold_up_no_end() {
    if !has_program("threads_that_hold_up_no_end", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("idlethreads");
    let program = compile(&exam.inputs(), "idlethreads.c", &["-O2"]);
    exam.compare(&Program::new(program));
}

#[test]
fn children_begin_within_the_limit() {
    if !has_program("children_begin_within_the_limit", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("forklimit");
    let program = compile(&exam.inputs(), "forklimit.c", &["-O2"]);
    exam.compare(&Program::new(program).arg(pick("48", "512")).arg(pick("200", "1000")));
}

#[test]
fn mappings_of_every_kind() {
    if !has_program("mappings_of_every_kind", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("mappings");
    let program = compile(&exam.inputs(), "mappings.c", &[]);
    exam.compare(&Program::new(program).arg(pick("64", "1024")));
}

#[test]
fn handlers_that_map_memory() {
    if !has_program("handlers_that_map_memory", "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("signals");
    let program = compile(&exam.inputs(), "signals.c", &[]);
    for how in ["sigaction", "signal", "sysv_signal", "sigset"] {
        exam.compare(&Program::new(&program).arg(how));
    }
}

#[test]
fn memory_pinned_by_the_kernel() {
    let test = "memory_pinned_by_the_kernel";
    if !has_program(test, "gcc", "gcc") {
        return;
    }
    let exam = Exam::new("uring");
    let program = Program::new(compile(&exam.inputs(), "uring.c", &[])).arg(pick("64", "1024"));
    let directory = exam.fresh_directory(Place::Plain);
    if exam.start(&program, Place::Plain, &directory).finish().code() == Some(77) {
        return skipped(test, "this kernel has no io_uring, or forbids it");
    }
    exam.compare(&program);
}
