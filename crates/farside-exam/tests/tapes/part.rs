//! Programs of which only parts are on tape (`farside.h`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use farside_exam::{PYTHON, compile_with, farside, has_program, source};
use farside_trace::{MappingChange, TraceReader};
use tempfile::TempDir;

use crate::follow::counter;

/// Local memory of the program, whose footprint is 23 MiB and more.
const LOCAL: &str = "8M";

/// The program, as C or as C++.
fn compiled(test: &str, compiler: &'static str) -> Option<&'static Path> {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    static BUILT_CXX: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    if !has_program(test, compiler, "gcc g++") {
        return None;
    }
    let (built, flags): (_, &[&str]) = match compiler {
        "cc" => (&BUILT, &["-std=gnu89", "-x", "c"]),
        _ => (&BUILT_CXX, &["-std=gnu++98", "-x", "c++"]),
    };
    let (_, path) = built.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("parts");
        build(compiler, flags, &path);
        (directory, path)
    });
    Some(path)
}

fn build(compiler: &str, flags: &[&str], path: &Path) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let mut command = Command::new(compiler);
    command.args(["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread", "-I"]);
    compile_with(command.arg(include).args(flags).arg(source("parts.c")).arg("-o").arg(path));
}

/// A place to keep tapes, and runs that use it.
struct Place {
    directory: TempDir,
    program: PathBuf,
}

impl Place {
    fn new(test: &str) -> Option<Self> {
        let program = compiled(test, "cc")?.to_owned();
        Some(Self { directory: tempfile::tempdir().expect("a temporary directory"), program })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn farside(&self, arguments: &[&str], mode: &str, program: &[&str]) -> Output {
        let mut command = Command::new(farside());
        command.env("XDG_STATE_HOME", self.directory.path()).env("MODE", mode).args(arguments);
        command.arg("--").arg(&self.program).args(program);
        command.output().expect("farside starts")
    }

    /// Runs the program under Farside; what it wrote is what it writes without.
    fn run(&self, mode: &str, what: &str) -> Run {
        self.run_with(&["--local", LOCAL], mode, what)
    }

    fn run_with(&self, options: &[&str], mode: &str, what: &str) -> Run {
        let stats = self.at("stats.json");
        let words: Vec<_> = what.split(' ').collect();
        let mut all = vec!["run", "--prefetch", "none", "--stats"];
        all.push(stats.to_str().expect("a readable path"));
        all.extend(options);
        let output = self.farside(&all, mode, &words);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{errors}");
        if what != "misuse" {
            assert_eq!(output.stdout, self.plain(mode, what).stdout, "{errors}");
        }
        let text = std::fs::read_to_string(&stats).expect("statistics");
        let stats: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(counter(&stats, "resident_peak_bytes") <= counter(&stats, "limit_bytes"));
        let counted = |name: &str| counter(&stats, name);
        let (demanded, met) = (counted("demand_faults"), counted("tape_met"));
        Run { demanded, met, errors, stdout: output.stdout }
    }

    fn plain(&self, mode: &str, what: &str) -> Output {
        Command::new(&self.program)
            .env("MODE", mode)
            .args(what.split(' '))
            .output()
            .expect("the program starts")
    }

    /// How many parts have a trace, and how many tapes they have.
    fn kept(&self) -> (usize, usize) {
        let output = Command::new(farside())
            .env("XDG_STATE_HOME", self.directory.path())
            .args(["tapes", "--json"])
            .output()
            .expect("farside starts");
        let entries: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let entries = entries.as_array().cloned().unwrap_or_default();
        assert!(entries.iter().all(|entry| entry["part"].is_string()), "{entries:?}");
        let tapes = entries.iter().map(|entry| entry["tapes"].as_array().map_or(0, Vec::len));
        (entries.iter().filter(|entry| entry["trace_bytes"].is_u64()).count(), tapes.sum())
    }
}

struct Run {
    demanded: u64,
    met: u64,
    errors: String,
    stdout: Vec<u8>,
}

#[test]
fn without_farside_the_calls_do_nothing() {
    for compiler in ["cc", "c++"] {
        let Some(program) = compiled("without_farside_the_calls_do_nothing", compiler) else {
            continue;
        };
        let output =
            Command::new(program).env("MODE", "auto").arg("misuse").output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0));
        let results: Vec<_> =
            text.lines().filter_map(|line| line.trim_end().rsplit(' ').next()).collect();
        assert_eq!(results[..7], ["0"; 7], "{text}");
    }
}

#[test]
fn a_part_is_recorded_once_and_then_followed() {
    let Some(place) = Place::new("a_part_is_recorded_once_and_then_followed") else { return };
    let without = place.run("prefetch", "once");
    assert_eq!((without.met, place.kept()), (0, (0, 0)), "{}", without.errors);
    let first = place.run("auto", "once");
    assert_eq!((first.met, place.kept()), (0, (1, 1)), "{}", first.errors);
    assert!(first.errors.contains("recorded a part of the run"), "{}", first.errors);
    let mut fewest = u64::MAX;
    for _ in 0..3 {
        let then = place.run("auto", "once");
        assert!(then.met > 50, "the place was told {} times", then.met);
        assert!(!then.errors.contains("recorded"), "{}", then.errors);
        fewest = fewest.min(then.demanded);
    }
    // What comes behind the part, up to 6,000 pages, is not on the tape. A program that is faster
    // than its follower demands what is planned.
    assert!(without.demanded > 20_000 && fewest < 16_000, "{fewest} of {}", without.demanded);
    assert_eq!(place.kept(), (1, 1));
}

#[test]
fn recording_replaces_what_is_kept() {
    let Some(place) = Place::new("recording_replaces_what_is_kept") else { return };
    for local in [LOCAL, "12M"] {
        let run = place.run_with(&["--local", local], "record", "once");
        assert_eq!((run.met, place.kept()), (0, (1, 1)), "{}", run.errors);
    }
    // Planned again for less from the trace, and for more from the tape.
    for local in [LOCAL, "16M"] {
        assert!(place.run_with(&["--local", local], "prefetch", "once").met > 50);
    }
    assert_eq!(place.kept(), (1, 2));
}

#[test]
fn each_time_round_a_loop_is_a_part() {
    let Some(place) = Place::new("each_time_round_a_loop_is_a_part") else { return };
    let first = place.run("auto", "loop");
    assert_eq!((first.met, place.kept()), (0, (4, 4)), "{}", first.errors);
    let then = place.run("auto", "loop");
    assert!(then.met > 200 && then.demanded < first.demanded, "{} {}", then.met, then.demanded);
    // Other arguments, other parts.
    assert_eq!(place.run("prefetch", "loop again").met, 0);
}

#[test]
fn threads_of_a_part_have_tapes_of_their_own() {
    let Some(place) = Place::new("threads_of_a_part_have_tapes_of_their_own") else { return };
    place.run("auto", "threads");
    assert_eq!(place.kept(), (1, 1));
    assert!(place.run("auto", "threads").met > 50);
}

#[test]
fn parts_begin_and_end_while_other_threads_run() {
    let Some(place) = Place::new("parts_begin_and_end_while_other_threads_run") else { return };
    for mode in ["record", "record", "auto", "prefetch"] {
        place.run(mode, "crowd");
    }
}

#[test]
fn misuse_is_told() {
    let Some(place) = Place::new("misuse_is_told") else { return };
    let text = String::from_utf8_lossy(&place.run("prefetch", "misuse").stdout).into_owned();
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let expected = [
        "end before begin -1 Invalid argument",
        "no mode -1 Invalid argument",
        "no such mode -1 Invalid argument",
        "begin 0",
        "begin again -1 Device or resource busy",
        "end 0",
        "end again -1 Invalid argument",
    ];
    assert_eq!(lines[..7], expected);
}

#[test]
fn a_child_is_in_no_part() {
    let Some(place) = Place::new("a_child_is_in_no_part") else { return };
    place.run("auto", "child");
    assert_eq!(place.kept(), (1, 1));
    assert!(place.run("auto", "child").met > 50);
}

#[test]
fn a_part_without_an_end_is_not_kept() {
    let Some(place) = Place::new("a_part_without_an_end_is_not_kept") else { return };
    for _ in 0..2 {
        assert_eq!(place.run("auto", "open").met, 0);
    }
    assert_eq!(place.kept(), (0, 0));
}

#[test]
fn a_trace_of_a_program_with_parts_is_of_its_first_part() {
    let Some(place) = Place::new("a_trace_of_a_program_with_parts_is_of_its_first_part") else {
        return;
    };
    let trace = place.at("trace.fpt");
    let name = trace.to_str().expect("a readable path");
    let count = |what: &str| {
        let output = place.farside(&["record", "--microset", "64", "-o", name], "auto", &[what]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let mut reader = TraceReader::open(&trace).expect("a trace");
        let mut block = farside_trace::Block::default();
        let (mut pages, mut kept) = (0, 0);
        while reader.next_block(&mut block).expect("a whole trace") {
            pages += block.accesses.len();
            for event in &block.events {
                if let MappingChange::Appeared(mapping) = &event.change
                    && mapping.name.ends_with(",kept")
                {
                    kept += mapping.count;
                }
            }
        }
        assert!(kept >= 6000, "only {kept} pages had content when the part began");
        pages
    };
    let (once, several) = (count("once"), count("loop"));
    // Three times all pages, and some once or twice.
    assert!((18_000..23_000).contains(&once), "{once}");
    assert!(several < once + 1000, "{several} instead of {once}");
    let tape = place.at("trace.tape");
    let planned = Command::new(farside())
        .args(["plan", "--quiet", "--local", "8M", name, "-o"])
        .arg(&tape)
        .output()
        .expect("farside starts");
    assert_eq!(planned.status.code(), Some(0));
    let tape = tape.to_str().expect("a readable path");
    let run = place.run_with(&["--tape", tape], "record", "loop");
    assert!(run.met > 50, "{}", run.met);
    assert_eq!(place.kept(), (0, 0));
}

#[test]
fn parts_can_be_left_alone() {
    let Some(place) = Place::new("parts_can_be_left_alone") else { return };
    let trace = place.at("trace.fpt");
    let accesses = |parts: &str| {
        let mut command = Command::new(farside());
        command.env("MODE", "auto").env("FARSIDE_PARTS", parts).args(["record", "-o"]);
        let output = command.arg(&trace).arg("--").arg(&place.program).arg("loop").output();
        assert_eq!(output.expect("farside starts").status.code(), Some(0));
        TraceReader::open(&trace).expect("a trace").summary().map_or(0, |all| all.accesses)
    };
    // All four parts, what comes before them and what comes behind.
    assert!(accesses("0") > 4 * accesses("1"));
}

const SOLVE: &str = "
import ctypes
data = bytearray(24 << 20)
for i in range(0, len(data), 4096):
    data[i] = i >> 12 & 255
farside = ctypes.CDLL(None)
begin = farside.farside_begin if hasattr(farside, 'farside_begin') else lambda mode: 0
end = farside.farside_end if hasattr(farside, 'farside_end') else lambda: 0
print(begin(3))
total = 0
for turn in range(3):
    for i in range(0, len(data), 4096):
        total += data[i]
print(end(), total)
";

#[test]
fn other_languages_have_parts_if_they_are_announced() {
    if !has_program("other_languages_have_parts_if_they_are_announced", PYTHON, "python3") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let stats = directory.path().join("stats.json");
    let plain = Command::new(PYTHON).args(["-c", SOLVE]).output().expect("Python starts");
    let met = |parts: &str| {
        let mut command = Command::new(farside());
        command.env("XDG_STATE_HOME", directory.path()).env("FARSIDE_PARTS", parts);
        command.env("PYTHONHASHSEED", "0").args(["run", "--quiet", "--local", LOCAL, "--stats"]);
        let output =
            command.arg(&stats).args(["--", PYTHON, "-c", SOLVE]).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &output.stdout), (Some(0), &plain.stdout), "{errors}");
        let text = std::fs::read_to_string(&stats).expect("statistics");
        counter(&serde_json::from_str(&text).expect("JSON"), "tape_met")
    };
    assert_eq!(["1", "0", "2"].map(met), [0; 3]);
    let met = met("1");
    assert!(met > 50, "the place was told {met} times");
}

/// Programs with fixed addresses find the library, too, and what is statically linked needs none.
#[test]
fn the_header_works_however_a_program_is_linked() {
    if !has_program("the_header_works_however_a_program_is_linked", "cc", "gcc") {
        return;
    }
    let Some(place) = Place::new("the_header_works_however_a_program_is_linked") else { return };
    let linked: [&[&str]; 3] =
        [&["-fno-pie", "-no-pie"], &["-O0", "-Wl,-z,now"], &["-O2", "-Wl,-z,lazy"]];
    for (number, flags) in linked.iter().enumerate() {
        let program = place.at(&format!("parts{number}"));
        build("cc", flags, &program);
        let other = Place { directory: tempfile::tempdir().expect("a directory"), program };
        other.run("auto", "once");
        assert_eq!(other.kept(), (1, 1), "{flags:?}");
    }
    build("cc", &["-static"], &place.at("static"));
    let output =
        Command::new(place.at("static")).env("MODE", "auto").arg("once").output().expect("starts");
    assert_eq!(output.stdout, place.plain("auto", "once").stdout);
}
