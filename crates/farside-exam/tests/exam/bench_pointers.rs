//! `farside bench pointers` at its smallest.

use std::path::Path;
use std::process::{Command, Output};

use farside_exam::{farside, has_program, skipped};
use serde_json::Value;

/// Rows that there have to be: words of each, its unit, and its goal.
const ROWS: [(&[&str], &str, Option<&str>); 30] = [
    (&["scan cost", "full of pointers", "paper: 7 us"], "us", Some("under 0.15 us")),
    (&["scan cost", "of numbers"], "us", Some("under 0.15 us")),
    (&["scan cost", "random list"], "us", Some("under 0.15 us")),
    (&["random list", "no work: coverage", "2.07 % -> 50.12 %"], "%", Some("at least 95 %")),
    (&["random list", "no work: demand faults", "0.54x"], "faults", Some("at most 0.06x")),
    (&["random list", "no work: run time", "1.0x"], "ms", Some("at most 0.8x")),
    (&["random list", "1 us of work per node: demand"], "faults", Some("at most 0.06x")),
    (&["random list", "1 us of work per node: run time"], "ms", Some("at most 0.5x")),
    (&["sequential list", "coverage", "94.5 % -> 50.2 %"], "%", Some("at least 1x")),
    (&["sequential list", ": demand faults", "9.3x"], "faults", None),
    (&["sequential list", "run time"], "ms", Some("at most 1x")),
    (&["64-byte nodes", "all shuffled", "coverage"], "%", None),
    (&["64-byte nodes", "all shuffled", ": demand faults"], "faults", Some("at most 0.25x")),
    (&["64-byte nodes", "all shuffled", "run time"], "ms", None),
    (&["64-byte nodes", "pages shuffled", "coverage"], "%", None),
    (&["64-byte nodes", "pages shuffled", ": demand faults"], "faults", Some("at most 0.25x")),
    (&["64-byte nodes", "pages shuffled", "run time"], "ms", None),
    (&["annealing", "coverage", "6.47 % -> 19.39 %"], "%", Some("at least 40 %")),
    (&["annealing", ": demand faults", "1.08x"], "faults", Some("at most 0.75x")),
    (&["annealing", "prefetched pages", "10 %"], "%", Some("at least 50 %")),
    (&["annealing", "run time"], "ms", None),
    (&["search", "rows", "25 % local", "coverage", "62 % -> 70 %"], "%", Some("at least 80 %")),
    (&["search", "rows", ": demand faults", "0.95x"], "faults", Some("at most 0.6x")),
    (&["search", "rows", "run time"], "ms", None),
    (&["search", "objects", "25 % local", "coverage"], "%", Some("at least 80 %")),
    (&["search", "objects", ": demand faults", "0.95x"], "faults", Some("at most 0.6x")),
    (&["search", "objects", "run time"], "ms", None),
    (&["redis LRANGE", "run time", "future work"], "ms", Some("at most 0.7x")),
    (&["array", "run time beside the best other"], "ms", Some("at most 1.02x")),
    (&["hash table", "run time beside the best other"], "ms", Some("at most 1.02x")),
];

fn bench(farside_to_measure: &str, cache: &Path, arguments: &[&str]) -> (Output, Vec<Value>) {
    let mut command = Command::new(farside());
    command.args(["bench", "pointers", "--scale", "small", "--repetitions", "1", "--json"]);
    command.env("FARSIDE_BIN", farside_to_measure).arg("--cache").arg(cache).args(arguments);
    let output = command.output().expect("farside starts");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|why| {
        panic!("{why}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let rows = rows.as_array().expect("rows").clone();
    (output, rows)
}

fn is_about(row: &Value, words: &[&str]) -> bool {
    row["work"].as_str().is_some_and(|work| words.iter().all(|word| work.contains(word)))
}

#[test]
fn the_table_of_pointers_has_all_its_rows() {
    let test = "the_table_of_pointers_has_all_its_rows";
    if !has_program(test, "gcc", "gcc") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("details.tsv");
    let details = ["--details", file.to_str().expect("UTF-8")];
    let own = farside();
    let (output, rows) = bench(own.to_str().expect("UTF-8"), directory.path(), &details);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors} {rows:#?}");
    for (words, unit, goal) in ROWS {
        let Some(row) = rows.iter().find(|row| is_about(row, words)) else {
            assert!(errors.contains("skipped: redis LRANGE"), "no row {words:?} in {rows:#?}");
            assert!(words[0].starts_with("redis"), "no row {words:?} in {rows:#?}");
            skipped(test, "redis-server is not installed: apt-get install redis-server");
            continue;
        };
        assert_eq!((row["unit"].as_str(), row["goal"].as_str()), (Some(unit), goal), "{row}");
        assert!(row["ours"].is_f64() && row["partner"].is_f64(), "{row}");
        assert_eq!(row["met"].is_boolean(), goal.is_some(), "{row}");
        assert_eq!(row.as_object().expect("an object").len(), 7, "{row}");
    }
    // What can be counted, at this size too: nearly all of a list is foreseen, and nothing of it by read-ahead.
    let figures = |words: &[&str]| {
        let row = rows.iter().find(|row| is_about(row, words)).expect("a row");
        (row["ours"].as_f64().expect("a figure"), row["partner"].as_f64().expect("a figure"))
    };
    let (ours, partner) = figures(&["random list", "no work: coverage"]);
    assert!(ours > 80.0 && partner < 50.0, "{ours} % beside {partner} %");
    let (ours, partner) = figures(&["random list", "no work: demand faults"]);
    assert!(partner > 1000.0 && ours < partner / 4.0, "{ours} faults beside {partner}");
    let text = std::fs::read_to_string(&file).expect("details");
    for prefetch in ["none", "linux", "leap", "pointer"] {
        let is_it = |line: &&str| line.split('\t').nth(2) == Some(prefetch);
        assert!(text.lines().filter(is_it).count() >= 10, "{prefetch}: {text}");
    }
}

#[test]
fn a_program_that_fails_takes_no_row_from_the_table() {
    if !has_program("a_program_that_fails_takes_no_row_from_the_table", "gcc", "gcc") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let only = ["--only", "scan,sequential,nothing"];
    let (output, rows) = bench("/bin/false", directory.path(), &only);
    assert_eq!(output.status.code(), Some(1));
    let (failed, measured): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| is_about(row, &[": failed: ", "ended with code 1"]));
    assert_eq!((measured.len(), failed.len()), (3, 5), "{rows:#?}");
    for row in failed {
        assert!(row["ours"].is_null() && row["met"] != true, "{row}");
    }
}
