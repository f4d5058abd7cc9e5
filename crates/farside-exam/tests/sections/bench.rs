//! `farside bench sections` at its smallest.

use std::process::Command;

use farside_exam::{farside, has_program};
use serde_json::Value;

#[test]
fn the_table_of_sections_has_all_its_rows() {
    if !has_program("the_table_of_sections_has_all_its_rows", "gcc", "gcc") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(farside());
    command.args(["bench", "sections", "--scale", "small", "--repetitions", "1", "--json"]);
    command.env("FARSIDE_BIN", farside()).arg("--cache").arg(directory.path());
    let output = command.output().expect("farside starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|why| {
        panic!("{why}: {errors}");
    });
    let rows = rows.as_array().expect("rows");
    // What is not the same with sections as without makes a row fail, and the command with it.
    assert!(output.status.success(), "{errors} {rows:#?}");
    let figures = |words: &[&str]| -> [f64; 2] {
        let is_it = |row: &&Value| {
            row["work"].as_str().is_some_and(|work| words.iter().all(|word| work.contains(word)))
        };
        let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("no {words:?} in {rows:#?}"));
        ["ours", "partner"].map(|name| row[name].as_f64().unwrap_or_else(|| panic!("{row}")))
    };
    for structure in ["direct", "sets of 2", "sets of 16", "anywhere", "at run time"] {
        for size in ["1 MiB", "8 MiB"] {
            figures(&["that is here", size, structure, "plain load"]);
        }
    }
    let lines =
        ["64 B", "128 B", "256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "2 MiB"];
    for line in lines {
        for how in ["waited for", "sent for ahead"] {
            let line = format!("lines of {line}");
            figures(&["here and there", how, &line, "beside paged memory"]);
            figures(&["here and there", how, &line, "moved for each"]);
        }
    }
    // What can be counted: the shortest lines move less than pages, and the longest ones more.
    let [ours, paged] = figures(&["waited for", "lines of 128 B", "moved"]);
    assert!(ours < paged, "{ours} bytes beside {paged}");
    let [longest, _] = figures(&["waited for", "lines of 2 MiB", "moved"]);
    assert!(longest > ours, "{longest} bytes beside {ours}");
}
