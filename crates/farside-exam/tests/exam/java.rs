//! A Java program under two garbage collectors.

use std::process::Command;

use farside_exam::{Exam, Program, compile_with, has_program, pick, source};

fn java(test: &'static str, collector: &str) {
    if !has_program(test, "javac", "default-jdk-headless") {
        return;
    }
    let exam = Exam::new(test);
    compile_with(Command::new("javac").arg("-d").arg(exam.inputs()).arg(source("Exam.java")));
    let heap = pick("-Xmx256m", "-Xmx2g");
    let program = Program::new("java").args([collector, heap, "-Xshare:auto", "-cp"]);
    exam.compare(&program.arg(exam.inputs()).args(["Exam", pick("150000", "5000000")]));
}

#[test]
fn java_with_the_serial_collector() {
    java("java_with_the_serial_collector", "-XX:+UseSerialGC");
}

#[test]
fn java_with_g1() {
    java("java_with_g1", "-XX:+UseG1GC");
}
