//! xz with two threads.

use farside_exam::{Exam, Program, has_program, pick, write_lines};

#[test]
fn xz_with_two_threads() {
    if !has_program("xz_with_two_threads", "xz", "xz-utils") {
        return;
    }
    let exam = Exam::new("xz");
    let text = exam.input("text");
    write_lines(&text, pick(8 << 20, 512 << 20), 2);
    let level = pick("-1", "-6");
    exam.compare(&Program::new("xz").args(["-T2", level, "--block-size=4MiB", "-c"]).stdin(text));
}
