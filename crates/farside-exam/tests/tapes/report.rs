//! What is said of programs that follow tapes, and of tapes that are not theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use farside_exam::farside;
use serde_json::Value;

use crate::record::program;

/// Records a pattern and plans a tape for 8 MiB of local memory.
fn tape(folder: &Path, pattern: &str) -> PathBuf {
    let [trace, tape] = ["t.fpt", "t.tape"].map(|name| folder.join(name));
    let run = |command: &mut Command| command.output().expect("farside starts").status;
    let mut record = Command::new(farside());
    record.args(["record", "--quiet", "-o"]).arg(&trace).arg("--").arg(program());
    assert!(run(record.args([pattern, "0"])).success());
    let mut plan = Command::new(farside());
    plan.args(["plan", "--quiet", "--local", "8M", "-o"]).arg(&tape).arg(&trace);
    assert!(run(&mut plan).success());
    tape
}

fn follow(tape: &Path, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(farside());
    command.args(["run", "--tape"]).arg(tape).args(options).arg("--").arg(program);
    command.args(arguments).output().expect("farside starts")
}

#[test]
fn the_tape_of_another_program_is_refused_unless_forced() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tape = tape(folder.path(), "scan");
    let refused = follow(&tape, &[], Path::new("echo"), &["started"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{said}");
    for words in ["t.tape", "patterns", "echo", "--force"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert_eq!(said.matches("build id ").count(), 2, "{said}");
    let forced = follow(&tape, &["--force"], Path::new("echo"), &["started"]);
    assert_eq!((forced.status.code(), forced.stdout.as_slice()), (Some(0), &b"started\n"[..]));
    // Other arguments are another matter.
    let few = follow(&tape, &["--quiet"], program(), &["few", "6"]);
    assert_eq!((few.status.code(), few.stderr.as_slice()), (Some(6), &b""[..]));
}

#[test]
fn who_leaves_the_tape_is_told_so_once() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tape = tape(folder.path(), "few");
    let stats = folder.path().join("stats.json");
    let options = ["--stats", stats.to_str().expect("a readable path")];
    let output = follow(&tape, &options, program(), &["shuffle", "0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("does not do what its tape says").count(), 1, "{said}");
    assert!(said.contains("farside: tape: left it "), "{said}");
    let stats: Value =
        serde_json::from_str(&fs::read_to_string(&stats).expect("statistics")).expect("JSON");
    let number = |name: &str| stats["tape"][name].as_u64().expect("a number");
    assert!(number("times_left") > 0 && number("faults_not_on_tape") > 60, "{}", stats["tape"]);
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/counters.md");
    let manual = fs::read_to_string(manual).expect("a document");
    let (_, section) = manual.split_once("## The object of a tape").expect("a section");
    let (section, _) = section.split_once("## The counters").expect("an end");
    for key in stats["tape"].as_object().expect("an object").keys() {
        assert!(section.contains(&format!("`{key}`")), "{key} is not documented");
    }
    let output = follow(&tape, &["--quiet"], program(), &["shuffle", "0"]);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
