//! Programs whose far memory is a file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use farside_exam::{Churn, Exam, Place, Program, compile, farside, pick};

use super::{TO_STOP, can_run, pause};

/// A directory on storage, for files of far memory.
struct Storage(tempfile::TempDir);

impl Storage {
    fn new() -> Self {
        Self(tempfile::tempdir_in("/var/tmp").expect("there is room in /var/tmp"))
    }

    fn far(&self, options: &str) -> String {
        format!("file:{}?{options}", self.0.path().display())
    }

    /// Insists that nothing is left, be it with or without a name.
    fn is_empty(&self) {
        let names = std::fs::read_dir(self.0.path()).expect("the directory is there").count();
        assert_eq!(names, 0, "something is left");
        let begun = Instant::now();
        // Processes that were killed take a moment to end.
        while let Some(holder) = holder_of_file_in(self.0.path()) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{} is open", holder.display());
            pause(20);
        }
    }
}

/// A descriptor, of any process, of a file in that directory.
fn holder_of_file_in(directory: &Path) -> Option<PathBuf> {
    let processes = std::fs::read_dir("/proc").expect("there is /proc").flatten();
    let descriptors = processes
        .flat_map(|process| std::fs::read_dir(process.path().join("fd")).into_iter().flatten());
    let mut paths = descriptors.flatten().map(|descriptor| descriptor.path());
    paths.find(|path| std::fs::read_link(path).is_ok_and(|target| target.starts_with(directory)))
}

#[test]
fn a_program_on_a_file_is_as_if_nothing_had_happened() {
    if !can_run("a_program_on_a_file_is_as_if_nothing_had_happened") {
        return;
    }
    let churn = Churn::new("on a file", "24", pick("3", "40"));
    let storage = Storage::new();
    for options in ["size=64M", "size=64M&seal=yes", "size=64M&ring=no", "size=64M&depth=1"] {
        churn.same(&churn.run(&storage.far(options)));
        storage.is_empty();
    }
}

#[test]
fn forked_programs_and_programs_started_anew_have_their_pages_in_files() {
    if !can_run("forked_programs_and_programs_started_anew_have_their_pages_in_files") {
        return;
    }
    let storage = Storage::new();
    let exam = Exam::new("forks on a file");
    let program = compile(&exam.inputs(), "forktree.c", &[]);
    let program = Program::new(program).args(["8", "2", pick("2", "4")]);
    exam.compare(&program.env("FARSIDE_FAR", storage.far("size=256M")));
    storage.is_empty();
    let exam = Exam::new("programs started anew on files");
    let churn = compile(&exam.inputs(), "churn.c", &["-O2"]);
    let script = format!("{0} 12 3 && {0} 16 3 | cat && {0} 20 2", churn.display());
    let program = Program::new("sh").args(["-c", &script]);
    exam.compare(&program.env("FARSIDE_FAR", storage.far("size=64M&seal=yes")));
    storage.is_empty();
}

#[test]
fn nothing_is_left_when_all_is_killed() {
    if !can_run("nothing_is_left_when_all_is_killed") {
        return;
    }
    let churn = Churn::endless("a program on a file is killed", "24");
    let storage = Storage::new();
    for alone in [false, true] {
        let running = churn.fill(&storage.far("size=64M"));
        assert!(holder_of_file_in(storage.0.path()).is_some(), "it uses no file");
        if alone {
            running.signal(libc::SIGKILL);
            assert_eq!(running.finish().code(), Some(137));
        } else {
            // The whole group: program and supervisor.
            drop(running);
        }
        storage.is_empty();
    }
}

#[test]
fn a_file_that_is_full_stops_the_program_and_says_so() {
    if !can_run("a_file_that_is_full_stops_the_program_and_says_so") {
        return;
    }
    let churn = Churn::endless("a file is full", "24");
    let storage = Storage::new();
    let finished = churn.run(&storage.far("size=4M"));
    assert_eq!(finished.code(), Some(TO_STOP), "{}", finished.errors());
    assert!(finished.errors().contains("full"), "{}", finished.errors());
    storage.is_empty();
}

#[test]
fn files_that_cannot_be_used_are_named_before_the_program_starts() {
    if !can_run("files_that_cannot_be_used_are_named_before_the_program_starts") {
        return;
    }
    let exam = Exam::new("no file");
    let old = exam.input("old");
    std::fs::write(&old, "the user's").expect("a file can be written");
    let input = exam.inputs();
    for (far, code, expected) in [
        (format!("file:{}", old.display()), 125, "exists"),
        (format!("file:{}/none/new", input.display()), 125, "none"),
        (format!("file:{}?size=1T", input.display()), 125, "bytes free"),
        ("file:/proc".into(), 125, "/proc"),
        ("file:/a?colour=red".into(), 2, "colour"),
    ] {
        let program = Program::new("true").env("FARSIDE_FAR", &far);
        let directory = exam.fresh_directory(Place::Far(25));
        let finished = exam.start(&program, Place::Far(25), &directory).finish();
        assert_eq!(finished.code(), Some(code), "{far}: {}", finished.errors());
        assert!(finished.errors().contains(expected), "{far}: {}", finished.errors());
    }
    assert_eq!(std::fs::read(&old).expect("it is there"), b"the user's");
}

#[test]
fn the_way_to_a_file_is_measured() {
    if !can_run("the_way_to_a_file_is_measured") {
        return;
    }
    let storage = Storage::new();
    let far = storage.far("size=64M");
    let output = Command::new(farside()).args(["doctor", "--json", "--far", &far]).output();
    let output = output.expect("farside doctor runs");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let path = &found["paths"][0];
    for figure in ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "batched_ns", "batch_gain"] {
        assert!(path[figure].as_f64().is_some_and(|figure| figure > 0.0), "{figure}: {found}");
    }
    storage.is_empty();
}
