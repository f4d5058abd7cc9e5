//! `farside balance` and `farside limit` with programs that run.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use farside_exam::{compile_with, farside, has_program, source};
use serde_json::Value;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(100);

/// How long is waited from look to look.
const LOOK: Duration = Duration::from_millis(20);

/// Programs and a daemon that know of one another and of no others.
struct Stage {
    home: TempDir,
    path: PathBuf,
}

/// A program that runs until its input ends.
struct Run {
    child: Child,
    arguments: Vec<String>,
    stats: PathBuf,
}

/// The daemon; it is killed when this goes.
struct Daemon {
    child: Child,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // What a test that failed had stopped does not end by itself.
        // SAFETY: takes no pointers; the process is our child.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGCONT) };
        let _ = self.child.wait();
    }
}

/// What a running program says of its memory.
#[derive(Clone, Debug)]
struct Seen {
    pid: u64,
    order: String,
    /// Those of its processes added up, as what they have and use.
    limit: u64,
    resident: u64,
    footprint: u64,
}

impl Seen {
    fn claim(&self) -> u64 {
        self.limit.max(self.resident)
    }
}

impl Stage {
    fn new(test: &str) -> Option<Self> {
        has_program(test, "gcc", "gcc").then(|| {
            let home = tempfile::tempdir().expect("a temporary directory");
            let path = home.path().join("turns");
            compile_with(Command::new("gcc").args(["-O2", "-o"]).arg(&path).arg(source("turns.c")));
            Self { home, path }
        })
    }

    fn farside(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(farside());
        command.args(arguments).env("XDG_RUNTIME_DIR", self.home.path());
        command.env("XDG_STATE_HOME", self.home.path());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.farside(arguments).stdin(Stdio::null()).output().expect("farside starts")
    }

    fn daemon(&self, arguments: &[&str]) -> Daemon {
        let mut command = self.farside(&["balance", "--json"]);
        let file = |name: &str| {
            let path = self.home.path().join(name);
            std::fs::File::options().append(true).create(true).open(path).expect("a file")
        };
        command.args(arguments).stdin(Stdio::null());
        command.stdout(file("said")).stderr(file("complained"));
        Daemon { child: command.spawn().expect("farside starts") }
    }

    /// What the daemon said, a line for each change.
    fn said(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.home.path().join("said")).expect("what it said");
        // The last line may not be whole yet.
        text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
    }

    fn complained(&self) -> String {
        std::fs::read_to_string(self.home.path().join("complained")).expect("complaints")
    }

    /// Starts the program, which uses so many pages in turn.
    fn run(&self, options: &[&str], words: &[&str]) -> Run {
        let number = std::fs::read_dir(self.home.path()).expect("a directory").count();
        let stats = self.home.path().join(format!("stats-{number}"));
        let mut command = self.farside(&["run", "--quiet", "--track", "always:5%", "--stats"]);
        command.arg(&stats).args(options).arg("--").arg(&self.path).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let child = command.spawn().expect("farside starts");
        Run { child, arguments: words.iter().map(|it| (*it).to_owned()).collect(), stats }
    }

    /// The programs that run, as they say.
    fn seen(&self) -> Vec<Seen> {
        let output = self.output(&["top", "--json"]);
        let reports: Vec<Value> = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let seen = |report: &Value| {
            let count = |name: &str| report["counters"][name].as_u64().expect("a counter");
            Seen {
                pid: report["pid"].as_u64().expect("a process id"),
                order: report["arguments"][0].as_str().expect("an order").to_owned(),
                limit: report["living"]["limit_bytes"].as_u64().expect("limits"),
                resident: count("resident_bytes"),
                footprint: count("footprint_bytes"),
            }
        };
        reports.iter().map(seen).collect()
    }

    /// Waits until programs stand so, and insists that at no time they have more than `total` together.
    fn until(&self, total: u64, what: &str, mut is_so: impl FnMut(&[Seen]) -> bool) -> Vec<Seen> {
        let deadline = Instant::now() + PATIENCE;
        let mut before = self.seen();
        loop {
            let seen = self.seen();
            // Programs are looked at one after the other: what one had before it gave it to another is not counted twice.
            let surely = seen.iter().map(|it| {
                let earlier = before.iter().find(|other| other.pid == it.pid);
                earlier.map_or(0, |other| other.claim().min(it.claim()))
            });
            let surely: u64 = surely.sum();
            assert!(surely <= total, "{what}: {} MiB of {}: {seen:#?}", surely / MIB, total / MIB);
            if is_so(&seen) {
                return seen;
            }
            assert!(Instant::now() < deadline, "{what}: {seen:#?}\n{}", self.complained());
            before = seen;
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until limits are the same several times in a row.
    fn settled(&self, total: u64) -> Vec<Seen> {
        let (mut before, mut same) = (Vec::new(), 0);
        self.until(total, "limits stay", |seen| {
            let limits: Vec<_> = seen.iter().map(|it| (it.pid, it.limit)).collect();
            same = if limits == before { same + 1 } else { 0 };
            before = limits;
            same >= 5
        })
    }
}

impl Run {
    /// Sends it a word, after which it does something else.
    fn say(&mut self, word: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{word}").expect("it listens");
    }

    /// Lets it end, and insists that it printed what a plain run prints; returns its statistics.
    fn finish(mut self, path: &Path, said: &[&str]) -> Value {
        drop(self.child.stdin.take());
        let mut text = String::new();
        let mut output = self.child.stdout.take().expect("its output");
        output.read_to_string(&mut text).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{:?}", self.arguments);
        let mut plain = Command::new(path);
        plain.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut plain = plain.spawn().expect("it starts");
        let mut input = plain.stdin.take().expect("its input");
        said.iter().for_each(|word| writeln!(input, "{word}").expect("it listens"));
        drop(input);
        let plain = plain.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&plain.stdout), text);
        let stats = std::fs::read_to_string(&self.stats).expect("statistics");
        serde_json::from_str(&stats).expect("JSON")
    }
}

fn of<'a>(seen: &'a [Seen], order: &str) -> Option<&'a Seen> {
    seen.iter().find(|it| it.order == order)
}

/// Whether the loop has all that it uses.
fn loop_fits(seen: &[Seen]) -> bool {
    of(seen, "loop").is_some_and(|it| it.footprint > 40 * MIB && it.limit >= it.footprint)
}

#[test]
fn memory_goes_where_it_helps_whoever_dies() {
    let Some(stage) = Stage::new("memory_goes_where_it_helps_whoever_dies") else { return };
    let total = 70 * MIB;
    let mut daemon = stage.daemon(&["--local", "70M", "--interval", "500ms"]);
    stage.until(total, "the daemon says that it is there", |_| !stage.said().is_empty());
    let one = stage.run(&[], &["loop", "12000"]);
    let other = stage.run(&[], &["chance", "60000"]);
    // The loop may have gone far before the other one is there.
    let fits =
        |seen: &[Seen]| loop_fits(seen) && of(seen, "chance").is_some_and(|it| it.limit < 25 * MIB);
    stage.until(total, "the loop gets what it needs", fits);

    // There is one daemon.
    let second = stage.output(&["balance", "--local", "1G"]);
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && told.contains("already"), "{told}");

    daemon.child.kill().expect("it is killed");
    daemon.child.wait().expect("it has gone");
    // The last that it said may be newer than what was seen before, and still on its way.
    let kept = stage.settled(total);
    assert!(kept.len() == 2 && kept.iter().map(|it| it.limit).sum::<u64>() <= total, "{kept:#?}");
    assert!(of(&kept, "loop").is_some_and(|it| it.limit > 40 * MIB), "{kept:#?}");
    // Another one, for less memory.
    let less = 30 * MIB;
    let daemon = stage.daemon(&["--local", "30M", "--interval", "500ms"]);
    let fits = |seen: &[Seen]| seen.iter().map(Seen::claim).sum::<u64>() <= less;
    stage.until(total, "all have less", fits);
    stage.until(less, "all still have less", |seen| seen.iter().all(|it| it.limit >= MIB));
    drop(daemon);
    let daemon = stage.daemon(&["--local", "70M", "--interval", "500ms"]);
    stage.until(total, "the loop fits again", loop_fits);
    let stats = one.finish(&stage.path, &[]);
    assert_eq!(stats["limit"]["basis"], "ordered", "{stats}");
    assert!(stats["counters"]["resident_peak_bytes"].as_u64() <= Some(total), "{stats}");
    let all = |seen: &[Seen]| seen.len() == 1 && seen[0].limit > 65 * MIB;
    stage.until(total, "who is left gets all", all);
    // One that joins begins under the limit that it is given.
    let third = stage.run(&[], &["loop", "12000"]);
    stage.until(total, "who joins gets what it needs", loop_fits);
    for run in [other, third] {
        let stats = run.finish(&stage.path, &[]);
        assert!(stats["counters"]["resident_peak_bytes"].as_u64() <= Some(total), "{stats}");
    }
    drop(daemon);
    for line in stage.said() {
        let count = |name: &str| line[name].as_u64().expect("a number");
        // The daemons for less than programs had found them with more.
        assert!(count("claimed_bytes") <= total, "{line}");
    }
}

#[test]
fn limits_follow_what_programs_come_to_need() {
    let Some(stage) = Stage::new("limits_follow_what_programs_come_to_need") else { return };
    let total = 70 * MIB;
    let _daemon = stage.daemon(&["--local", "70M", "--interval", "500ms"]);
    let mut one = stage.run(&[], &["loop", "12000"]);
    let other = stage.run(&[], &["chance", "60000"]);
    stage.until(total, "the loop gets what it needs", loop_fits);
    // It uses a few of its pages only.
    one.say("1000");
    let gave = |seen: &[Seen]| of(seen, "loop").is_some_and(|it| it.limit < 30 * MIB);
    stage.until(total, "it gives what it needs no more", gave);
    one.say("12000");
    stage.until(total, "it gets what it needs again", loop_fits);
    one.finish(&stage.path, &["1000", "12000"]);
    other.finish(&stage.path, &[]);
}

#[test]
fn a_program_that_is_stopped_or_killed_is_no_hindrance() {
    let Some(stage) = Stage::new("a_program_that_is_stopped_or_killed_is_no_hindrance") else {
        return;
    };
    let total = 90 * MIB;
    let _daemon =
        stage.daemon(&["--local", "90M", "--interval", "500ms", "--metrics", "127.0.0.1:0"]);
    let stopped = stage.run(&["--local", "15M"], &["chance", "20000"]);
    stage.until(total, "it runs", |seen| {
        of(seen, "chance").is_some_and(|it| it.footprint > 70 * MIB)
    });
    let signal = |run: &Run, signal: i32| {
        // SAFETY: takes no pointers; the process is our child.
        assert_eq!(unsafe { libc::kill(run.child.id() as i32, signal) }, 0);
    };
    let mut killed = stage.run(&[], &["two", "9000"]);
    stage.until(total, "both run", |seen| seen.len() == 2);
    signal(&killed, libc::SIGKILL);
    killed.child.wait().expect("it has gone");
    stage.until(total, "it is forgotten", |seen| seen.len() == 1);
    // Whose supervisor does not answer keeps what it has.
    let lowered =
        |seen: &[Seen]| seen.len() == 2 && of(seen, "chance").is_some_and(|it| it.limit < 60 * MIB);
    let one = stage.run(&[], &["loop", "12000"]);
    stage.until(total, "both share", lowered);
    signal(&stopped, libc::SIGSTOP);
    let deadline = Instant::now() + PATIENCE;
    let metrics = metrics_address(&stage);
    while !metrics_say(&metrics, "farside_balance_program_answers{program=\"turns\"", " 0.0") {
        assert!(Instant::now() < deadline, "{}", metrics_text(&metrics));
        std::thread::sleep(LOOK);
    }
    for name in
        ["total_bytes 94371840", "claimed_bytes", "program_limit_bytes{", "changes_total", "# EOF"]
    {
        let text = metrics_text(&metrics);
        assert!(text.contains(name), "{name} is not in {text}");
    }
    signal(&stopped, libc::SIGCONT);
    one.finish(&stage.path, &[]);
    stopped.finish(&stage.path, &[]);
}

fn metrics_address(stage: &Stage) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = stage.complained();
        let address = text.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        if let Some(address) = address {
            return address.to_owned();
        }
        assert!(Instant::now() < deadline, "no address of metrics: {text}");
        std::thread::sleep(LOOK);
    }
}

fn metrics_text(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the daemon listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .expect("it hears");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

fn metrics_say(address: &str, start: &str, end: &str) -> bool {
    metrics_text(address)
        .lines()
        .any(|line| line.starts_with(start) && line.trim_end().ends_with(end))
}

#[test]
fn each_process_of_a_run_counts() {
    let Some(stage) = Stage::new("each_process_of_a_run_counts") else { return };
    let total = 80 * MIB;
    let _daemon = stage.daemon(&["--local", "80M", "--interval", "500ms"]);
    stage.until(total, "the daemon says that it is there", |_| !stage.said().is_empty());
    // Two children, each of which goes over 24 MB again and again: both fit, or none does.
    let pair = stage.run(&[], &["pair", "6000"]);
    let other = stage.run(&[], &["chance", "60000"]);
    let fit = |seen: &[Seen]| {
        let fits = |it: &Seen| it.footprint > 46 * MIB && it.limit >= it.footprint;
        // The other one may come later.
        of(seen, "pair").is_some_and(fits) && of(seen, "chance").is_some_and(|it| it.limit > 0)
    };
    let seen = stage.until(total, "both children get what they need", fit);
    assert!(of(&seen, "chance").is_some_and(|it| it.limit <= 32 * MIB), "{seen:#?}");
    other.finish(&stage.path, &[]);
    pair.finish(&stage.path, &[]);
    for line in stage.said() {
        let limits = line["programs"].as_array().expect("programs").iter();
        let limits: u64 = limits.map(|it| it["limit_bytes"].as_u64().expect("a number")).sum();
        assert!(limits <= total && line["claimed_bytes"].as_u64() <= Some(total), "{line}");
    }
}

#[test]
fn a_limit_is_changed_while_a_program_runs() {
    let Some(stage) = Stage::new("a_limit_is_changed_while_a_program_runs") else { return };
    let run = stage.run(&["--local", "200M"], &["loop", "12000"]);
    let seen = stage.until(u64::MAX, "it has all", |seen| {
        of(seen, "loop").is_some_and(|it| it.resident > 46 * MIB)
    });
    let pid = seen[0].pid.to_string();
    for (size, word) in [("512K", "1 MiB"), ("much", "400M"), ("50%", "400M")] {
        let output = stage.output(&["limit", &pid, size]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(word), "{told}");
    }
    let lower = stage.output(&["limit", &pid, "20M"]);
    assert!(lower.status.success(), "{lower:?}");
    let now = &stage.seen()[0];
    assert!(now.limit == 20 * MIB && now.resident <= 20 * MIB, "{now:?}");
    assert!(stage.output(&["limit", &pid, "100M"]).status.success());
    stage.until(u64::MAX, "it has all again", |seen| seen[0].resident > 46 * MIB);
    let stats = run.finish(&stage.path, &[]);
    assert_eq!(stats["limit"]["bytes"].as_u64(), Some(100 * MIB), "{stats}");
    assert!(!stage.output(&["limit", &pid, "20M"]).status.success());
}

#[test]
fn the_table_of_balance_has_all_its_rows() {
    let Some(stage) = Stage::new("the_table_of_balance_has_all_its_rows") else { return };
    let mut command = stage.farside(&["bench", "balance", "--scale", "small", "--json"]);
    command.args(["--repetitions", "1", "--cache"]).arg(stage.home.path());
    let output = command.output().expect("farside starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 8, "{rows:#?}");
    // Of what has little, nothing need be done in the time that there is.
    assert!(rows[..2].iter().all(|row| row["ours"].as_f64() > Some(0.0)), "{rows:#?}");
    assert!(rows.iter().all(|row| row["ours"].is_number()), "{rows:#?}");
    assert_eq!(rows[0]["goal"], "at least 1.25x", "{rows:#?}");
    assert_eq!(rows[4]["goal"], "under 2 s", "{rows:#?}");
    assert_eq!(rows[7]["met"], true, "never more than there is: {rows:#?}");
}
