//! The smallest slice of `farside bench tape`: one program, recorded, planned and run in all ways.

use std::path::Path;
use std::process::{Command, Output};

use farside_exam::{farside, skipped};
use serde_json::Value;

/// Columns of the details that are looked at.
const COLUMNS: [&str; 5] = ["program", "way", "runs", "prefetched_pages", "resident_peak_bytes"];

fn bench(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(farside());
    command.args(["bench", "tape", "--scale", "small", "--programs", "dot_prod", "--json"]);
    command.args(["--repetitions", "1", "--network", "5us,25gbit", "--cache"]).arg(directory);
    command.args(arguments).output().expect("farside starts")
}

/// Whether the program could not be built, which is said.
fn unbuilt(test: &str, output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let why = text.lines().find_map(|line| line.strip_prefix("skipped: dot_prod: "));
    why.inspect(|why| skipped(test, why)).is_some()
}

/// The rows of a file of details, each with what stands in [`COLUMNS`].
fn details(path: &Path) -> Vec<[String; COLUMNS.len()]> {
    let text = std::fs::read_to_string(path).expect("details");
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let place = |name: &str| head.iter().position(|column| *column == name).expect(name);
    let places = COLUMNS.map(place);
    lines.map(|line| places.map(|place| line[place].to_owned())).collect()
}

#[test]
fn programs_follow_tapes_beside_runs_without() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("details.tsv");
    let sections = ["faults", "speed", "bytes"].map(|section| ["--only", section]).concat();
    let arguments = [&sections[..], &["--details", file.to_str().expect("UTF-8")]].concat();
    let output = bench(directory.path(), &arguments);
    if unbuilt("programs_follow_tapes_beside_runs_without", &output) {
        return;
    }
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows");
    let named = |words: &[&str]| {
        let has = |row: &&Value| {
            row["work"].as_str().is_some_and(|w| words.iter().all(|x| w.contains(x)))
        };
        rows.iter().find(has).unwrap_or_else(|| panic!("no row {words:?} in {rows:#?}"))
    };
    let faults = named(&["MIN tape of dot_prod", "30 % local", "5us,25gbit", "no prefetch"]);
    assert_eq!(faults["goal"], "at most 0.001x");
    // Each of the two vectors is read once, and most of both is far then.
    assert!(faults["partner"].as_f64() > Some(5_000.0), "{faults}");
    assert_eq!(named(&["MIN tape of", "20 % local", "a plain run"])["goal"], "at most 1.25x");
    assert_eq!(named(&["geometric mean"])["goal"], "at least 2x faster");
    let bytes = named(&["MIN tape of", "beside LRU tape"]);
    assert!(bytes["ours"].as_f64() > Some(0.0) && bytes["partner"].as_f64() > Some(0.0), "{bytes}");
    named(&["all local", "beside a plain run"]);

    let details = details(&file);
    let ways: Vec<_> = details.iter().map(|row| row[1].as_str()).collect();
    let with = ["MIN tape", "LRU tape", "read-ahead"];
    assert_eq!(ways, [&with[..], &["no prefetch"], &with[..], &["all local", "plain"]].concat());
    for [program, way, runs, prefetched, resident] in &details {
        assert_eq!((program.as_str(), runs.as_str()), ("dot_prod", "1"));
        assert_eq!(prefetched != "0", with.contains(&way.as_str()), "{way}: {prefetched}");
        assert_eq!(resident == "0", way == "plain", "{way}: {resident}");
    }
}

#[test]
fn the_batch_is_swept_into_numbers_and_pictures() {
    let directory = tempfile::tempdir().expect("a directory");
    let swept = directory.path().join("swept");
    let arguments = ["--sweep", swept.to_str().expect("UTF-8"), "--sweep-of", "batch"];
    let output = bench(directory.path(), &arguments);
    if unbuilt("the_batch_is_swept_into_numbers_and_pictures", &output) {
        return;
    }
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(rows[0]["work"].as_str().expect("a row").contains("best batch of"), "{rows}");
    // Seven batches, three ways each.
    assert_eq!(details(&swept.join("batch.tsv")).len(), 21);
    for rule in ["min", "lru"] {
        let picture = swept.join(format!("batch-{rule}-5us-25gbit.svg"));
        let text = std::fs::read_to_string(picture).expect("a picture");
        assert!(text.contains("<svg") && text.contains("batch, pages"), "{text}");
    }
}

#[test]
fn networks_that_make_no_sense_are_refused() {
    let mut command = Command::new(farside());
    let output = command.args(["bench", "tape", "--network", "fast"]).output().expect("starts");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("5us,25gbit"), "{text}");
}
