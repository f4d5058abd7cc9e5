//! The guide "ten lines to fast", followed literally.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use farside_exam::{compile_with, farside, has_program};
use serde_json::Value;

use super::place::counter;

/// Fewer orders than in the guide, and as much local memory for its customers and products.
const ORDERS: &str = "30000";
const LOCAL: &str = "45M";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// What the guide has its reader change, step by step.
fn changes() -> Vec<String> {
    let guide = fs::read_to_string(root().join("docs/ten-lines-to-fast.md")).expect("the guide");
    let blocks = guide.split("```diff\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect()
}

fn apply(change: &str, directory: &Path) {
    let mut patch = Command::new("patch")
        .args(["--fuzz=0", "-p0"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("patch starts");
    let written = patch.stdin.take().expect("a pipe").write_all(change.as_bytes());
    written.expect("patch reads");
    assert!(patch.wait().expect("patch ends").success(), "{change}");
}

/// Runs the program as it is now under `farside` with a verb; what it prints, and what was written to `file`.
fn run(directory: &Path, verb: &[&str], file: &str) -> (Vec<u8>, Value) {
    let file = directory.join(file);
    let mut command = Command::new(farside());
    command.args(verb).arg(&file).args(["--local", LOCAL, "--"]);
    let output = command.arg(directory.join("invoice")).arg(ORDERS).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&file).expect("it was written");
    (output.stdout, serde_json::from_str(&text).expect("valid JSON"))
}

#[test]
fn the_guide_to_ten_lines_can_be_followed() {
    let test = "the_guide_to_ten_lines_can_be_followed";
    if !has_program(test, "gcc", "gcc") || !has_program(test, "patch", "patch") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = directory.path();
    fs::copy(root().join("examples/invoice.c"), place.join("invoice.c")).expect("room");
    let build = || {
        let mut command = Command::new("gcc");
        command.current_dir(place).args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-I"]);
        let program = ["-o", "invoice", "invoice.c"];
        compile_with(command.arg(root().join("include")).args(program));
    };
    build();
    let plain = Command::new(place.join("invoice")).arg(ORDERS).output().expect("it starts");
    // What the guide says where the faults are, and which hints they deserve.
    let (_, found) = run(place, &["faults", "-q", "--json", "-o"], "faults.json");
    let site = |at: usize| {
        let site = &found["sites"][at];
        (site["function"].as_str(), site["hints"][0]["call"].as_str())
    };
    assert_eq!(site(0), (Some("words_of"), Some("farside_hint(ADDRESS, .size = 12288)")));
    assert_eq!(site(1), (Some("invoice"), Some("farside_hint(ADDRESS, .mut = 1)")));
    let mut faults = Vec::new();
    let measure = |faults: &mut Vec<u64>| {
        let (printed, counted) = run(place, &["run", "-q", "--stats"], "stats.json");
        assert_eq!(printed, plain.stdout);
        faults.push(counter(&counted, "demand_faults"));
    };
    measure(&mut faults);
    for change in changes() {
        apply(&change, place);
        build();
        measure(&mut faults);
    }
    // The last step is about time; the others take faults away.
    assert_eq!(faults.len(), 5, "steps of the guide");
    assert!(faults[..4].is_sorted_by(|before, after| before > after), "{faults:?}");
    assert!(faults[3..].iter().all(|left| left * 100 < faults[0]), "{faults:?}");
    let (_, found) = run(place, &["faults", "-q", "--hints", "--json", "-o"], "hints.json");
    let hints = found["hints"].as_array().expect("hints");
    // The guide has one of them read ahead less, which it does not do itself.
    let in_vain = hints.iter().filter(|hint| !hint["misplaced"].is_null());
    assert!(in_vain.clone().count() <= 1, "{hints:?}");
    assert!(in_vain.into_iter().all(|hint| hint["misplaced"] == "ahead-unused"), "{hints:?}");
}
