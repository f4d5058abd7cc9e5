//! perl: nested hashes and long strings.

use farside_exam::{Exam, Program, has_program, pick, source};

#[test]
fn perl_hashes() {
    if !has_program("perl_hashes", "perl", "perl") {
        return;
    }
    let program = Program::new("perl").arg(source("hashes.pl")).arg(pick("400000", "6000000"));
    Exam::new("perl").compare(&program);
}
