//! Programs that give descriptors the numbers they like, and that close all there may be.

use farside_exam::{Exam, Program, compile, has_program, pick};

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

#[test]
fn a_shell_that_may_open_hardly_more_than_it_does() {
    if !has_program("a_shell_that_may_open_hardly_more_than_it_does", "bash", "bash") {
        return;
    }
    let exam = Exam::new("small-shell");
    let bytes = pick("6000000", "200000000");
    let script = format!("ulimit -Sn 256\n{SCRIPT}");
    let run =
        |script: &str| exam.compare(&Program::new("bash").args(["-c", script, "bash", bytes]));
    run(&script);
    // Those of a program that was started under such a limit.
    run(&format!("ulimit -Sn 256; exec bash -c '{}' bash \"$1\"", SCRIPT.replace('\'', "'\\''")));
}

#[test]
fn a_daemon_that_closes_every_descriptor() {
    let exam = Exam::new("daemon");
    let daemon = compile(&exam.inputs(), "daemon.c", &["-O2"]);
    let size = pick("12", "200");
    exam.compare(&Program::new(&daemon).arg(size));
    let limited = |limit: &str| {
        let script = format!("ulimit -{limit} 512; exec \"$@\"");
        exam.compare(&Program::new("sh").args(["-c", &script, "sh"]).arg(&daemon).arg(size));
    };
    limited("Sn");
    // There is no room beyond what it may use.
    limited("n");
}
