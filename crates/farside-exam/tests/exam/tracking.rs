//! Seeing in which order programs use their pages (`--track`), and what that tells (`farside size`).

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use farside_exam::{compile_with, farside, has_program, source};
use serde_json::Value;
use tempfile::TempDir;

/// Pages of the program: enough for a sample of them.
const PAGES: u64 = 24_000;

struct Program {
    directory: TempDir,
    path: PathBuf,
}

impl Program {
    fn new(test: &str) -> Option<Self> {
        has_program(test, "gcc", "gcc").then(|| {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let path = directory.path().join("uses");
            let source = source("../../farside-cli/src/bench/tracking/sources/uses.c");
            compile_with(Command::new("gcc").args(["-O2", "-o"]).arg(&path).arg(source));
            Self { directory, path }
        })
    }

    /// Runs it with so much local memory and insists that it prints what a plain run does; returns the statistics.
    fn run(&self, order: &str, uses: u64, local: &str, options: &[&str]) -> Value {
        let stats = self.directory.path().join("stats.json");
        let arguments = [order, &PAGES.to_string(), &uses.to_string()];
        let mut command = Command::new(farside());
        command
            .args(["run", "--quiet"])
            .args(["--local", local])
            .args(options)
            .arg("--stats")
            .arg(&stats);
        command.arg("--").arg(&self.path).args(arguments).stdin(Stdio::null());
        let far = command.output().expect("farside starts");
        let mut plain = Command::new(&self.path);
        let plain = plain.args(arguments).stdin(Stdio::null()).output().expect("it starts");
        assert!(plain.status.success() && far.status.success(), "{far:?}");
        assert_eq!(plain.stdout, far.stdout);
        let text = std::fs::read_to_string(&stats).expect("statistics");
        serde_json::from_str(&text).expect("JSON")
    }
}

/// The smallest size that is looked at, as a share of all pages: it is not seen what the program uses again at once.
const LEAST: f64 = 0.2;

/// Misses a second by size.
fn rates(stats: &Value) -> Vec<(f64, f64)> {
    let points = stats["curve"]["points"].as_array().unwrap_or_else(|| panic!("{stats}"));
    let number = |point: &Value, name: &str| point[name].as_f64().expect("a number");
    let sizes = |point: &Value| number(point, "bytes") / 4096.0 / PAGES as f64;
    let rates: Vec<(f64, f64)> =
        points.iter().map(|point| (sizes(point), number(point, "misses_per_second"))).collect();
    rates.into_iter().filter(|(size, _)| *size > LEAST).collect()
}

/// The mean difference from what is known of an order, in a run in which tracking may take so much, of the share of
/// misses.
fn apart(program: &Program, order: &str, uses: u64, known: impl Fn(f64) -> f64) -> f64 {
    let stats = program.run(order, uses, "48M", &["--track", "always:20%"]);
    let found = rates(&stats);
    // The smallest size of which anything was seen may be well above the least.
    let (least, most) = found[0];
    assert!(most > 1000.0, "{stats}");
    let off = |(size, rate): &(f64, f64)| (rate / most - known(*size) / known(least)).abs();
    let off = found.iter().map(off).sum::<f64>() / found.len() as f64;
    println!("{order}: {off:.4}");
    off
}

#[test]
fn live_curves_are_near_those_that_are_known() {
    let Some(program) = Program::new("live_curves_are_near_those_that_are_known") else { return };
    let of_loop = |size: f64| f64::from(size < 0.999);
    assert!(apart(&program, "loop", 60 * PAGES, of_loop) < 0.02);
    let of_chance = |size: f64| 1.0 - size;
    assert!(apart(&program, "chance", 400_000, of_chance) < 0.06);
    let of_two = |size: f64| if size < 0.25 { 1.0 } else { of_loop(size) * 2.0 / 3.0 };
    assert!(apart(&program, "two", 60 * PAGES, of_two) < 0.1);
}

#[test]
fn nothing_is_tracked_unless_asked_or_without_need() {
    let Some(program) = Program::new("nothing_is_tracked_unless_asked_or_without_need") else {
        return;
    };
    let tracked = |local, options: &[&str]| {
        let stats = program.run("loop", 2 * PAGES, local, options);
        let faults = stats["counters"]["tracked_faults"].as_u64().expect("a counter");
        (faults, stats["curve"].is_null())
    };
    assert_eq!(tracked("48M", &[]), (0, true));
    assert_eq!(tracked("48M", &["--track", "off"]), (0, true));
    let without_need = tracked("200M", &["--track", "pressure:20%"]);
    assert_eq!(without_need, (0, true));
    assert!(tracked("48M", &["--track", "pressure:20%"]).0 > 0);
    for bad in ["on", "off:1%", "always:0%", "always:x", ""] {
        let mut command = Command::new(farside());
        let output =
            command.args(["run", "--track", bad, "true"]).output().expect("farside starts");
        assert_eq!(output.status.code(), Some(2), "{bad}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("--track"), "{output:?}");
    }
}

#[test]
fn a_running_program_is_sized() {
    let Some(program) = Program::new("a_running_program_is_sized") else { return };
    let uses = (60 * PAGES).to_string();
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--local", "48M", "--track", "pressure:20%", "--"]);
    command.arg(&program.path).args(["loop", &PAGES.to_string(), &uses]);
    let mut run = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let output = BufReader::new(run.stdout.take().expect("its output"));
    assert!(output.lines().map_while(Result::ok).any(|line| line == "done"));
    let text = |arguments: &[&str]| {
        let output = Command::new(farside()).args(arguments).output().expect("farside starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let programs: Value = serde_json::from_str(&text(&["top", "--json"])).expect("JSON");
    let is_it = |report: &&Value| report["program"] == *program.path.to_string_lossy();
    let report = programs.as_array().and_then(|all| all.iter().find(is_it));
    let pid = report.unwrap_or_else(|| panic!("{programs}"))["pid"].to_string();
    let sizes: Value =
        serde_json::from_str(&text(&["size", &pid, "--slowdown", "5%", "--json"])).expect("JSON");
    // A loop is hit only if all of it fits.
    let bytes = sizes["sizes"][0]["bytes"].as_f64().unwrap_or_else(|| panic!("{sizes}"));
    assert!(bytes > 0.97 * PAGES as f64 * 4096.0, "{sizes}");
    let table = text(&["size", &pid]);
    assert!(table.contains(&pid) && table.contains("100 %"), "{table}");
    drop(run.stdin.take());
    assert!(run.wait().expect("it ends").success());
    let gone = Command::new(farside()).args(["size", &pid]).output().expect("farside starts");
    assert!(!gone.status.success() && !gone.stderr.is_empty(), "{gone:?}");
}

#[test]
fn an_order_that_comes_again_is_fetched_ahead() {
    let test = "an_order_that_comes_again_is_fetched_ahead";
    let Some(program) = Program::new(test) else { return };
    let faults = |prefetch| {
        // With a network, however fast: what is there at once is fetched whenever it is asked for.
        let options = ["--far", "embedded:latency=5us", "--prefetch", prefetch];
        let stats = program.run("mixed", 10 * PAGES, "48M", &options);
        let count = |name: &str| stats["counters"][name].as_u64().expect("a counter");
        (count("demand_faults"), count("fetched_bytes") / 4096)
    };
    let (with, without) = (faults("proximity"), faults("none"));
    assert!(with.0 < without.0 / 2, "{with:?} {without:?}");
    assert!(with.1 < without.1 * 11 / 10, "{with:?} {without:?}");
    let by_chance = program.run("chance", 4 * PAGES, "48M", &["--prefetch", "proximity:window=8"]);
    let count = |name: &str| by_chance["counters"][name].as_u64().expect("a counter");
    assert!(count("prefetched_pages") < count("demand_faults") / 10, "{by_chance}");
}

#[test]
fn the_table_of_tracking_has_all_its_rows() {
    let test = "the_table_of_tracking_has_all_its_rows";
    if !has_program(test, "gcc", "gcc") {
        return;
    }
    let cache = tempfile::tempdir().expect("a temporary directory");
    let mut command = Command::new(farside());
    command.args(["bench", "tracking", "--scale", "small", "--repetitions", "1", "--json"]);
    command.args(["--track", "always:20%", "--cache"]).arg(cache.path());
    let output = command.output().expect("farside starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows");
    let count = |words: &str, unit: &str, goal: &str| {
        let is_it = |row: &&Value| {
            row["work"]
                .as_str()
                .is_some_and(|work| work.contains(words) && !work.contains("failed"))
                && (row["unit"] == unit && row["goal"] == goal && row["ours"].as_f64() >= Some(0.0))
        };
        rows.iter().filter(is_it).count()
    };
    assert_eq!(count("run time with tracking", "ms", "at most 1.04x"), 12, "{rows:#?}");
    assert_eq!(count("the median", "x", "at most 1.02x"), 1, "{rows:#?}");
    assert_eq!(
        count("error of the share of misses", "of all", "under 0.02 of all"),
        3,
        "{rows:#?}"
    );
    let goal = "at least 0.97x faster";
    assert_eq!(count("run time with adaptive beside lru", "ms", goal), 15, "{rows:#?}");
    assert_eq!(count("the best of these", "ms", "at least 5x faster"), 1, "{rows:#?}");
    let goal = "at least 3x faster";
    assert_eq!(count("demand faults with proximity", "faults", goal), 3, "{rows:#?}");
    assert_eq!(count("bytes fetched with proximity", "MB", "at most 1x"), 3, "{rows:#?}");
    let is_time =
        |row: &&Value| row["work"].as_str().is_some_and(|work| work.contains("run time with prox"));
    assert_eq!(rows.iter().filter(is_time).count(), 3, "{rows:#?}");
    assert_eq!(rows.len(), 41, "{rows:#?}");
}
