//! Managed processes, played by this very test program: joining, counters, statistics, the node.

mod support;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use farside_cli::run::{Basis, Ending, Footprints, Remembered, Report};
use farside_os::socket::receive;
use farside_pager::counters::{Counters, MAGIC};
use farside_pager::settings::env;
use farside_wire::control::{Hello, Joined, ProgramName, join};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use nix::sys::signal::Signal;
use support::{Farside, Running, code, stderr, stdout};

/// The part to be played by the test program when it is started as a managed process.
const PART: &str = "MANAGED_PROCESS_PART";

fn connect() -> Joined {
    let name = std::env::var(env::CONTROL).unwrap();
    let hello = Hello {
        pid: std::process::id(),
        parent_pid: std::os::unix::process::parent_id(),
        fork_of: None,
        program: ProgramName::new(b"part"),
    };
    join(&name, &hello).unwrap()
}

fn counters(joined: &Joined) -> &'static Counters {
    let len = (joined.counters_len as usize).try_into().unwrap();
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: maps a fresh file wherever there is room, for the rest of the process's life.
    let at = unsafe { mmap(None, len, protection, MapFlags::MAP_SHARED, &joined.counters, 0) };
    // SAFETY: the supervisor promises a zeroed block of at least that type.
    let counters = unsafe { at.unwrap().cast::<Counters>().as_ref() };
    assert_eq!(counters.snapshot().fields().iter().map(|(_, value)| value).sum::<u64>(), 0);
    counters.magic.store(MAGIC, Relaxed);
    counters
}

fn say(line: &str) {
    let mut stdout = std::io::stdout();
    stdout.write_all(format!("{line}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// Not a test: what a started copy of this program does.
#[test]
fn play_a_part() {
    let Ok(part) = std::env::var(PART) else { return };
    let joined = connect();
    let counters = counters(&joined);
    counters.demand_faults.store(5, Relaxed);
    counters.footprint_peak_bytes.store(64 << 20, Relaxed);
    match part.as_str() {
        "count" => {}
        "crash" => {
            say("joined");
            // SAFETY: dies on the spot, which is the point.
            unsafe { ptr::null_mut::<u8>().write_volatile(1) };
        }
        "hear the node" => {
            let mut buffer = [0; 64];
            let greeting = receive(joined.node.as_fd(), &mut buffer).unwrap();
            assert!(greeting.len > 0 && greeting.descriptors[0].is_some());
            say("joined");
            // Ends when the node hangs up.
            while receive(joined.node.as_fd(), &mut buffer).is_ok_and(|got| got.len > 0) {}
            say("node gone");
        }
        "wait" => {
            say("joined");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        other => panic!("no part {other:?}"),
    }
    std::process::exit(0);
}

/// This program with a part to play, as arguments of `farside run`.
fn player() -> Vec<OsString> {
    let this = std::env::current_exe().unwrap();
    vec![this.into(), "play_a_part".into(), "--exact".into(), "--nocapture".into(), "-q".into()]
}

fn read(farside: &Farside) -> Report {
    let text = fs::read_to_string(farside.path("stats.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn play(farside: &Farside, part: &str, options: &[&str]) -> std::process::Command {
    let mut command = farside.command(["run"]);
    command.args(options).arg("--stats").arg(farside.path("stats.json")).arg("--");
    command.args(player()).env(PART, part);
    command
}

/// Skips what the harness prints around a part.
fn expect(running: &mut Running, wanted: &str) {
    loop {
        let line = running.line();
        if line == wanted {
            return;
        }
        assert!(line.is_empty() || line.starts_with("running "), "{line:?} before {wanted:?}");
    }
}

#[test]
fn counters_of_a_process_are_in_the_statistics() {
    let farside = Farside::new();
    let output = play(&farside, "count", &["--local", "2M"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains(", 1 process, exit code 0"), "{}", stderr(&output));
    let report = read(&farside);
    assert_eq!(report.processes, 1);
    assert_eq!(report.counter("demand_faults"), 5);
    assert_eq!(report.ending, Ending::Exited(0));
    assert_eq!((report.limit.basis, report.limit.bytes), (Basis::Given, Some(2 << 20)));
    let names: Vec<&str> = report.counters.keys().map(String::as_str).collect();
    for (name, _) in Counters::new().snapshot().fields() {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn statistics_have_the_documented_keys() {
    let farside = Farside::new();
    assert_eq!(code(&play(&farside, "count", &["-q"]).output().unwrap()), Some(0));
    let text = fs::read_to_string(farside.path("stats.json")).unwrap();
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/counters.md");
    let document = fs::read_to_string(path).unwrap();
    let (_, section) = document.split_once("## The object").unwrap();
    let (section, _) = section.split_once("## The counters").unwrap();
    let (section, tape) = section.split_once("## The object of a tape").unwrap();
    assert!(tape.contains("| `steps`"), "the keys of a tape are not documented");
    let (section, curve) = section.split_once("## The object of a curve").unwrap();
    assert!(curve.contains("| `points`"), "the keys of a curve are not documented");
    // This run follows no tape, and nobody watched its pages.
    let is_there = |line: &&str| !line.contains("| Only of runs") && !line.contains("| Only if");
    let rows = section.lines().filter(is_there);
    let mut expected: Vec<&str> =
        rows.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected);
}

#[test]
fn a_crash_loses_no_counters() {
    let farside = Farside::new();
    let output = play(&farside, "crash", &["-q"]).output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(libc::SIGSEGV));
    let report = read(&farside);
    assert_eq!(report.ending, Ending::Killed(libc::SIGSEGV));
    assert_eq!((report.processes, report.counter("demand_faults")), (1, 5));
}

#[test]
fn percentages_use_the_peak_of_an_earlier_run() {
    let farside = Farside::new();
    let output = play(&farside, "count", &["--local", "25%"]).output().unwrap();
    assert!(stderr(&output).contains("touched so far"), "{}", stderr(&output));
    assert_eq!(read(&farside).limit.basis, Basis::Touched);
    let output = play(&farside, "count", &["--local", "25%"]).output().unwrap();
    assert!(stderr(&output).contains("limit 16 MiB (25% of 64 MiB"), "{}", stderr(&output));
    let limit = read(&farside).limit;
    assert_eq!((limit.basis, limit.bytes), (Basis::EarlierRun, Some(16 << 20)));
    let output = play(&farside, "count", &["--local", "0.1%"]).output().unwrap();
    assert!(stderr(&output).contains("raised to the least"), "{}", stderr(&output));
    let this = std::env::current_exe().unwrap();
    let footprints = Footprints::at(&farside.path("state"));
    let left = Remembered { peak: 64 << 20, sections: Vec::new() };
    assert_eq!(footprints.recall(&this, &player()[1..]), Some(left));
    assert_eq!(footprints.recall(&this, &player()), None, "other arguments, another footprint");
}

#[test]
fn a_failed_run_is_not_remembered() {
    let farside = Farside::new();
    let output = play(&farside, "crash", &["-q"]).output().unwrap();
    assert_eq!(code(&output), None);
    let this = std::env::current_exe().unwrap();
    assert_eq!(Footprints::at(&farside.path("state")).recall(&this, &player()[1..]), None);
}

/// The child processes of `pid`.
fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn node_of(running: &Running) -> u32 {
    let is_node = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.starts_with(b"farside\0node"))
    };
    children(running.child.id()).into_iter().find(is_node).expect("a node")
}

#[test]
fn the_death_of_the_node_is_told() {
    let farside = Farside::new();
    let mut command = play(&farside, "hear the node", &["-q"]);
    command.stderr(Stdio::piped());
    let mut running = Running::start(command);
    expect(&mut running, "joined");
    let node = nix::unistd::Pid::from_raw(node_of(&running) as i32);
    nix::sys::signal::kill(node, Signal::SIGKILL).unwrap();
    expect(&mut running, "node gone");
    let mut text = String::new();
    let mut pipe = running.child.stderr.take().unwrap();
    std::io::Read::read_to_string(&mut pipe, &mut text).unwrap();
    assert!(text.contains("lost the memory node") && text.contains("SIGKILL"), "{text}");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

#[test]
fn nothing_is_left_behind() {
    let farside = Farside::new();
    let mut command = play(&farside, "wait", &["-q"]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    expect(&mut running, "joined");
    let node = node_of(&running);
    drop(running.child.stdin.take());
    assert!(running.child.wait().unwrap().success());
    assert!(!fs::exists(format!("/proc/{node}")).unwrap(), "the node outlived its run");
    let left = fs::read_dir(farside.path("runtime/farside")).unwrap().count();
    assert_eq!(left, 0, "a file for `farside top` was left");
}

#[test]
fn top_lists_the_running_programs() {
    let farside = Farside::new();
    let top = |arguments: &[&str]| {
        let output = farside.command(["top"]).args(arguments).output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(top(&["--json"]).trim(), "[]");
    let mut command = play(&farside, "wait", &["-q", "--local", "3M"]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    expect(&mut running, "joined");
    let stale = farside.path("runtime/farside/stale.json");
    fs::write(&stale, r#"{"supervisor_pid": 1, "control": "gone", "program": "x"}"#).unwrap();
    let reports: Vec<Report> = serde_json::from_str(&top(&["--json"])).unwrap();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].ending, Ending::Running);
    assert_eq!((reports[0].processes, reports[0].counter("demand_faults")), (1, 5));
    assert!(!stale.exists(), "a stale entry was kept");
    let table = top(&["--once"]);
    assert!(table.contains("DEMAND FAULTS") && table.contains("members"), "{table}");
    drop(running.child.stdin.take());
    assert!(running.child.wait().unwrap().success());
    assert_eq!(top(&["--once"]).trim(), "no program runs on far memory");
}

#[test]
fn a_process_that_outlives_the_program_keeps_a_supervisor() {
    let farside = Farside::new();
    let (input, hold) = std::io::pipe().unwrap();
    let (mut held_open, stderr) = std::io::pipe().unwrap();
    let fifo = farside.path("fifo");
    // The program ends once the daemon it left has joined.
    let script = "fifo=$1; shift; mkfifo $fifo; exec 3<&0; \"$@\" <&3 >$fifo & \
                  grep -q -m1 joined $fifo";
    let mut command = farside.command(["run", "-q", "--", "sh", "-c", script, "sh"]);
    command.arg(&fifo).args(player()).env(PART, "wait");
    command.stdin(input).stdout(Stdio::null()).stderr(stderr);
    let mut child = command.spawn().unwrap();
    drop(command);
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let top = || -> Vec<Report> {
        let output = farside.command(["top", "--json"]).output().unwrap();
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    assert_eq!(top().len(), 1, "the daemon's run is not listed any more");
    drop(hold);
    // Ends when the daemon, the last to hold it, is gone.
    let mut text = String::new();
    std::io::Read::read_to_string(&mut held_open, &mut text).unwrap();
    assert_eq!(text, "");
    while !top().is_empty() {
        std::thread::yield_now();
    }
}
