//! `farside study pointers` at reduced size: from the sources of programs to tables and pictures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use farside_exam::{farside, has_program};

use crate::has_events;

/// The table with this name, without its header, by program.
fn rows(output: &Path, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(output.join(name)).expect("a table");
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let mut rows: Vec<_> = text.lines().map(cells).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{name}: {text}");
    rows.remove(0);
    rows
}

fn study(work: &Path, output: &Path, programs: &str) -> Command {
    let mut command = Command::new(farside());
    command.args(["study", "pointers", "--small", "--programs", programs]);
    command.arg("--work").arg(work).arg("-o").arg(output);
    command.current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

#[test]
fn programs_become_tables_and_pictures_of_pointers() {
    let test = "programs_become_tables_and_pictures_of_pointers";
    let has = |name, package| has_program(test, name, package);
    if !has_events(test) || !has("cc", "gcc") || !has("sort", "coreutils") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (work, output) = (directory.path().join("work"), directory.path().join("out"));
    let done = study(&work, &output, "array,list,sort").output().expect("farside starts");
    assert!(done.status.success(), "{done:?}");
    let shares = rows(&output, "shares.tsv");
    let names: Vec<_> = shares.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["array", "list", "sort"]);
    let number = |row: &[String], at: usize| row[at].parse::<f64>().expect("a number");
    for row in &shares {
        let [pointer, other, undecided] = [5, 6, 7].map(|at| number(row, at));
        assert!((pointer + other + undecided - 100.0).abs() < 0.2, "{row:?}");
    }
    assert_eq!(number(&shares[0], 5), 0.0, "{shares:?}");
    assert!(number(&shares[1], 5) > 50.0, "{shares:?}");
    let foreseen = rows(&output, "foreseen.tsv");
    let of = |program: &str, prefetcher: &str| {
        let its = foreseen.iter().find(|row| row[0] == program && row[1] == prefetcher);
        its.unwrap_or_else(|| panic!("no {prefetcher} of {program}: {foreseen:?}"))
    };
    assert_eq!(of("array", "linux")[2], "-", "no fault follows a pointer");
    assert!(number(of("array", "linux"), 3) > 80.0, "{foreseen:?}");
    // Half of the walks are in order.
    assert!((20.0..90.0).contains(&number(of("list", "linux"), 2)), "{foreseen:?}");
    let spared = rows(&output, "spared.tsv");
    assert!(number(&spared[1], 2) > number(&spared[1], 1), "a list is followed: {spared:?}");
    for figure in ["shares", "foreseen", "spared"] {
        let svg = fs::read_to_string(output.join(figure).with_extension("svg")).expect("a picture");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{figure}");
    }
    assert!(!output.with_extension("md").exists(), "a part of the study makes no page");
}

#[test]
fn a_program_that_is_not_in_the_study_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let refused = study(&path.join("work"), &path.join("out"), "doom").output().expect("it starts");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("--programs doom") && errors.contains("anneal"), "{errors}");
}
