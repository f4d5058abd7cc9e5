//! The computation that `farside bench tape` times, on traces that can be checked by hand.

mod support;

use std::path::{Path, PathBuf};

use farside_trace::tape::TapeReader;
use farside_trace::{Access, Metadata, PageId, TraceWriter};
use serde_json::{Value, json};
use support::{Farside, code, stderr, stdout};

/// Four pages in turn, three times.
const PAGES: [u64; 12] = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3];

fn trace(farside: &Farside, other: &[(&str, Value)]) -> PathBuf {
    let path = farside.path("turns.fpt");
    let other = other.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let mut writer =
        TraceWriter::create(&path, &Metadata { other, ..Metadata::default() }).unwrap();
    for page in PAGES {
        writer.write(Access::from(PageId(page))).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn plan(farside: &Farside, trace: &Path, more: &[&str]) -> std::process::Output {
    let mut command = farside.command(["bench", "plan"]);
    command.arg(trace).args(["--local", "75"]).args(more).output().unwrap()
}

#[test]
fn plans_fetch_what_the_textbook_says() {
    let farside = Farside::new();
    let trace = trace(&farside, &[("microset", json!(1))]);
    // With room for three of the four, LRU has always just lost what comes next; MIN waits for 2 and 1.
    for (policy, fetched) in [("lru", 8), ("min", 2)] {
        let tape = farside.path("turns.tape");
        let output =
            plan(&farside, &trace, &["--policy", policy, "--tape", tape.to_str().unwrap()]);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let planned: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(planned["records"], 12);
        assert_eq!(planned["pages"], 4);
        assert_eq!(planned["capacity"], 3);
        assert_eq!(planned["fetched"], fetched, "{policy}");
        let reader = TapeReader::open(&tape).unwrap();
        reader.verify().unwrap();
        assert_eq!(reader.info().policy, policy);
        assert_eq!(planned["tape_bytes"], reader.summary().bytes);
        assert_eq!(planned["tape_bytes"], std::fs::metadata(&tape).unwrap().len());
    }
}

#[test]
fn figures_are_not_taken_from_half_a_trace() {
    let farside = Farside::new();
    let trace = trace(&farside, &[("partial", json!(true))]);
    let output = plan(&farside, &trace, &["--policy", "lru"]);
    assert_eq!(code(&output), Some(1));
    assert!(stderr(&output).contains("partial"), "{}", stderr(&output));
}

#[test]
fn a_trace_that_is_not_there_is_named() {
    let farside = Farside::new();
    let output = plan(&farside, &farside.path("none.fpt"), &["--policy", "lru"]);
    assert_eq!(code(&output), Some(1));
    assert!(stderr(&output).contains("none.fpt"), "{}", stderr(&output));
}
