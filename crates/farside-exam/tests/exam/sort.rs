//! sort with four threads.

use farside_exam::{Exam, Program, has_program, pick, write_lines};

#[test]
fn sort_with_four_threads() {
    if !has_program("sort_with_four_threads", "sort", "coreutils") {
        return;
    }
    let exam = Exam::new("sort");
    let text = exam.input("text");
    write_lines(&text, pick(64 << 20, 1 << 30), 1);
    let buffer = pick("--buffer-size=256M", "--buffer-size=4G");
    exam.compare(&Program::new("sort").args(["--parallel=4", buffer, "-o", "sorted"]).arg(text));
}
