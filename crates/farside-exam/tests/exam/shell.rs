//! A shell that gives descriptors the numbers it likes.

use farside_exam::{Exam, Program, has_program, pick};

/// Opens every low number anew, which closes whatever had it, while its memory is far; subshells do so, too.
const SCRIPT: &str = r#"
text=$(head -c "$1" /dev/zero | tr '\0' 'x')
for number in {3..250}; do eval "exec $number</dev/null"; done
printf %s "$text" | cksum
for number in {3..250}; do eval "exec $number<&-"; done
text=$text$text
printf %s "$text" | cksum
"#;

#[test]
fn a_shell_that_opens_every_low_descriptor() {
    if !has_program("a_shell_that_opens_every_low_descriptor", "bash", "bash") {
        return;
    }
    let exam = Exam::new("shell");
    let bytes = pick("6000000", "200000000");
    exam.compare(&Program::new("bash").args(["-c", SCRIPT, "bash", bytes]));
}
