//! Programs that follow tapes: their results are those of a plain run, whatever the tape says.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use farside_exam::{compile, farside, skipped};
use farside_sim::plan::{PlanError, PlanOptions, PlanPolicy, Planner, Survey};
use farside_trace::tape::{Step, TapeError, TapeInfo, TapeWriter};
use farside_trace::{Block, TraceReader};

use crate::record::{plain, program, record};

#[derive(Debug)]
enum Problem {
    Plan,
    Tape,
}

impl From<PlanError> for Problem {
    fn from(_: PlanError) -> Self {
        Self::Plan
    }
}

impl From<TapeError> for Problem {
    fn from(_: TapeError) -> Self {
        Self::Tape
    }
}

/// Plans a trace for a share of its footprint; returns how many pages are to be fetched.
fn plan(trace: &Path, policy: PlanPolicy, percent: u64, tape: &Path) -> u64 {
    let mut block = Block::default();
    let mut survey = Survey::new();
    let mut reader = TraceReader::open(trace).expect("a trace");
    while reader.next_block(&mut block).expect("a whole trace") {
        survey.feed(&block).expect("a trace that can be planned");
    }
    let footprint = survey.finish();
    let local_pages = footprint.peak * percent / 100;
    let (capacity, threads) = (local_pages - 500, footprint.threads.len() as u32);
    let name = policy.name().to_owned();
    let info = TapeInfo {
        policy: name,
        capacity,
        local_pages,
        microset: 64,
        threads,
        ..TapeInfo::default()
    };
    let mut writer = TapeWriter::create(tape, &info).expect("room");
    let options = PlanOptions { policy, capacities: vec![capacity], threads, microset: 64 };
    let mut planner = Planner::new(&options).expect("a plan");
    let mut sink = |_: usize, thread: u32, steps: &[Step]| -> Result<(), Problem> {
        steps.iter().try_for_each(|step| writer.push(thread, *step).map_err(Problem::from))
    };
    let mut reader = TraceReader::open(trace).expect("a trace");
    while reader.next_block(&mut block).expect("a whole trace") {
        planner.feed(&block, &mut sink).expect("a plan");
    }
    let regions = planner.finish(&mut sink).expect("a plan");
    regions.into_iter().for_each(|region| writer.region(region).expect("room"));
    writer.finish().expect("room").total().fetches
}

pub fn run(arguments: &[&str], pattern: &str, stats: &Path) -> (Output, serde_json::Value) {
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--stats"]).arg(stats).args(arguments);
    command.arg("--").arg(program()).arg(pattern);
    let output = command.output().expect("farside starts");
    let text = std::fs::read_to_string(stats).expect("statistics");
    (output, serde_json::from_str(&text).expect("JSON"))
}

pub fn counter(stats: &serde_json::Value, name: &str) -> u64 {
    fn find(value: &serde_json::Value, name: &str) -> Option<u64> {
        let object = value.as_object()?;
        let here = object.get(name).and_then(serde_json::Value::as_u64);
        here.or_else(|| object.values().find_map(|value| find(value, name)))
    }
    find(stats, name).unwrap_or_else(|| panic!("no {name} in the statistics"))
}

/// What came of following a tape.
struct Followed {
    /// Pages on the tape to fetch.
    planned: u64,
    /// Pages fetched.
    fetched: u64,
    /// Faults that were where the tape says.
    met: u64,
    /// Pages that the node moved by itself.
    moved: u64,
    /// Faults on pages that nothing had ordered.
    demanded: u64,
    /// Faults on pages that were here, and not to be written.
    protected: u64,
    /// Pages that left without being written to the far store.
    clean: u64,
}

/// Runs `pattern` with a tape that was planned from `recorded`.
fn follow(recorded: &str, pattern: &str, policy: PlanPolicy, arguments: &[&str]) -> Followed {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    let output = record(&at("trace.fpt"), &["--microset", "64"], recorded);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let tape = at("planned.tape");
    let planned = plan(&at("trace.fpt"), policy, 30, &tape);
    let mut all = vec!["--tape", tape.to_str().expect("a readable path")];
    all.extend(arguments);
    let (output, stats) = run(&all, pattern, &at("stats.json"));
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, plain(pattern).stdout);
    assert!(counter(&stats, "resident_peak_bytes") <= counter(&stats, "limit_bytes"));
    let fetched = counter(&stats, "fetched_bytes") / 4096;
    let (met, moved) = (counter(&stats, "tape_met"), counter(&stats, "moved_pages"));
    let demanded = counter(&stats, "demand_faults");
    let (protected, clean) =
        (counter(&stats, "protection_faults"), counter(&stats, "evicted_clean"));
    Followed { planned, fetched, met, moved, demanded, protected, clean }
}

#[test]
fn what_is_fetched_is_what_was_planned() {
    for policy in [PlanPolicy::Lru, PlanPolicy::Min] {
        let followed = follow("scan", "scan", policy, &[]);
        let (fetched, planned) = (followed.fetched, followed.planned);
        // A thread that is faster than its follower demands what is planned.
        assert!(
            fetched < planned + planned / 5 + 500,
            "{policy:?}: {fetched} instead of {planned}"
        );
        assert!(followed.met > 50, "{policy:?}: the place was told {} times", followed.met);
    }
}

#[test]
fn pages_of_which_the_tape_knows_nothing_do_not_keep_others_away() {
    for policy in [PlanPolicy::Lru, PlanPolicy::Min] {
        let Followed { planned, demanded, .. } = follow("scan", "strangers", policy, &[]);
        assert!(demanded < planned / 20, "{policy:?}: {demanded} demand faults, {planned} planned");
    }
}

/// Runs `farside` with arguments and a sweep of so many MiB behind them; what came of it.
fn sweep(program: &Path, arguments: &[&OsStr], mebibytes: &str) -> Output {
    let mut command = Command::new(farside());
    command.args(arguments).arg("--").arg(program).args([mebibytes, "4"]);
    command.output().expect("farside starts")
}

#[test]
fn what_the_tape_does_not_know_is_fetched_ahead_as_without_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = compile(directory.path(), "sweep.c", &[]);
    let [trace, tape, stats] =
        ["trace.fpt", "planned.tape", "stats.json"].map(|name| directory.path().join(name));
    sweep(&program, &["record".as_ref(), "-o".as_ref(), trace.as_ref()], "24");
    for policy in [PlanPolicy::Lru, PlanPolicy::Min] {
        plan(&trace, policy, 30, &tape);
        let options = ["run", "--stats"].map(OsStr::new);
        let options = [&options[..], &[stats.as_ref(), "--tape".as_ref(), tape.as_ref()]].concat();
        let output = sweep(&program, &options, "48");
        let said = String::from_utf8_lossy(&output.stderr);
        let plain = Command::new(&program).args(["48", "4"]).output().expect("it starts");
        assert_eq!((output.status.code(), output.stdout), (Some(0), plain.stdout), "{said}");
        let text = std::fs::read_to_string(&stats).expect("statistics");
        let stats: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        // The tape does not know 6,144 pages that are far in three of four passes.
        let demanded = counter(&stats, "demand_faults");
        assert!(demanded < 6144, "{policy:?}: {demanded} demand faults: {said}");
        // And it goes on where the program comes back to it.
        let passed = stats["tape"]["percent_passed"].as_f64().expect("a number");
        assert!(passed > 75.0, "{policy:?}: {passed} % of the tape passed: {said}");
    }
}

#[test]
fn more_memory_than_planned_for_is_made_use_of() {
    follow("scan", "scan", PlanPolicy::Min, &["--local", "12M"]);
    follow("scan", "scan", PlanPolicy::Lru, &["--local", "12M"]);
}

#[test]
fn a_slow_network_changes_no_result() {
    follow("scan", "scan", PlanPolicy::Min, &["--far", "embedded:latency=50us,bandwidth=10gbit"]);
}

/// Whether there are two processors; if not, the test is reported as skipped.
fn has_several_processors(test: &str) -> bool {
    let enough = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if !enough {
        skipped(test, "there is one processor only");
    }
    enough
}

#[test]
fn the_node_moves_pages_where_there_are_several_processors() {
    if has_several_processors("the_node_moves_pages_where_there_are_several_processors") {
        let followed = follow("scan", "scan", PlanPolicy::Min, &[]);
        let (moved, planned) = (followed.moved, followed.planned);
        assert!(moved > planned / 2, "{moved} pages moved of {planned}");
    }
}

/// What each page did the last time it was here would say the opposite.
#[test]
fn the_tape_says_which_pages_are_written() {
    if !has_several_processors("the_tape_says_which_pages_are_written") {
        return;
    }
    for policy in [PlanPolicy::Lru, PlanPolicy::Min] {
        let Followed { planned, protected, clean, .. } = follow("halves", "halves", policy, &[]);
        assert!(planned > 8000, "{policy:?} fetches {planned} pages");
        assert!(
            protected < planned / 20,
            "{policy:?}: {protected} of {planned} pages are protected in vain"
        );
        assert!(clean > planned / 3, "{policy:?}: {clean} of {planned} pages need not be written");
    }
}

#[test]
fn the_program_moves_pages_that_the_node_cannot() {
    let followed = follow("scan", "scan", PlanPolicy::Min, &["--far", "embedded:compress=lz4"]);
    assert_eq!(followed.moved, 0);
    assert!(followed.met > 50, "the place was told {} times", followed.met);
}

/// The node of a run and what the run has counted, as `farside top` tells.
fn running(supervisor: u32, runtime: &Path) -> Option<(i32, u64)> {
    let mut top = Command::new(farside());
    top.args(["top", "--json"]).env("XDG_RUNTIME_DIR", runtime);
    let output = top.output().expect("farside starts");
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let moved = runs.as_array()?.iter().map(|run| counter(run, "moved_pages")).max()?;
    Some((node_of(supervisor)?, moved))
}

/// The embedded node of a run.
fn node_of(supervisor: u32) -> Option<i32> {
    let path = format!("/proc/{supervisor}/task/{supervisor}/children");
    let children = std::fs::read_to_string(path).ok()?;
    let is_node = |pid: &&str| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(b"farside\0node")
    };
    children.split_whitespace().find(is_node)?.parse().ok()
}

/// A node that gets no processor for most of the time, as where others have all.
#[test]
fn a_program_moves_pages_that_the_node_does_not_come_to() {
    if !has_several_processors("a_program_moves_pages_that_the_node_does_not_come_to") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    record(&at("trace.fpt"), &["--microset", "64"], "scan");
    for policy in [PlanPolicy::Lru, PlanPolicy::Min] {
        plan(&at("trace.fpt"), policy, 30, &at("planned.tape"));
        let mut command = Command::new(farside());
        command.args(["run", "--quiet", "--stats"]).arg(at("stats.json"));
        command.arg("--tape").arg(at("planned.tape")).arg("--").arg(program()).arg("scan");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("farside starts");
        while child.try_wait().expect("a child").is_none() {
            let Some(node) = node_of(child.id()) else { continue };
            for (signal, milliseconds) in [(libc::SIGSTOP, 4), (libc::SIGCONT, 1)] {
                // SAFETY: a signal to the node of the run that was started above; if it is gone there is no other
                // process of that number yet.
                unsafe { libc::kill(node, signal) };
                std::thread::sleep(std::time::Duration::from_millis(milliseconds));
            }
        }
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), output.stdout),
            (Some(3), plain("scan").stdout),
            "{said}"
        );
        let text = std::fs::read_to_string(at("stats.json")).expect("statistics");
        let stats: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(counter(&stats, "recalled_pages") > 0, "{policy:?}: nothing was recalled");
        assert!(counter(&stats, "resident_peak_bytes") <= counter(&stats, "limit_bytes"));
    }
}

#[test]
fn a_program_ends_whose_node_dies_while_it_moves_pages() {
    if !has_several_processors("a_program_ends_whose_node_dies_while_it_moves_pages") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    record(&at("trace.fpt"), &["--microset", "64"], "scan");
    plan(&at("trace.fpt"), PlanPolicy::Min, 30, &at("planned.tape"));
    let mut command = Command::new(farside());
    // So slow that it is not over before it is killed.
    command.args(["run", "--far", "embedded:latency=30ms", "--tape"]).arg(at("planned.tape"));
    command.arg("--").arg(program()).arg("scan");
    command.env("XDG_RUNTIME_DIR", directory.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("farside starts");
    let node = loop {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it moved a page");
        match running(child.id(), directory.path()) {
            Some((node, moved)) if moved > 0 => break node,
            _ => std::thread::yield_now(),
        }
    };
    // SAFETY: a signal to the node of the run that was started above.
    unsafe { libc::kill(node, libc::SIGKILL) };
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(125), 0), "{said}");
    assert!(said.contains("lost the memory node"), "{said}");
}

#[test]
fn threads_follow_tapes_of_their_own() {
    follow("threads", "threads", PlanPolicy::Min, &[]);
}

#[test]
fn a_program_that_does_something_else_is_not_harmed() {
    follow("scan", "shuffle", PlanPolicy::Min, &[]);
    follow("shuffle", "scan", PlanPolicy::Lru, &[]);
    follow("few", "straddle", PlanPolicy::Min, &["--local", "8M"]);
}

#[test]
fn children_follow_no_tape() {
    follow("child", "child", PlanPolicy::Min, &[]);
}

#[test]
fn tapes_that_cannot_be_followed_are_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    record(&at("trace.fpt"), &[], "scan");
    plan(&at("trace.fpt"), PlanPolicy::Lru, 50, &at("good.tape"));
    let refuse = |arguments: &[&str], words: &str| {
        let mut command = Command::new(farside());
        command.arg("run").args(arguments).args(["--", "echo", "started"]);
        let output = command.output().expect("farside starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{text}");
        assert!(text.contains(words), "no {words:?} in {text}");
    };
    let good = at("good.tape");
    let good = good.to_str().expect("a readable path");
    refuse(&["--tape", "/nowhere.tape"], "/nowhere.tape");
    refuse(&["--tape", good, "--local", "2M"], "the tape is planned for");
    let mut bytes = std::fs::read(good).expect("the tape");
    bytes.truncate(bytes.len() - 3);
    std::fs::write(at("cut.tape"), &bytes).expect("room");
    refuse(&["--tape", at("cut.tape").to_str().expect("a readable path")], "cut.tape");
    refuse(&["--tape", at("trace.fpt").to_str().expect("a readable path")], "trace.fpt");
}
