//! `farside bench compile` at its smallest.

use std::process::{Command, Output};

use farside_exam::{farside, has_program, skipped};
use serde_json::Value;

/// The programs that are compiled.
const PROGRAMS: [&str; 6] = [
    "array sum",
    "graph traversal",
    "matrix product",
    "network simplex",
    "data-frame queries",
    "GPT-2 forward pass",
];

/// What the graph is held against at each of its local sizes, and the goal.
const PARTNERS: [(&str, Option<&str>); 4] = [
    ("kernel swap", Some("at least 6x faster")),
    ("paged far memory", Some("at least 4x faster")),
    ("hints by hand", Some("at least 1x faster")),
    ("sections by hand", None),
];

fn bench(arguments: &[&str]) -> (Output, Vec<Value>) {
    let mut command = Command::new(farside());
    command.args(["bench", "compile", "--scale", "small", "--repetitions", "1", "--json"]);
    let output = command.env("FARSIDE_BIN", farside()).args(arguments).output();
    let output = output.expect("farside starts");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|why| {
        panic!("{why}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let rows = rows.as_array().expect("rows").clone();
    (output, rows)
}

/// The row with these words in it.
fn row<'a>(rows: &'a [Value], words: &[&str]) -> Option<&'a Value> {
    let is_it = |row: &&Value| {
        row["work"].as_str().is_some_and(|work| words.iter().all(|word| work.contains(word)))
    };
    rows.iter().find(is_it)
}

/// Insists on a row that has both figures, of whatever size.
fn measured<'a>(rows: &'a [Value], words: &[&str], goal: Option<&str>) -> &'a Value {
    let row = row(rows, words).unwrap_or_else(|| panic!("no row {words:?} in {rows:#?}"));
    assert!(row["ours"].is_f64() && row["partner"].is_f64(), "{row}");
    assert_eq!(row["goal"].as_str(), goal, "{row}");
    row
}

#[test]
fn the_table_of_compiled_programs_has_all_its_rows() {
    let test = "the_table_of_compiled_programs_has_all_its_rows";
    if !has_program(test, "clang-22", "clang-22") {
        return;
    }
    let (output, rows) = bench(&[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    // Without the compiler there is no row at all.
    if let Some(why) = errors.lines().find_map(|line| line.strip_prefix("skipped: compile: ")) {
        assert!(rows.is_empty() && why.contains("make compiler"), "{why}");
        skipped(test, why);
        return;
    }
    // Outputs that differ, and sections that are not used, make a row fail, and the command with it.
    assert!(output.status.success(), "{errors} {rows:#?}");
    for program in PROGRAMS {
        measured(&rows, &[program, "all local"], None);
        measured(&rows, &["compiling", program], None);
    }
    measured(&rows, &["the median of these"], Some("at most 1.05x"));
    measured(&rows, &["the worst of these"], Some("at most 1.15x"));
    measured(&rows, &["the geometric mean of these"], Some("at most 3x"));
    for local in ["10 %", "20 %", "30 %", "40 %", "50 %"] {
        for (partner, goal) in PARTNERS {
            let words = ["graph traversal", local, "beside", partner];
            if partner == "kernel swap" && errors.contains("kernel swap cannot be set up here") {
                skipped(test, "kernel swap cannot be set up here");
            } else {
                measured(&rows, &words, goal);
            }
        }
    }
    // What can be counted, at this size too: short lines move less than pages, and a loop holds lines of edges.
    let moved = measured(&rows, &["bytes moved", "lines of a page"], Some("at most 0.2x"));
    let figure = |name: &str| moved[name].as_f64().expect("a figure");
    assert!(figure("ours") * 2.0 < figure("partner"), "{moved}");
    measured(&rows, &["bytes moved", "paged memory"], None);
    measured(&rows, &["lookups of nodes"], Some("at most 1x"));
    let held = measured(&rows, &["lookups of edges"], Some("at most 1x"));
    assert_eq!(held["met"], true, "{held}");
    for structure in ["direct", "sets of 2"] {
        let row = row(&rows, &["besides what they hold", structure]).expect("a row");
        assert!(row["ours"].as_f64().is_some_and(|part| part > 4.0), "{row}");
    }
}

#[test]
fn without_the_compiler_it_is_said_how_to_get_it() {
    let (output, rows) = bench(&["--farside-cc", "/nowhere/farside-cc"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("skipped: compile: there is no compiler /nowhere/farside-cc"),
        "{errors}"
    );
    assert!(output.status.success() && rows.is_empty(), "{rows:#?}");
}
