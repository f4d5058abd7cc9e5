//! node, the JavaScript runtime.

use farside_exam::{Exam, Program, has_program, pick, source};

#[test]
fn node_script() {
    if !has_program("node_script", "node", "nodejs") {
        return;
    }
    let program = Program::new("node").arg(source("exam.js")).arg(pick("50000", "4000000"));
    Exam::new("node").compare(&program);
}
