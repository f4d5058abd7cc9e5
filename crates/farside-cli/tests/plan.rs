//! `farside plan` on traces that can be checked by hand.

mod support;

use std::fs;
use std::path::Path;

use farside_trace::tape::{StepKind, TapeReader};
use farside_trace::{Access, Mapping, Metadata, PageId, PageRange, TraceWriter};
use serde_json::{Value, json};
use support::{Farside, assert_refused, code, stderr, stdout};

/// What `farside record` says of a program.
fn metadata(microset: Value) -> Metadata {
    Metadata {
        program: Some("loop".into()),
        arguments: vec!["-n".into(), "3".into()],
        tool: Some("farside record".into()),
        merged: true,
        other: [("microset".to_owned(), microset), ("build_id".to_owned(), json!("00ff"))].into(),
        ..Metadata::default()
    }
}

fn access(thread: u32, page: u64) -> Access {
    Access { page: PageId(page), write: false, thread, weight: 1 }
}

/// A trace of three rounds through a region of ten pages, which lies 100 pages into the far region.
fn circle(farside: &Farside, name: &str) -> String {
    let path = farside.path(name);
    let mut trace = TraceWriter::create(&path, &metadata(json!(1))).unwrap();
    let name = "far:00000000000000aa:7+0".to_owned();
    trace.map(Mapping { first: PageId(100), count: 10, name }).unwrap();
    for page in (0..3).flat_map(|_| 100..110) {
        trace.write(access(0, page)).unwrap();
    }
    trace.finish().unwrap();
    text(&path)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn json_of(farside: &Farside, arguments: &[&str]) -> Value {
    let output = farside.command([&["plan", "--json"], arguments].concat()).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "quiet in a pipe");
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// Fetches, touches and evictions of each tape.
fn counts(found: &Value) -> Vec<[u64; 3]> {
    let tapes = found["tapes"].as_array().unwrap().iter();
    tapes.map(|t| ["fetches", "touches", "evictions"].map(|key| t[key].as_u64().unwrap())).collect()
}

#[test]
fn a_loop_is_planned_by_both_rules() {
    let farside = Farside::new();
    let trace = circle(&farside, "loop.fpt");
    // Two pages less than local are planned for: 8, 6 and 2, and 10 that are enough.
    let sizes = ["--local", "10p,80%,16K,120%", "--lookahead", "1", "--batch", "1"];
    let found = json_of(&farside, &[&[trace.as_str()], &sizes[..]].concat());
    assert_eq!(
        (&found["records"], &found["threads"], &found["pages"], &found["peak_pages"]),
        (&30.into(), &1.into(), &10.into(), &10.into())
    );
    assert_eq!((&found["policy"], &found["microset"]), (&"min".into(), &1.into()));
    // Belady's rule misses 18 times in three rounds with six pages, 27 times with two; the ten first uses
    // fetch nothing.
    assert_eq!(counts(&found), [[4, 10, 6], [8, 10, 12], [17, 10, 25], [0, 10, 0]]);
    let tape = &found["tapes"][1];
    assert_eq!((&tape["local_pages"], &tape["capacity_pages"]), (&8.into(), &6.into()));
    assert_eq!(tape["fetched_bytes"], 8 * 4096);
    let bytes = fs::metadata(tape["tape"].as_str().unwrap()).unwrap().len();
    assert_eq!(tape["tape_bytes"], bytes);
    assert_eq!(tape["tape_bytes_per_fetch"], bytes as f64 / 8.0);
    assert_eq!(found["tapes"][3]["tape_bytes_per_fetch"], Value::Null);
    // What was used longest ago is what is used next in a loop.
    let lru = json_of(&farside, &[&[trace.as_str(), "--policy", "lru"], &sizes[..]].concat());
    assert_eq!(counts(&lru), [[20, 10, 22], [20, 10, 24], [20, 10, 28], [0, 10, 0]]);
}

#[test]
fn a_tape_says_what_it_was_planned_for() {
    let farside = Farside::new();
    let trace = circle(&farside, "loop.fpt");
    let tape = text(&farside.path("here.tape"));
    let output = farside
        .command(["plan", &trace, "--local", "8p", "--lookahead", "1", "--batch", "1", "-o", &tape])
        .output()
        .unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
    let table = stdout(&output);
    for word in ["30 pages", "1 thread", "40 KiB", "min", "32 KiB", "24 KiB", "12", "here.tape"] {
        assert!(table.contains(word), "no {word:?} in {table}");
    }
    let tape = TapeReader::open(&tape).unwrap();
    tape.verify().unwrap();
    let info = tape.info();
    assert_eq!(
        (info.program.as_deref(), &info.arguments[..]),
        (Some("loop"), &["-n".into(), "3".into()][..])
    );
    assert_eq!((info.build_id.as_deref(), info.policy.as_str()), (Some("00ff"), "min"));
    assert_eq!((info.local_pages, info.capacity, info.microset, info.threads), (8, 6, 1, 1));
    assert_eq!(info.other["lookahead"], 1);
    assert_eq!(info.other.get("partial"), None);
    let region = tape.regions()[0];
    assert_eq!((tape.regions().len(), region.site, region.nth, region.count), (1, 0xaa, 7, 10));
    let steps: Vec<_> = tape.steps(0).map(Result::unwrap).collect();
    let kept = steps.iter().filter(|step| step.kind != StepKind::Evict);
    let pages: Vec<_> = kept.map(|step| step.page.0 - region.first.0).collect();
    assert_eq!(pages, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7, 8, 4, 5, 6, 7]);
}

#[test]
fn threads_have_equal_shares_and_freed_memory_costs_nothing() {
    let farside = Farside::new();
    let path = farside.path("threads.fpt");
    let mut trace = TraceWriter::create(&path, &metadata(json!(1))).unwrap();
    let name = |site: u32| format!("far:{site:016x}:0+0");
    trace.map(Mapping { first: PageId(0), count: 4, name: name(1) }).unwrap();
    trace.map(Mapping { first: PageId(50), count: 4, name: name(2) }).unwrap();
    for _ in 0..2 {
        (0..4).for_each(|page| trace.write(access(0, page)).unwrap());
        (50..54).for_each(|page| trace.write(access(3, page)).unwrap());
        // The second region is given back, and comes again.
        trace.unmap(PageRange::new(PageId(50), 4)).unwrap();
        trace.map(Mapping { first: PageId(50), count: 4, name: name(2) }).unwrap();
    }
    trace.finish().unwrap();
    let path = text(&path);
    let small = ["--lookahead", "1", "--batch", "1"];
    let found = json_of(&farside, &[&[path.as_str(), "--local", "100%"], &small[..]].concat());
    assert_eq!((&found["threads"], &found["peak_pages"]), (&2.into(), &8.into()));
    // Six pages: three for each thread.
    assert_eq!(found["tapes"][0]["capacity_pages"], 6);
    let tape = TapeReader::open(found["tapes"][0]["tape"].as_str().unwrap()).unwrap();
    let threads = &tape.summary().threads;
    // Belady keeps three of four pages until they come again.
    assert_eq!((threads[&0].touches, threads[&0].fetches), (4, 1));
    assert_eq!((threads[&3].touches, threads[&3].fetches), (8, 0));
    let alone = farside.command(["plan", &path, "--local", "1p"]);
    assert_refused(alone, 2, &["threads.fpt", "1 pages for 2 threads", "more memory"]);
}

#[test]
fn never_less_than_a_quarter_is_planned_for() {
    let farside = Farside::new();
    let trace = circle(&farside, "loop.fpt");
    let found = json_of(&farside, &[&trace, "--local", "2M,666p,667p,1p"]);
    let capacities = found["tapes"].as_array().unwrap().iter().map(|t| &t["capacity_pages"]);
    assert_eq!(capacities.collect::<Vec<_>>(), [128, 167, 167, 1]);
    let found = json_of(&farside, &[&trace, "--local", "4M"]);
    assert_eq!(found["tapes"][0]["capacity_pages"], 524);
}

#[test]
fn tapes_are_named_after_trace_and_size() {
    let farside = Farside::new();
    let trace = circle(&farside, "loop.fpt");
    let names = |arguments: &[&str]| -> Vec<String> {
        let found = json_of(&farside, &[&[trace.as_str()], arguments].concat());
        let tapes = found["tapes"].as_array().unwrap().iter();
        let tapes = tapes.map(|tape| farside.path(tape["tape"].as_str().unwrap()));
        tapes
            .map(|tape| {
                assert!(TapeReader::open(&tape).is_ok());
                text(tape.strip_prefix(farside.path("")).unwrap())
            })
            .collect()
    };
    assert_eq!(names(&[]), ["loop.tape"]);
    assert_eq!(names(&["--local", "50%,1.5 MiB"]), ["loop-50pct.tape", "loop-1.5MiB.tape"]);
    let folder = text(&farside.path("new/folder"));
    assert_eq!(
        names(&["--local", "5p,6p", "-o", &folder]),
        ["new/folder/loop-5p.tape", "new/folder/loop-6p.tape"]
    );
    assert_eq!(names(&["--local", "5p", "-o", &folder]), ["new/folder/loop.tape"]);
    let pattern = text(&farside.path("a-%-b.tape"));
    assert_eq!(names(&["--local", "5p,20%", "-o", &pattern]), ["a-5p-b.tape", "a-20pct-b.tape"]);
    assert_eq!(names(&["--local", "20%", "-o", &pattern]), ["a-20pct-b.tape"]);
}

#[test]
fn what_is_no_recording_is_planned_with_a_warning() {
    let farside = Farside::new();
    let list = farside.path("list.txt");
    fs::write(&list, "1\n2\n3\n").unwrap();
    let output = farside.command(["plan", &text(&list)]).output().unwrap();
    assert_eq!(code(&output), Some(0));
    assert!(stderr(&output).contains("not from 'farside record'"), "{}", stderr(&output));
    let output = farside.command(["plan", "-q", &text(&list)]).output().unwrap();
    assert_eq!(
        (code(&output), stdout(&output), stderr(&output)),
        (Some(0), String::new(), String::new())
    );
}

#[test]
fn a_trace_without_its_end_makes_a_tape_that_says_so() {
    let farside = Farside::new();
    let trace = circle(&farside, "loop.fpt");
    let bytes = fs::read(&trace).unwrap();
    // The index is lost with the last bytes.
    fs::write(&trace, &bytes[..bytes.len() - 3]).unwrap();
    let output = farside.command(["plan", "--json", &trace]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&found["partial"], &found["records"]), (&true.into(), &30.into()));
    assert_eq!(stderr(&output).lines().count(), 1, "told once, though read twice");
    let tape = TapeReader::open(farside.path("loop.tape")).unwrap();
    assert_eq!(tape.info().other["partial"], true);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_no_tape() {
    let farside = Farside::new();
    let good = circle(&farside, "good.fpt");
    let empty = text(&farside.path("empty.txt"));
    fs::write(&empty, "# nothing\n").unwrap();
    let odd = text(&farside.path("odd.fpt"));
    TraceWriter::create(&odd, &metadata(json!("lots"))).unwrap().finish().unwrap();
    let none = text(&farside.path("none.fpt"));
    TraceWriter::create(&none, &metadata(json!(0))).unwrap().finish().unwrap();
    let nowhere = text(&farside.path("no/such/folder/x.tape"));
    let file = text(&farside.path("empty.txt"));
    for (arguments, words) in [
        (vec![], vec!["TRACE"]),
        (vec!["/no/such.fpt"], vec!["/no/such.fpt"]),
        (vec![&good, "--local", "lots"], vec!["lots", "1000p"]),
        (vec![&good, "--local", "0%"], vec!["0%"]),
        (vec![&good, "--local", "5p,5p"], vec!["same name", "good-5p.tape"]),
        (vec![&good, "--policy", "clock"], vec!["clock", "min and lru"]),
        (vec![&good, "--lookahead", "0"], vec!["--lookahead", "0"]),
        (vec![&good, "--batch", "x"], vec!["--batch", "x"]),
        (vec![&good, "-o", &good], vec!["good.fpt", "that is the input"]),
        (vec![&good, "-o", &nowhere], vec!["no/such/folder/x.tape"]),
        (vec![&good, "--local", "5p,6p", "-o", &file], vec!["empty.txt", "several sizes"]),
        (vec![&empty], vec!["empty.txt", "no accesses"]),
        (vec![&odd], vec!["odd.fpt", "microset", "lots"]),
        (vec![&none], vec!["none.fpt", "microset of 0"]),
    ] {
        assert_refused(farside.command([&["plan"], &arguments[..]].concat()), 2, &words);
    }
    let files = fs::read_dir(farside.path("")).unwrap();
    let names: Vec<_> = files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains(".tape")), "{names:?}");
}

#[test]
fn a_full_disk_is_told_and_leaves_no_tape() {
    let farside = Farside::new();
    let list = farside.path("jumps.txt");
    let mut state = 1_u64;
    let mut page = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{}\n", state >> 50)
    };
    fs::write(&list, (0..300_000).map(|_| page()).collect::<String>()).unwrap();
    let tape = farside.path("jumps.tape");
    fs::write(&tape, "what was there").unwrap();
    for policy in ["min", "lru"] {
        // No file may become longer than 64 KiB.
        let script = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";
        let plan =
            farside.command(["plan", "-q", "--policy", policy, "--local", "100p", &text(&list)]);
        let mut command = std::process::Command::new("bash");
        command.args(["-c", script, "bash"]).arg(plan.get_program()).args(plan.get_args());
        assert_refused(command, 125, &["jumps.tape", "cannot write"]);
        assert_eq!(fs::read(&tape).unwrap(), b"what was there");
        let files = fs::read_dir(farside.path("")).unwrap();
        assert!(
            !files.map(|f| f.unwrap().file_name()).any(|f| text(f.as_ref()).ends_with("draft"))
        );
    }
}
