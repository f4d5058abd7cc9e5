//! `farside balance` among supervisors that are none: many of them, silent ones, gone ones, and liars.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use farside_cli::run::RunFile;
use farside_wire::control::{Arrival, LimitState, Listener};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// How a pretended program behaves.
#[derive(Clone, Debug)]
enum Kind {
    /// It says this of what it uses and misses.
    Says(Value),
    /// It never answers.
    Silent,
}

/// A pretended program, which obeys at once.
struct Pretended {
    listener: Listener,
    sessions: Vec<OwnedFd>,
    kind: Kind,
    /// Bytes in force.
    limit: u64,
    ordered: u64,
}

/// A directory of runs, and who pretends to be there.
struct Stage {
    directory: TempDir,
    programs: Vec<Pretended>,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let runs = directory.path().join("farside");
        std::fs::create_dir(&runs).expect("a directory of runs");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&runs, mode).expect("its mode");
        Self { directory, programs: Vec::new() }
    }

    fn add(&mut self, program: &str, kind: Kind, limit: u64) {
        let listener = Listener::open().expect("a socket");
        let number = self.programs.len() as u32;
        self.register(number, listener.name(), program);
        self.programs.push(Pretended { listener, sessions: Vec::new(), kind, limit, ordered: 0 });
    }

    fn register(&self, number: u32, control: &str, program: &str) {
        let run = RunFile {
            supervisor_pid: number + 1,
            control: control.to_owned(),
            program: program.to_owned(),
        };
        let text = serde_json::to_string(&run).expect("text");
        std::fs::write(self.file(control), text).expect("a registration");
    }

    fn file(&self, control: &str) -> std::path::PathBuf {
        self.directory.path().join("farside").join(format!("{control}.json"))
    }

    /// Runs the command while programs answer.
    fn balance(&mut self, arguments: &[&str]) -> Output {
        let over = AtomicBool::new(false);
        let path = self.directory.path().to_owned();
        let programs = &mut self.programs;
        thread::scope(|scope| {
            let over = &over;
            scope.spawn(move || play(programs, over));
            let output = command(&path, arguments);
            over.store(true, Ordering::Relaxed);
            output
        })
    }
}

fn command(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farside"));
    command.arg("balance").args(arguments).env("XDG_RUNTIME_DIR", directory);
    command.output().expect("farside starts")
}

fn play(programs: &mut [Pretended], over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let fds = programs.iter().flat_map(|it| {
            std::iter::once(it.listener.as_fd()).chain(it.sessions.iter().map(AsFd::as_fd))
        });
        let mut waited: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        poll(&mut waited, PollTimeout::from(20u8)).expect("poll");
        drop(waited);
        programs.iter_mut().for_each(Pretended::answer);
    }
}

impl Pretended {
    fn answer(&mut self) {
        let ready = |fd: std::os::fd::BorrowedFd<'_>| {
            let mut waited = [PollFd::new(fd, PollFlags::POLLIN)];
            poll(&mut waited, PollTimeout::ZERO).expect("poll") > 0
        };
        if matches!(self.kind, Kind::Silent) {
            return;
        }
        while ready(self.listener.as_fd()) {
            self.sessions.extend(self.listener.accept().expect("a connection"));
        }
        let sessions = std::mem::take(&mut self.sessions);
        for session in sessions {
            if !ready(session.as_fd()) {
                self.sessions.push(session);
                continue;
            }
            match Listener::arrival(session.as_fd()) {
                Ok(Arrival::Watcher) => {
                    let Kind::Says(report) = &self.kind else { continue };
                    let _ = Listener::figures(session.as_fd(), &report.to_string());
                }
                Ok(Arrival::Limit(order)) => {
                    if let Some(bytes) = order.bytes {
                        (self.limit, self.ordered) = (bytes, bytes);
                    }
                    let state = LimitState {
                        ordered: self.ordered,
                        limit: self.limit,
                        resident: self.limit,
                        least: MIB,
                        refused: false,
                    };
                    let _ = Listener::limit_state(session.as_fd(), state);
                }
                _ => {}
            }
        }
    }
}

/// What a program says of itself that uses so much, and misses so much with so much memory.
fn report(footprint: u64, points: &[(u64, f64)]) -> Value {
    let point = |(bytes, misses): &(u64, f64)| json!({ "bytes": bytes, "misses_per_second": misses, "slowdown": 1.0 });
    let points: Vec<Value> = points.iter().map(point).collect();
    json!({
        "version": 1, "program": "x", "arguments": [], "pid": 1, "ending": "running",
        "elapsed_seconds": 10.0,
        "limit": { "basis": "given", "bytes": null, "percent": null, "remembered_bytes": null },
        "far": "embedded:", "processes": 1,
        "counters": { "footprint_bytes": footprint, "limit_bytes": footprint, "waiting_ns": 0 },
        "fault_times": { "median_ns": null, "p90_ns": null, "p99_ns": null, "buckets": [] },
        "curve": { "seconds": 5.0, "waiting": 0.0, "points": points },
    })
}

fn view(output: &Output) -> Value {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

fn bytes(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn two_hundred_programs_share_and_never_have_more_than_there_is() {
    let mut stage = Stage::new();
    for number in 0..200u64 {
        let size = (1 + number % 7) * 16 * MIB;
        let points =
            [(0, 1000.0 * number as f64), (size - MIB, 900.0 * number as f64), (size, 0.0)];
        stage.add(&format!("/bin/p{number}"), Kind::Says(report(size, &points)), size);
    }
    let output = stage.balance(&["--local", "4G", "--once", "--json"]);
    let view = view(&output);
    let programs = view["programs"].as_array().expect("programs");
    assert_eq!(programs.len(), 200);
    assert_eq!((view["in_force"].as_bool(), bytes(&view, "total_bytes")), (Some(true), 4 << 30));
    assert!(bytes(&view, "claimed_bytes") <= 4 << 30);
    let has: u64 = stage.programs.iter().map(|it| it.limit).sum();
    assert!(has <= 4 << 30 && has > 3 << 30, "{has}");
    assert!(stage.programs.iter().all(|it| it.limit >= MIB), "the least is left to all");
    for (program, seen) in stage.programs.iter().zip(programs) {
        assert_eq!(program.limit, bytes(seen, "target_bytes"));
    }
}

#[test]
fn who_is_silent_keeps_what_it_has_and_who_is_gone_is_forgotten() {
    let mut stage = Stage::new();
    let of = |misses| report(64 * MIB, &[(0, misses), (64 * MIB, 0.0)]);
    stage.add("silent", Kind::Silent, 0);
    stage.add("a", Kind::Says(of(5e4)), 64 * MIB);
    stage.add("b", Kind::Says(of(1e3)), 64 * MIB);
    stage.register(7, "farside-nobody", "gone");
    std::fs::write(stage.file("garbage"), "{").expect("a file");
    let fifo = stage.file("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let output = stage.balance(&["--local", "80M", "--once", "--json", "--floor", "8M"]);
    let view = view(&output);
    let programs = view["programs"].as_array().expect("programs");
    assert_eq!(programs.len(), 3, "{view:#}");
    assert_eq!(programs[0]["answers"], false);
    assert!(!stage.file("farside-nobody").exists(), "what is left behind is cleaned up");
    let limits: Vec<u64> = stage.programs.iter().map(|it| it.limit / MIB).collect();
    assert!(limits[1] >= 64 && limits[2] >= 8, "{limits:?}");
    assert!(limits.iter().sum::<u64>() <= 80, "{limits:?}");
}

#[test]
fn a_liar_leaves_others_their_floors() {
    let mut stage = Stage::new();
    let honest = report(64 * MIB, &[(0, 1e3), (64 * MIB, 0.0)]);
    let lies = report(u64::MAX, &[(0, f64::MAX), (1 << 60, 1e300), (u64::MAX, -5.0), (3, 1e9)]);
    stage.add("honest", Kind::Says(honest), 64 * MIB);
    stage.add("liar", Kind::Says(lies), 0);
    stage.add("nonsense", Kind::Says(json!([1, 2])), 0);
    let arguments = ["--local", "100M", "--once", "--json", "--floor", "honest=30M"];
    view(&stage.balance(&arguments));
    assert!(stage.programs[0].limit >= 30 * MIB, "{}", stage.programs[0].limit);
    assert!(stage.programs.iter().map(|it| it.limit).sum::<u64>() <= 100 * MIB);
    let weights =
        ["--local", "100M", "--once", "--json", "--rule", "weights", "--weight", "honest=3"];
    view(&stage.balance(&weights));
    assert!(stage.programs[0].limit >= 60 * MIB, "{}", stage.programs[0].limit);
}

#[test]
fn a_dry_run_changes_nothing_and_less_than_all_need_is_told() {
    let mut stage = Stage::new();
    for name in ["a", "b", "c"] {
        let says = report(64 * MIB, &[(0, 1e3), (64 * MIB, 0.0)]);
        stage.add(name, Kind::Says(says), 64 * MIB);
    }
    let dry = stage.balance(&["--local", "30M", "--dry-run"]);
    let told = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert!(told.contains("of 30 MiB are claimed"), "{told}");
    assert_eq!(told.matches(" 10 MiB ").count(), 3, "alike programs have the same: {told}");
    assert!(stage.programs.iter().all(|it| it.limit == 64 * MIB));
    let little = stage.balance(&["--local", "2M", "--once", "--json"]);
    let told = String::from_utf8_lossy(&little.stderr);
    assert!(told.contains("--local 3 MiB"), "{told}");
    assert!(stage.programs.iter().all(|it| it.limit == MIB), "each has its least");
    for (arguments, word) in [
        (&["--local", "512K"][..], "1 MiB"),
        (&["--local", "1G", "--floor", "x=1K"][..], "1 MiB"),
        (&["--local", "1G", "--rule", "luck"][..], "throughput"),
        (&["--local", "1G", "--metrics", "nowhere"][..], "HOST:PORT"),
        (&[][..], "--local"),
    ] {
        let refused = stage.balance(arguments);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(word) && told.lines().count() == 1, "{arguments:?}: {told}");
    }
}
