//! xz with two threads.

use farside_exam::{Exam, Program, has_program, pick, write_lines};

#[test]
fn xz_with_two_threads() {
    if !has_program("xz_with_two_threads", "xz", "xz-utils") {
        return;
    }
    let exam = Exam::new("xz");
    let text = exam.input("text");
    write_lines(&text, pick(2 << 20, 512 << 20), 2);
    let (level, block) = pick(("-1", "--block-size=1MiB"), ("-6", "--block-size=4MiB"));
    exam.compare(&Program::new("xz").args(["-T2", level, block, "-c"]).stdin(text));
}
