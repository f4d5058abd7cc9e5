//! `farside run --auto`: the first run is recorded, later ones follow its tape, and whatever happens to what is
//! kept, the program runs as by itself.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use farside_exam::{farside, skipped};
use serde_json::Value;
use tempfile::TempDir;

use crate::record::{SmallDisk, program};

/// A user who has never run anything.
struct User {
    home: TempDir,
}

/// What came of a run.
struct Ran {
    output: Output,
    stats: Value,
}

impl User {
    fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary directory") }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// `farside run --auto`, with options, of a program with arguments.
    fn command(&self, options: &[&str], command: &[&str]) -> Command {
        let mut farside = Command::new(farside());
        farside.args(["run", "--auto"]).args(options).arg("--").args(command);
        farside.env("XDG_STATE_HOME", self.at("state")).env("HOME", "/nowhere");
        farside
    }

    /// Runs a pattern of the known program that ends with exit code 0.
    fn run(&self, local: &str, pattern: &str) -> Ran {
        let stats = self.at("stats.json");
        let path = program().to_str().expect("a readable path");
        let options = ["--local", local, "--stats", stats.to_str().expect("a readable path")];
        let output = self.command(&options, &[path, pattern, "0"]).output().expect("it starts");
        let text = fs::read_to_string(&stats).expect("statistics");
        Ran { output, stats: serde_json::from_str(&text).expect("JSON") }
    }

    /// The same of a program that is told of its pattern by something else than its arguments.
    fn run_told(&self, pattern: &str) -> Ran {
        let stats = self.at("stats.json");
        let path = program().to_str().expect("a readable path");
        let options = ["--local", "8M", "--stats", stats.to_str().expect("a readable path")];
        let mut command = self.command(&options, &[path, "told", "0"]);
        let output = command.env("PATTERN", pattern).output().expect("it starts");
        let text = fs::read_to_string(&stats).expect("statistics");
        let stats = serde_json::from_str(&text).expect("JSON");
        Ran { output, stats }.like_plain(pattern)
    }

    /// What is kept, by the ending of the file's name.
    fn kept(&self, ending: &str) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.at("state/farside/tapes")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.expect("a folder").path()));
        let paths = files.flatten().map(|file| file.expect("a file").path());
        let mut kept: Vec<_> =
            paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
        kept.sort();
        kept
    }
}

impl Ran {
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Insists that the program did what it does by itself.
    fn like_plain(self, pattern: &str) -> Self {
        assert_eq!(self.output.status.code(), Some(0), "{}", self.said());
        let plain = Command::new(program()).args([pattern, "0"]).output().expect("it starts");
        assert!(self.output.stdout == plain.stdout, "{pattern}: {}", self.said());
        let (peak, limit) = (self.counter("resident_peak_bytes"), self.counter("limit_bytes"));
        assert!(peak <= limit, "{peak} bytes resident of {limit}");
        self
    }

    fn counter(&self, name: &str) -> u64 {
        self.stats["counters"][name].as_u64().expect("a counter")
    }

    fn recorded(&self) -> bool {
        let recorded = self.said().contains("recording this run");
        assert_eq!(recorded, self.stats.get("tape").is_none(), "{}", self.said());
        recorded
    }
}

/// Local memory that is a share of a footprint that nobody knows yet begins with the least there is.
#[test]
fn microsets_of_a_first_run_grow_with_its_local_memory() {
    for pattern in ["scan", "threads"] {
        let user = User::new();
        assert!(user.run("20%", pattern).like_plain(pattern).recorded());
        let trace = user.kept("/trace.fpt").pop().expect("it is kept");
        let microset = super::record::microset_of(&trace);
        assert!((64..=1024).contains(&microset), "{pattern}: microsets of {microset} pages");
        assert!(!user.run("20%", pattern).like_plain(pattern).recorded());
    }
}

#[test]
fn the_first_run_is_recorded_and_the_second_follows() {
    for pattern in ["scan", "threads", "child"] {
        let user = User::new();
        let first = user.run("8M", pattern).like_plain(pattern);
        assert!(first.recorded(), "{}", first.said());
        assert_eq!((user.kept("/trace.fpt").len(), user.kept(".tape").len()), (1, 1));
        // On a busy machine the program may be faster than who follows it: the best of three tells.
        let after = (0..3).map(|_| {
            let later = user.run("8M", pattern).like_plain(pattern);
            assert!(!later.recorded());
            later.counter("demand_faults")
        });
        let (before, after) = (first.counter("demand_faults"), after.min().unwrap_or(u64::MAX));
        // Where threads meet, and in children, the place is not always known.
        assert!(pattern != "scan" || after * 2 < before, "{before} demand faults, then {after}");
    }
}

#[test]
fn the_report_says_how_far_the_program_came_on_its_tape() {
    let user = User::new();
    user.run("8M", "scan").like_plain("scan");
    let second = user.run("8M", "scan").like_plain("scan");
    let tape = &second.stats["tape"];
    let number = |name: &str| tape[name].as_u64().expect("a number");
    assert!(number("steps_passed") * 10 > number("steps") * 9, "{tape}");
    assert!(number("steps_passed") <= number("steps") && number("key_pages_hit") > 10, "{tape}");
    assert_eq!(number("demand_faults"), second.counter("demand_faults"));
    assert_eq!(number("times_left"), 0, "{tape}");
    for words in ["farside: tape: passed ", " key pages: ", " never left it; "] {
        assert!(second.said().contains(words), "no {words:?} in {}", second.said());
    }
    assert!(!second.said().contains("does not do what its tape says"));
}

#[test]
fn one_recording_serves_every_limit() {
    let user = User::new();
    assert!(user.run("8M", "scan").like_plain("scan").recorded());
    // With more memory the tape is stretched, with less the kept trace is planned again.
    assert!(!user.run("12M", "scan").like_plain("scan").recorded());
    assert_eq!(user.kept(".tape").len(), 1);
    assert!(!user.run("7M", "scan").like_plain("scan").recorded());
    assert_eq!(user.kept(".tape").len(), 2);
    // For so little memory the recording is too coarse.
    assert!(user.run("2M", "scan").like_plain("scan").recorded());
    assert!(!user.run("2M", "scan").like_plain("scan").recorded());
    assert!(!user.run("8M", "scan").like_plain("scan").recorded());
    // With other arguments it is another program.
    assert!(user.run("8M", "shuffle").like_plain("shuffle").recorded());
}

#[test]
fn a_program_that_leaves_its_tape_is_recorded_again() {
    let user = User::new();
    assert!(user.run_told("scan").recorded());
    let left = user.run_told("passes");
    assert!(!left.recorded() && left.stats["tape"]["times_left"] != 0, "{}", left.said());
    let again = user.run_told("passes");
    assert!(again.recorded() && again.said().contains("has left its tape"), "{}", again.said());
    assert_eq!((user.kept("/trace.fpt").len(), user.kept(".tape").len()), (1, 1));
    let after = user.run_told("passes");
    assert!(!after.recorded() && after.stats["tape"]["times_left"] == 0, "{}", after.said());
}

#[test]
fn a_larger_input_is_recorded_anew() {
    let user = User::new();
    assert!(user.run_told("passes").recorded());
    let larger = user.run_told("wide");
    assert!(!larger.recorded(), "{}", larger.said());
    let elsewhere = larger.stats["tape"]["pages_elsewhere"].as_u64().expect("a number");
    assert!(elsewhere > 6000, "{}", larger.stats["tape"]);
    assert!(user.run_told("wide").recorded());
    assert!(!user.run_told("wide").recorded());
}

#[test]
fn a_program_that_does_something_else_each_time_is_recorded_ever_more_rarely() {
    let user = User::new();
    let patterns = ["passes", "wide", "scan"].into_iter().cycle();
    let recorded: Vec<_> =
        patterns.take(12).map(|pattern| user.run_told(pattern).recorded()).collect();
    let yes: Vec<_> = (0..12).filter(|run| recorded[*run]).collect();
    // One run leaves the first tape, two the second; four in a row would have to leave the third.
    assert_eq!(yes, [0, 2, 5]);
    fs::write(&user.kept("/departures.json")[0], "{").expect("room");
    user.run_told("scan");
}

#[test]
fn a_share_of_the_footprint_is_known_after_the_first_run() {
    let user = User::new();
    assert!(user.run("30%", "scan").like_plain("scan").recorded());
    let second = user.run("30%", "scan").like_plain("scan");
    assert!(!second.recorded(), "{}", second.said());
    assert_eq!(user.kept(".tape").len(), 1);
}

#[test]
fn exit_codes_stay_and_failed_runs_leave_nothing() {
    let user = User::new();
    let path = program().to_str().expect("a readable path");
    for _ in 0..2 {
        let output = user.command(&["--local", "8M"], &[path, "few", "5"]).output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{said}");
        assert!(said.contains("recording this run") && said.contains("exit code 5"), "{said}");
    }
    let output = user.command(&["--local", "8M"], &["sh", "-c", "kill -9 $$"]).output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.signal(), Some(9), "{said}");
    assert!(said.contains("the program was killed"), "{said}");
    assert_eq!((user.kept(".fpt").len(), user.kept(".tape").len()), (0, 0));
    let output = user.command(&["--local", "8M", "--quiet"], &[path, "few", "7"]).output();
    let output = output.expect("it starts");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(7), &b""[..]));
}

#[test]
fn damaged_files_are_removed_and_made_again() {
    let user = User::new();
    user.run("8M", "scan").like_plain("scan");
    let (trace, tape) = (user.kept("/trace.fpt").remove(0), user.kept(".tape").remove(0));
    let whole = fs::read(&tape).expect("the tape");
    fs::write(&tape, &whole[..whole.len() - 3]).expect("room");
    let second = user.run("8M", "scan").like_plain("scan");
    assert!(!second.recorded() && second.said().contains("is removed"), "{}", second.said());
    assert!(fs::read(&tape).expect("a new tape") == whole, "the same trace, another tape");
    for damage in [
        |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2),
        |bytes: &mut Vec<u8>| bytes.clear(),
        |bytes: &mut Vec<u8>| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        },
    ] {
        let mut bytes = fs::read(&trace).expect("the trace");
        damage(&mut bytes);
        fs::write(&trace, &bytes).expect("room");
        user.kept(".tape").iter().for_each(|tape| fs::remove_file(tape).expect("it goes"));
        let again = user.run("8M", "scan").like_plain("scan");
        assert!(again.recorded() && again.said().contains("is removed"), "{}", again.said());
        assert!(!user.run("8M", "scan").like_plain("scan").recorded());
    }
}

#[test]
fn without_a_place_for_tapes_the_program_runs() {
    let path = program().to_str().expect("a readable path");
    let user = User::new();
    for (state, words) in [("", "set XDG_STATE_HOME"), ("/dev/null", "cannot keep any")] {
        let mut command = user.command(&["--local", "8M"], &[path, "few", "4"]);
        let output = command.env("XDG_STATE_HOME", state).env_remove("HOME").output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
fn a_full_disk_does_not_stop_the_program() {
    let user = User::new();
    fs::create_dir(user.at("state")).expect("room");
    let state = user.at("state");
    let Some(_disk) = SmallDisk::mount(&state, "32k") else {
        skipped("a_full_disk_does_not_stop_the_program", "cannot mount a small disk");
        return;
    };
    let ran = user.run("8M", "shuffle").like_plain("shuffle");
    assert!(ran.said().contains("No space left"), "{}", ran.said());
    assert_eq!((user.kept(".fpt").len(), user.kept(".tape").len()), (0, 0));
}

#[test]
fn runs_at_the_same_time_do_not_disturb_each_other() {
    let user = User::new();
    let path = program().to_str().expect("a readable path");
    let plain = Command::new(path).args(["scan", "0"]).output().expect("it starts");
    for _ in 0..2 {
        let start = |_| {
            let mut command = user.command(&["--local", "8M"], &[path, "scan", "0"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        let running: Vec<_> = (0..3).map(start).collect();
        for child in running {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success() && output.stdout == plain.stdout);
        }
    }
    assert_eq!((user.kept(".fpt").len(), user.kept(".tape").len()), (1, 1));
    assert!(!user.run("8M", "scan").like_plain("scan").recorded());
}
