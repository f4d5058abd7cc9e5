//! `farside analyze`, `simulate` and `path` on traces that can be checked by hand.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::{Farside, assert_refused, code, stderr, stdout};

/// Belady's example: five pages, twelve references.
const BELADY: &str = "# a comment\n1\n2\n3\n4\n1\n2\n5\n1\n2\n3\n4\n5\n";

fn trace(farside: &Farside) -> PathBuf {
    let path = farside.path("belady.txt");
    fs::write(&path, BELADY).unwrap();
    path
}

fn json(farside: &Farside, arguments: &[&str]) -> Value {
    let output = farside.command(arguments).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "quiet in a pipe");
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn simulations_have_the_textbook_misses() {
    let farside = Farside::new();
    let trace = trace(&farside);
    let trace = trace.to_str().unwrap();
    let policies = "fifo,lru,opt";
    let found = json(
        &farside,
        &["simulate", trace, "--replacement", policies, "--local", "3p,4p", "--json"],
    );
    let misses: Vec<_> =
        found.as_array().unwrap().iter().map(|row| row["misses"].as_u64()).collect();
    assert_eq!(misses, [9, 10, 10, 8, 7, 6].map(Some), "FIFO misses more with more memory");
    for row in found.as_array().unwrap() {
        assert_eq!(row["trace"], trace);
        assert_eq!(row["prefetch"], "none");
        assert_eq!(row["accesses"], 12);
        for key in ["prefetched", "prefetch_used", "prefetch_late"] {
            assert_eq!(row[key], 0, "{key}");
        }
        assert!(row["projected_time_ns"].as_u64().unwrap() > 0);
    }
    // A share of the footprint, and bytes.
    let same = json(&farside, &["simulate", trace, "--local", "60%,12K", "--json"]);
    assert_eq!(same[0]["local_pages"], 3);
    assert_eq!(same[1]["local_pages"], 3);
    // More memory than there is anywhere is as good as enough.
    let policies = "lru,2q,arc,lirs,clock-pro,s3-fifo,eden,region,opt";
    let huge =
        ["simulate", trace, "--replacement", policies, "--local", "1000000000000p", "--json"];
    for row in json(&farside, &huge).as_array().unwrap() {
        assert_eq!(row["misses"], 5, "{row}");
        assert_eq!(row["local_pages"], 1_000_000_000_000u64);
    }
}

/// Turns through nine pages with room for eight: 1 is the page that has to be waited for. (Which pages are
/// fetched is said where the simulation is tested.)
#[test]
fn the_tape_knows_what_comes() {
    let farside = Farside::new();
    let path = farside.path("loop.txt");
    let pages: String = (0..27).map(|i| format!("{}\n", 1 + i % 9)).collect();
    fs::write(&path, pages).unwrap();
    let arguments =
        ["simulate", path.to_str().unwrap(), "--prefetch", "none,tape", "--local", "8p", "--json"];
    // Work for each access takes longer than a fetch.
    let slow = [&arguments[..], &["--access-ns", "50000", "--readahead", "2"]].concat();
    let found = json(&farside, &slow);
    let counts = |row: usize| {
        ["misses", "demand_faults", "prefetched", "prefetch_used", "prefetch_late"]
            .map(|key| found[row][key].as_u64().unwrap())
    };
    assert_eq!(found[1]["prefetch"], "tape");
    assert_eq!(counts(0), [27, 18, 0, 0, 0]);
    assert_eq!(counts(1), [10, 1, 11, 11, 0]);
    // Behind PATH's hardware, with any policy that does not know the future itself.
    let behind = [&arguments[..], &["--replacement", "arc,region", "--pab", "64"]].concat();
    for row in json(&farside, &behind).as_array().unwrap() {
        let count = |key: &str| row[key].as_u64().unwrap();
        assert_eq!(count("accesses"), 27);
        assert_eq!(count("prefetched") > 0, row["prefetch"] == "tape", "{row}");
    }
    let help = farside.command(["simulate", "--help"]).output().unwrap();
    for name in ["tape", "proximity", "clock-pro", "opt-bypass"] {
        assert!(stdout(&help).contains(name), "no {name} in --help");
    }
}

#[test]
fn the_analysis_has_exact_curves() {
    let farside = Farside::new();
    let trace = trace(&farside);
    let found = json(&farside, &["analyze", trace.to_str().unwrap(), "--json"]);
    assert_eq!(found["footprint_pages"], 5);
    let curve = |name: &str| found["curves"][name].to_string();
    assert_eq!(curve("lru"), "[[0,12],[3,10],[4,8],[5,5]]");
    assert_eq!(curve("opt"), "[[0,12],[2,9],[3,7],[4,6],[5,5]]");
    let output = farside.command(["analyze", trace.to_str().unwrap()]).output().unwrap();
    let page = stdout(&output);
    for word in ["footprint", "policy", "slower", "tape, which knows"] {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
}

#[test]
fn a_sampled_curve_tells_its_error() {
    let farside = Farside::new();
    let path = farside.path("skewed.u64");
    let pages = farside_trace::synthetic::zipf(200_000, 20_000, 7);
    fs::write(&path, pages.flat_map(|page| page.0.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let trace = path.to_str().unwrap();
    let exact = json(&farside, &["analyze", trace, "--quick", "--json"]);
    assert_eq!(exact["lru_sample"], Value::Null);
    let found = json(&farside, &["analyze", trace, "--quick", "--sample", "20%", "--json"]);
    let curve = |found: &Value| -> Vec<(u64, f64)> {
        let steps = found["curves"]["lru"].as_array().unwrap().clone();
        let step = |step: Value| (step[0].as_u64().unwrap(), step[1].as_f64().unwrap());
        steps.into_iter().map(step).collect()
    };
    let (exact_curve, sampled) = (curve(&exact), curve(&found));
    let least = |curve: &[(u64, f64)]| curve.last().map(|(_, misses)| *misses);
    assert_eq!(least(&sampled), least(&exact_curve), "first touches are known");
    let at = |pages: u64| {
        let behind = exact_curve.partition_point(|(size, _)| *size <= pages);
        exact_curve[behind - 1].1
    };
    let apart: f64 = sampled.iter().map(|(pages, misses)| (misses - at(*pages)).abs()).sum();
    let apart = apart / sampled.len() as f64 / 200_000.0;
    let told = found["lru_sample"]["mean_error"].as_f64().unwrap();
    assert!(apart < 0.02 && told < 0.02, "{apart} {told}");
    assert!(apart < 4.0 * told, "the error that is told has to do with the real one");
    assert_eq!(found["lru_sample"]["share"], 0.2);
    for bad in ["0", "150%", "-1", "x"] {
        let command = farside.command(["analyze", trace, &format!("--sample={bad}")]);
        assert_refused(command, 2, &["--sample", "not a share of the pages"]);
    }
}

#[test]
fn a_curve_from_so_many_pages_tells_its_error() {
    let farside = Farside::new();
    let path = farside.path("few.u64");
    let pages = farside_trace::synthetic::zipf(20_000, 3000, 7);
    fs::write(&path, pages.flat_map(|page| page.0.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let trace = path.to_str().unwrap();
    let analyzed =
        |more: &[&str]| json(&farside, &[&["analyze", trace, "--quick", "--json"], more].concat());
    let exact = analyzed(&[]);
    let footprint = exact["footprint_pages"].as_u64().unwrap();
    let found = analyzed(&["--sample", "1000p"]);
    let sample = &found["lru_sample"];
    assert_eq!((&sample["pages"], &sample["most_pages"]), (&1000.into(), &1000.into()));
    let share = 1000.0 / footprint as f64;
    assert!((sample["share"].as_f64().unwrap() / share - 1.0).abs() < 0.2, "{share} {sample}");
    assert!((1e-4..0.05).contains(&sample["mean_error"].as_f64().unwrap()));
    // All pages fit: exact at every size that is told.
    let found = analyzed(&["--sample", "30000P"]);
    assert_eq!(found["lru_sample"]["mean_error"], 0.0);
    let steps = |found: &Value| found["curves"]["lru"].as_array().unwrap().clone();
    let exact = steps(&exact);
    let told = steps(&found);
    assert!(told.len() > 500);
    for step in told {
        let size = step[0].as_u64().unwrap();
        let behind = exact.partition_point(|exact| exact[0].as_u64().unwrap() <= size);
        assert_eq!(step[1], exact[behind - 1][1], "{size} pages");
    }
    let output = farside.command(["analyze", trace, "--quick", "--sample=1000p"]).output().unwrap();
    assert!(stdout(&output).contains("from 1,000 pages, "), "{}", stdout(&output));
    for bad in ["0p", "-1p", "1.5p", "p", "9999999999p"] {
        let command = farside.command(["analyze", trace, &format!("--sample={bad}")]);
        assert_refused(command, 2, &["--sample", "not a number of pages"]);
    }
}

#[test]
fn the_hardware_counts_what_it_records() {
    let farside = Farside::new();
    let trace = trace(&farside);
    let path = ["path", trace.to_str().unwrap(), "--pab", "2", "--ways", "1", "--filter", "0"];
    let found = json(&farside, &[&path[..], &["--pal", "4", "--json"]].concat());
    // Even pages share one entry, odd ones the other: only the second 2 in a row among the even ones is
    // found.
    assert_eq!(found["pab_misses"], 11);
    assert_eq!(found["recorded"], 11);
    assert_eq!(found["overflows"], 2);
}

#[test]
fn bad_traces_and_sizes_are_refused() {
    let farside = Farside::new();
    let good = trace(&farside);
    let good = good.to_str().unwrap();
    let bad = farside.path("bad.txt");
    fs::write(&bad, "1\n2\nthree\n").unwrap();
    let stray = farside.path("stray.u64");
    fs::write(&stray, [0; 13]).unwrap();
    for (arguments, words) in [
        (vec!["analyze", "/no/such/trace.txt"], vec!["/no/such/trace.txt"]),
        (vec!["analyze", bad.to_str().unwrap()], vec!["bad.txt", "3"]),
        (vec!["simulate", stray.to_str().unwrap(), "--local", "1p"], vec!["stray.u64", "8"]),
        (vec!["simulate", good, "--local", "much"], vec!["much", "1000p"]),
        (vec!["simulate", good, "--replacement", "best"], vec!["best", "lirs"]),
        (vec!["simulate", good, "--prefetch", "all"], vec!["all", "readahead", "tape"]),
        (vec!["simulate", good, "--replacement", "opt", "--prefetch", "tape"], vec!["opt", "tape"]),
        (
            vec!["simulate", good, "--as-run", "--replacement", "fifo", "--prefetch", "tape"],
            vec!["--prefetch none", "tape"],
        ),
        (vec!["simulate", good, "--replacement", "opt", "--prefetch", "linux"], vec!["opt"]),
        (vec!["simulate", good, "--network", "fast"], vec!["5us,25gbit"]),
        (
            vec!["simulate", good, "--as-run", "--replacement", "arc"],
            vec!["arc", "fifo, second-chance"],
        ),
        (
            vec!["simulate", good, "--as-run", "--replacement", "fifo", "--prefetch", "linux"],
            vec!["--prefetch none", "linux"],
        ),
        (vec!["simulate", good, "--as-run", "--replacement", "fifo", "--pab", "64"], vec!["--pab"]),
        (vec!["path", good, "--pab", "6", "--ways", "4"], vec!["6", "4"]),
        (vec!["path", good, "--pal", "0"], vec!["log"]),
    ] {
        assert_refused(farside.command(arguments), 2, &words);
    }
}
