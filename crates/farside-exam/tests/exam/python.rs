//! python3: numpy, a large dictionary, SQLite in memory.

use farside_exam::{Exam, PYTHON, Program, has_numpy, has_program, pick, source};

#[test]
fn numpy_product_and_transform() {
    if !has_numpy("numpy_product_and_transform") {
        return;
    }
    let program = Program::new(PYTHON).arg(source("numpy_exam.py")).arg(pick("700", "2500"));
    Exam::new("numpy").compare(&program);
}

#[test]
fn a_large_dictionary() {
    if !has_program("a_large_dictionary", PYTHON, "python3") {
        return;
    }
    let program = Program::new(PYTHON).arg(source("dict_exam.py")).arg("dict");
    // Order of hashing must not depend on the run.
    let program = program.arg(pick("200000", "3000000")).env("PYTHONHASHSEED", "0");
    Exam::new("python dict").compare(&program);
}

#[test]
fn sqlite_in_memory() {
    if !has_program("sqlite_in_memory", PYTHON, "python3") {
        return;
    }
    let program = Program::new(PYTHON).arg(source("dict_exam.py")).arg("sqlite");
    Exam::new("python sqlite").compare(&program.arg(pick("400000", "8000000")));
}
