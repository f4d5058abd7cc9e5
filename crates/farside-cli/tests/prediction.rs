//! The promise: what a simulation foretells from a captured trace is what `farside run` counts.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use support::capture::{build, plugin, works};
use support::{Farside, code, stderr, stdout};

/// Local limits, from less than a quarter to four fifths of the 35 MiB that the program touches.
/// None is at a cliff of its curves: the sort's two arrays of 8 MiB each just fit into 16 MiB or
/// just do not, by where the allocator puts them.
const SIZES: [&str; 3] = ["8M", "12M", "28M"];

/// How far a count may be from what was foretold.
const TOLERANCE: f64 = 0.03;

/// The library under the program, built as the command under test is.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let profile = Path::new(env!("CARGO_BIN_EXE_farside")).parent().unwrap();
        // The directory of the profile `dev` is called otherwise.
        let name = profile.file_name().unwrap().to_str().unwrap().replace("debug", "dev");
        let mut cargo = Command::new(env!("CARGO"));
        // As a whole, with the features that every other build of the workspace has.
        cargo.args(["build", "--quiet", "--workspace", "--profile", &name]);
        cargo.arg("--target-dir").arg(profile.parent().unwrap());
        // What cargo tells this test of its own package: crates whose builds look at such names would be built anew, and
        // with them nearly everything.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_")
                || text.starts_with("CARGO_MANIFEST_")
                || text == "OUT_DIR"
            {
                cargo.env_remove(&name);
            }
        }
        let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(status.success(), "cannot build the library");
        profile.join("libfarside.so")
    })
}

/// `farside run --prefetch none ARGUMENTS`
fn run(farside: &Farside, arguments: &[&str]) -> Command {
    let mut command = farside.command(["run", "--quiet", "--prefetch", "none"]);
    command.args(arguments).env("FARSIDE_PRELOAD", library());
    command
}

/// Whether programs can run on far memory here; says why not.
fn far_memory_works(farside: &Farside, test: &str) -> bool {
    let output = run(farside, &["true"]).output().unwrap();
    if !output.status.success() {
        println!("skipped: {test}: no far memory here: {}", stderr(&output).trim_end());
    }
    output.status.success()
}

/// The demand faults of a run, and the last line that the program prints.
fn count(farside: &Farside, policy: &str, size: &str, program: &str) -> (u64, String) {
    let stats = farside.path("stats.json");
    let settings = ["--replacement", policy, "--local", size, "--stats", stats.to_str().unwrap()];
    let output = run(farside, &[&settings[..], &["--", program]].concat()).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let stats: Value = serde_json::from_str(&fs::read_to_string(&stats).unwrap()).unwrap();
    let faults = stats["counters"]["demand_faults"].as_u64().unwrap();
    (faults, stdout(&output).lines().last().unwrap().to_owned())
}

#[test]
fn demand_faults_are_as_foretold() {
    const TEST: &str = "demand_faults_are_as_foretold";
    let farside = Farside::new();
    if !works(TEST) || !far_memory_works(&farside, TEST) {
        return;
    }
    let program = build("heap_work", &[], "tests/programs/heap_work.c");
    let program = program.to_str().unwrap();
    let trace = farside.path("heap_work.fpt");
    let trace = trace.to_str().unwrap();
    let mut capture = farside.command(["capture", "--quiet", "-o", trace, "--", program]);
    let output = capture.env("FARSIDE_PAGETRACE", plugin()).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let printed = stdout(&output).lines().last().unwrap().to_owned();

    let policies = "fifo,second-chance";
    let simulate = ["simulate", trace, "--as-run", "--json", "--replacement", policies];
    let mut simulate = farside.command([&simulate[..], &["--local", &SIZES.join(",")]].concat());
    let output = simulate.output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let foretold: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let foretold = foretold.as_array().unwrap();
    assert_eq!(foretold.len(), 2 * SIZES.len());
    for (row, number) in foretold.iter().zip(0..) {
        let (policy, size) = (row["replacement"].as_str().unwrap(), SIZES[number % SIZES.len()]);
        let (counted, last) = count(&farside, policy, size, program);
        assert_eq!(last, printed, "the program does the same wherever its memory is");
        let foretold = row["demand_faults"].as_u64().unwrap();
        println!("{policy} {size}: {foretold} demand faults foretold, {counted} counted");
        assert!(counted > 5_000, "{policy} {size}: too few to tell anything: {counted}");
        let off = foretold as f64 / counted as f64 - 1.0;
        assert!(off.abs() <= TOLERANCE, "{policy} {size}: {foretold} foretold, {counted} counted");
    }
}
