//! Programs whose address space is limited.

use std::process::Command;

use farside_exam::{Exam, compile, farside};

/// Batch systems limit the address space of jobs.
#[test]
fn a_program_with_little_address_space() {
    let exam = Exam::new("addresses");
    let sweep = compile(&exam.inputs(), "sweep.c", &["-O2"]);
    let gibibytes = |gibibytes: u64| {
        let script = format!("ulimit -v {}; exec \"$@\"", gibibytes << 20);
        let mut run = Command::new("sh");
        run.args(["-c", &script, "sh"]).arg(farside()).args(["run", "--quiet", "--local", "16M"]);
        run.arg("--").arg(&sweep).args(["40", "3"]).output().expect("sh starts")
    };
    let plain = Command::new(&sweep).args(["40", "3"]).output().expect("it starts");
    for enough in [8, 12, 16, 24, 48, 100, 1000] {
        let output = gibibytes(enough);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.stdout, &*text), (plain.stdout.clone(), ""), "{enough} GiB");
    }
    let output = gibibytes(5);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("Cannot allocate memory"), "{text}");
}
