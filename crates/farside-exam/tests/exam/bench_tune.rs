//! `farside bench tune` at its smallest.

use std::process::Command;

use farside_exam::{farside, has_program, skipped};
use serde_json::Value;

#[test]
fn the_table_of_tuned_programs_has_its_rows() {
    let test = "the_table_of_tuned_programs_has_its_rows";
    if !has_program(test, "clang-22", "clang-22") {
        return;
    }
    let mut command = Command::new(farside());
    command.args([
        "bench",
        "tune",
        "--scale",
        "small",
        "--only",
        "graph,profiling",
        "--local",
        "20",
        "--iterations",
        "1",
    ]);
    command.args(["--repetitions", "1", "--json"]).env("FARSIDE_BIN", farside());
    let output = command.output().expect("farside starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("no farside-cc") {
        return skipped(test, "no farside-cc beside farside; build it: make compiler");
    }
    let rows: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {said}"));
    let rows = rows.as_array().expect("rows");
    let row = |words: &str| {
        let is_it = |row: &&Value| row["work"].as_str().is_some_and(|work| work.contains(words));
        rows.iter().find(is_it).unwrap_or_else(|| panic!("no row {words}: {rows:#?}\n{said}"))
    };
    assert!(rows.iter().all(|row| row["ours"].is_f64()), "{rows:#?}\n{said}");
    for what in ["steps until within 2% of the best", "steps until the last that was kept"] {
        assert!(
            row(what)["unit"] == "steps" && row(what)["ours"].as_f64() <= Some(1.0),
            "{rows:#?}"
        );
    }
    // Tuning may have found nothing on this machine, which is said.
    let (found, nothing) =
        ("what is sent for ahead, beside lines", "since nothing was found, beside paged");
    let is_nothing = |row: &Value| row["work"].as_str().is_some_and(|work| work.contains(nothing));
    let last = if rows.iter().any(is_nothing) { nothing } else { found };
    assert!(row(last)["partner"].is_f64());
    assert_eq!(row("tuned, beside hints by hand")["goal"], "at least 1x faster");
    for program in
        ["graph traversal", "network simplex", "data-frame queries", "GPT-2 forward pass"]
    {
        for how in ["all local", "20 % local in sections"] {
            let row = row(&format!("{program}, {how}: measuring itself, beside not"));
            assert_eq!(row["goal"], "at most 1.2x");
        }
    }
    // Without swap there is nothing to hold it against, which is said.
    if !said.contains("20 % local: swap") {
        assert_eq!(row("tuned, beside kernel swap")["goal"], "at least 1.2x faster");
        assert_eq!(row("the best of these")["goal"], "at least 18x faster");
    }
}
