//! Functions that run where their data is, and bad days of what runs them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use farside_exam::{Node, farside, skipped};
use serde_json::Value;
use tempfile::TempDir;

/// The queries of the benchmark.
const FILES: [(&str, &str); 3] = [
    ("filter.c", include_str!("../../../farside-cli/src/bench/compile/sources/filter.c")),
    ("filter.toml", include_str!("../../../farside-cli/src/bench/compile/sources/filter.toml")),
    ("measured.h", include_str!("../../../farside-cli/src/bench/compile/sources/measured.h")),
];

const ROWS: &str = "300000";

/// A directory with the program.
struct Stage {
    home: TempDir,
    program: PathBuf,
}

impl Stage {
    /// None, and counted as skipped, if there is no compiler.
    fn new(test: &str) -> Option<Self> {
        let compiler = farside().with_file_name("../compiler/bin/farside-cc");
        if !compiler.is_file() {
            skipped(test, "no farside-cc beside farside; build it: make compiler");
            return None;
        }
        let home = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in FILES {
            fs::write(home.path().join(name), text).expect("a file");
        }
        let mut command = Command::new(compiler);
        command.current_dir(home.path());
        command.args([
            "-std=gnu11",
            "-O2",
            "-g",
            "-fsections=filter.toml",
            "filter.c",
            "-o",
            "filter",
        ]);
        let built = command.output().expect("the compiler starts");
        assert!(built.status.success(), "{built:?}");
        let program = home.path().join("filter");
        Some(Self { home, program })
    }

    fn plain(&self, queries: &str) -> Vec<u8> {
        let output = Command::new(&self.program).args([ROWS, queries]).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    fn command(&self, far: &str, side: &str, queries: &str) -> Command {
        let mut command = Command::new(farside());
        command.args(["run", "--local", "4M", "--far", far, "--offload", side, "--stats"]);
        command.arg(self.home.path().join("stats.json"));
        command.arg("--").arg(&self.program).args([ROWS, queries]);
        command
    }

    fn counter(&self, name: &str) -> u64 {
        let text = fs::read(self.home.path().join("stats.json")).expect("statistics");
        let stats: Value = serde_json::from_slice(&text).expect("JSON");
        stats["counters"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {stats}"))
    }

    /// Runs it, and holds its output against a plain run; returns how many calls ran there, here, and failed there.
    fn run(&self, far: &str, side: &str) -> ([u64; 3], String) {
        let output = self.command(far, side, "5").output().expect("farside starts");
        assert_same(&output, &self.plain("5"));
        let counters = ["offload_calls", "offload_here", "offload_failed"];
        (counters.map(|name| self.counter(name)), String::from_utf8_lossy(&output.stderr).into())
    }
}

fn assert_same(output: &Output, plain: &[u8]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(output.stdout == plain, "it printed something else: {said}");
}

#[test]
fn functions_run_where_their_data_is() {
    let Some(stage) = Stage::new("functions_run_where_their_data_is") else { return };
    assert_eq!(stage.run("embedded:", "always").0, [10, 0, 0]);
    let ([there, here, failed], said) = stage.run("embedded:", "auto");
    assert_eq!((there + here, failed), (10, 0));
    assert!(there > 0 && here > 0, "both are tried: {there} and {here}");
    assert!(said.contains("calls ran where their data is"), "{said}");
    let ([there, _, failed], said) = stage.run("embedded:", "never");
    assert_eq!((there, failed), (0, 0));
    assert!(!said.contains("where their data is"), "{said}");
    // What a node that compresses keeps cannot be read in place.
    let ([there, _, _], _) = stage.run("embedded:compress=lz4", "always");
    assert_eq!(there, 0);
}

#[test]
fn functions_run_at_nodes_that_allow_it() {
    let Some(stage) = Stage::new("functions_run_at_nodes_that_allow_it") else { return };
    let node = Node::start_at("127.0.0.1:0", "256M", &["--offload"]);
    let far = format!("tcp://{}", node.address);
    assert_eq!(stage.run(&far, "always").0, [10, 0, 0]);
    // A node cannot compute with what it cannot read.
    let ([there, here, _], _) = stage.run(&format!("{far}?seal=yes"), "always");
    assert_eq!((there, here), (0, 10));
    let other = Node::start("256M");
    let ([there, here, failed], said) = stage.run(&format!("tcp://{}", other.address), "always");
    assert_eq!((there, here), (0, 10));
    assert!(failed > 0 && said.contains("they need --offload"), "{said}");
    assert_eq!(said.matches("runs here, not where its data is").count(), 1, "{said}");
    // Pages that are spread over nodes are at none of them.
    let third = Node::start_at("127.0.0.1:0", "256M", &["--offload"]);
    let both = format!("tcp://{},{}", node.address, third.address);
    let ([there, here, _], said) = stage.run(&both, "always");
    assert_eq!((there, here), (0, 10));
    assert!(said.contains("no memory node has all of its data"), "{said}");
    assert_eq!(stage.run(&format!("{both}?copies=2"), "always").0, [10, 0, 0]);
}

/// The processes that run functions below another one.
fn servers_below(ancestor: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        let listed = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        for child in listed.unwrap_or_default().split_whitespace().filter_map(|it| it.parse().ok())
        {
            let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&command).contains("--offload-server") {
                found.push(child);
            }
            parents.push(child);
        }
    }
    found
}

#[test]
fn what_runs_functions_is_killed_and_the_program_goes_on() {
    let test = "what_runs_functions_is_killed_and_the_program_goes_on";
    let Some(stage) = Stage::new(test) else { return };
    let plain = stage.plain("200");
    let mut command = stage.command("embedded:", "always", "200");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let running = command.spawn().expect("farside starts");
    let begun = Instant::now();
    let server = loop {
        if let Some(server) = servers_below(running.id()).first() {
            break *server;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no function was run there");
        std::thread::sleep(Duration::from_millis(1));
    };
    // SAFETY: kill touches no memory.
    assert_eq!(unsafe { libc::kill(server as i32, libc::SIGKILL) }, 0, "it is there");
    let output = running.wait_with_output().expect("it ends");
    assert_same(&output, &plain);
    assert!(stage.counter("offload_failed") > 0);
    assert_eq!(stage.counter("offload_calls") + stage.counter("offload_here"), 400);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("what would run it is gone"), "{said}");
}
