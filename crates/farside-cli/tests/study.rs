//! `farside study path` at reduced size: from the sources of two programs to tables and pictures.

mod support;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::capture::plugin_sources;
use support::{Farside, assert_refused, code, stderr};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Why the study cannot be done here.
fn missing() -> Option<&'static str> {
    let runs = |name: &str| Command::new(name).arg("--version").output().is_ok();
    if !runs("qemu-x86_64") {
        Some("no qemu-x86_64 here (package qemu-user)")
    } else if !runs("cc") {
        Some("no C compiler here (package gcc)")
    } else {
        None
    }
}

fn plugin(farside: &Farside) -> PathBuf {
    let built = farside.path("farside-pagetrace.so");
    let status = Command::new("cc")
        .args(["-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-o"])
        .arg(&built)
        .args(plugin_sources())
        .status();
    assert!(status.unwrap().success());
    built
}

fn study(farside: &Farside, output: &str, options: &[&str]) -> Command {
    let mut command = farside.command(["study", "path"]);
    command.arg("--work").arg(farside.path("work")).arg("-o").arg(farside.path(output));
    command.args(options).current_dir(root()).env("FARSIDE_PAGETRACE", plugin(farside));
    command
}

/// The cells of a table of tab-separated values, without its header.
fn rows(farside: &Farside, file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(farside.path(file)).unwrap();
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let mut rows: Vec<_> = text.lines().map(cells).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{file}: {text}");
    rows.remove(0);
    rows
}

#[test]
fn two_small_programs_become_tables_and_pictures() {
    let test = "two_small_programs_become_tables_and_pictures";
    if let Some(why) = missing() {
        println!("skipped: {test}: {why}");
        return;
    }
    let farside = Farside::new();
    let small = ["--small", "--programs", "lu_noncontiguous,radix"];
    let output = study(&farside, "out", &small).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));

    let programs = rows(&farside, "out/programs.tsv");
    let names: Vec<_> = programs.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["lu_noncontiguous", "radix"]);
    let number = |text: &String| text.parse::<u64>().unwrap();
    for row in &programs {
        assert!(number(&row[2]) > 10 * number(&row[3]), "accesses past the buffer: {row:?}");
    }
    // The matrix alone has 128 pages.
    assert!((128..300).contains(&number(&programs[0][4])), "{:?}", programs[0]);

    let replacement = rows(&farside, "out/figure-6.tsv");
    assert_eq!(replacement.len(), 2 * 4 * 8);
    for row in replacement {
        assert_eq!(row[4], row[7], "every fault brings one page in: {row:?}");
        let cycles = 3 * number(&programs.iter().find(|one| one[0] == row[0]).unwrap()[2]);
        assert_eq!(number(&row[9]), cycles + 1_000_000 * number(&row[4]), "{row:?}");
    }
    for row in rows(&farside, "out/figure-8.tsv") {
        let prefetched = number(&row[4]) + number(&row[5]);
        assert_eq!(prefetched, number(&row[7]), "pages come by a fault or before: {row:?}");
    }
    let buffers: HashSet<_> =
        rows(&farside, "out/figure-10.tsv").into_iter().map(|row| row[2].clone()).collect();
    assert_eq!(buffers.len(), 9);
    for row in rows(&farside, "out/figure-12.tsv") {
        let share = |at: usize| row[at].parse::<f64>().unwrap();
        assert!(share(2) < share(3), "the hardware costs less than software: {row:?}");
    }
    for figure in [6, 8, 9, 10, 11, 12] {
        let svg = fs::read_to_string(farside.path(&format!("out/figure-{figure}.svg"))).unwrap();
        let whole = svg.starts_with("<svg ") && svg.ends_with("</svg>\n");
        assert!(whole && svg.len() < 60_000, "figure {figure}: {} bytes", svg.len());
    }
    assert!(!farside.path("out/figure-7.tsv").exists(), "its two programs were not studied");
    assert!(!farside.path("out.md").exists(), "a part of the study makes no page");
}

#[test]
fn the_same_traces_give_the_same_numbers() {
    let test = "the_same_traces_give_the_same_numbers";
    if let Some(why) = missing() {
        println!("skipped: {test}: {why}");
        return;
    }
    let farside = Farside::new();
    let cg = ["--small", "--programs", "cg"];
    let first = study(&farside, "a", &cg).output().unwrap();
    assert_eq!(code(&first), Some(0), "{}", stderr(&first));
    // With its trace at hand nothing is built: the source may be gone.
    let mut again = study(&farside, "b", &cg);
    again.args(["--reuse", "--sources", "/nowhere"]);
    let again = again.output().unwrap();
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    for table in ["programs.tsv", "figure-6.tsv", "figure-8.tsv", "figure-11.tsv"] {
        let read = |output: &str| fs::read(farside.path(output).join(table)).unwrap();
        assert_eq!(read("a"), read("b"), "{table}");
    }
}

#[test]
fn a_program_that_is_not_there_is_refused() {
    let farside = Farside::new();
    let refused = |options: &[&str]| {
        let mut command = farside.command(["study", "path", "-o"]);
        command.arg(farside.path("o")).arg("--work").arg(farside.path("w")).args(options);
        command
    };
    assert_refused(refused(&["--programs", "doom"]), 2, &["--programs", "doom", "radix"]);
    let nowhere = ["--small", "--programs", "radix", "--sources", "/nowhere"];
    assert_refused(refused(&nowhere), 2, &["radix.c"]);
}
