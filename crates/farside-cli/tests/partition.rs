//! `farside partition` on traces that can be checked by hand.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::{Farside, assert_refused, code, stderr, stdout};

/// A trace that loops over `pages` pages so many times.
fn circle(farside: &Farside, name: &str, pages: u64, rounds: u64) -> String {
    let mut text = String::new();
    for page in (0..rounds).flat_map(|_| 0..pages) {
        writeln!(text, "{page}").unwrap();
    }
    write(farside, name, &text)
}

fn write(farside: &Farside, name: &str, text: &str) -> String {
    let path: PathBuf = farside.path(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn json(farside: &Farside, arguments: &[&str]) -> Value {
    let output = farside.command([&["partition", "--json"], arguments].concat()).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "quiet in a pipe");
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// The shares and all misses of a way.
fn way(found: &Value, name: &str) -> (Vec<u64>, u64) {
    let ways = found["ways"].as_array().unwrap();
    let way = ways.iter().find(|way| way["way"] == name).unwrap();
    let shares = way["shares"].as_array().unwrap().iter();
    let pages = shares.clone().map(|share| share["pages"].as_u64().unwrap()).collect();
    let misses: u64 = shares.map(|share| share["misses"].as_u64().unwrap()).sum();
    assert_eq!(way["misses"], misses);
    (pages, misses)
}

#[test]
fn loops_fit_or_have_no_use_of_memory() {
    let farside = Farside::new();
    let long = circle(&farside, "long.txt", 60, 100);
    let short = circle(&farside, "short.txt", 40, 100);
    // Half of the memory is enough for the short one only; all of it for the long one only.
    let found = json(&farside, &[&long, &short, "--memory", "70p"]);
    assert_eq!((&found["memory_pages"], &found["goal"]), (&70.into(), &"throughput".into()));
    assert_eq!(found["programs"][0]["footprint_pages"], 60);
    assert_eq!(way(&found, "equal"), (vec![35, 35], 6_000 + 4_000));
    assert_eq!(way(&found, "greedy"), (vec![60, 10], 60 + 4_000));
    let (best, misses) = way(&found, "optimum");
    assert!(best[0] >= 60 && misses == 60 + 4_000, "{best:?} {misses}");
    assert_eq!(found["ways"][2]["exact"], true);
    // Both loops are longer than what the pool leaves them, until the short one ends.
    assert_eq!(found["ways"][3]["shares"][1]["misses"], 4_000);
    assert!((8_000..10_000).contains(&way(&found, "pool").1), "{found}");
    // What the short one misses counts double.
    let found = json(&farside, &[&long, &short, "--memory", "70p", "--weights", "1,2"]);
    assert_eq!((&found["goal"], &found["programs"][1]["weight"]), (&"weights".into(), &2.0.into()));
    assert_eq!(way(&found, "optimum").1, 6_000 + 40);
    // Each is slowed down as much as the other, whoever fits; then the fewest misses count.
    let fair = json(&farside, &[&long, &short, "--memory", "70p", "--goal", "fairness"]);
    assert_eq!(way(&fair, "optimum").1, 60 + 4_000);
    // Memory for both, as a share of both footprints.
    let all = json(&farside, &[&long, &short, "--memory", "100%"]);
    for name in ["greedy", "optimum", "pool"] {
        assert_eq!(way(&all, name).1, 100, "{name}");
    }
    assert_eq!(way(&all, "optimum").0, [60, 40]);
}

#[test]
fn a_program_alone_has_all_memory() {
    let farside = Farside::new();
    let one = circle(&farside, "one.txt", 50, 20);
    for (pages, misses) in [("49p", 1_000), ("50p", 50), ("1G", 50)] {
        let found = json(&farside, &[&one, "--memory", pages]);
        for name in ["equal", "greedy", "optimum", "pool"] {
            assert_eq!(way(&found, name).1, misses, "{name} with {pages}");
        }
    }
    // Belady's example of the policy that the pool is asked for.
    let belady = write(&farside, "belady.txt", "1\n2\n3\n4\n1\n2\n5\n1\n2\n3\n4\n5\n");
    let arguments = [&belady, "--memory", "3p", "--replacement", "fifo"];
    let found = json(&farside, &arguments);
    assert_eq!((way(&found, "optimum").1, way(&found, "pool").1), (10, 9));
    assert_eq!(found["ways"][3]["replacement"], "fifo");
}

#[test]
fn the_same_trace_may_come_twice_and_least_memory_is_kept() {
    let farside = Farside::new();
    let one = circle(&farside, "one.txt", 50, 20);
    let found = json(&farside, &[&one, &one, "--memory", "60p", "--least", "10p"]);
    let (pages, misses) = way(&found, "optimum");
    assert_eq!((pages.iter().sum::<u64>(), misses), (60, 50 + 1_000));
    assert!(pages.iter().all(|pages| *pages >= 10), "{pages:?}");
    // With small steps nobody sees the end of the loop.
    let found = json(&farside, &[&one, &one, "--memory", "60p", "--chunk", "5p"]);
    assert_eq!(way(&found, "greedy"), (vec![30, 30], 2_000));
}

#[test]
fn the_table_has_every_way_and_program() {
    let farside = Farside::new();
    let one = circle(&farside, "one.txt", 50, 20);
    let two = circle(&farside, "two.txt", 30, 20);
    let output = farside.command(["partition", &one, &two, "--memory", "60p"]).output().unwrap();
    let table = stdout(&output);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    for word in ["equal", "greedy", "optimum", "pool (lru)", "one.txt", "two.txt", "all", "240 KiB"]
    {
        assert!(table.contains(word), "no {word:?} in {table}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let farside = Farside::new();
    let good = circle(&farside, "good.txt", 5, 2);
    let empty = write(&farside, "empty.txt", "# nothing\n");
    for (arguments, words) in [
        (vec!["--memory", "8p"], vec!["TRACES"]),
        (vec![&good], vec!["--memory"]),
        (vec![&good, &good, "--memory", "1p"], vec!["--memory 1p", "2 pages"]),
        (vec![&good, "--memory", "lots"], vec!["lots", "1000p"]),
        (vec![&good, &empty, "--memory", "8p"], vec!["empty.txt", "no accesses"]),
        (vec![&good, "/no/such.txt", "--memory", "8p"], vec!["/no/such.txt"]),
        (vec![&good, "--memory", "8p", "--goal", "speed"], vec!["speed", "throughput"]),
        (vec![&good, "--memory", "8p", "--goal", "weights"], vec!["--weights"]),
        (
            vec![&good, "--memory", "8p", "--weights", "1,2"],
            vec!["--weights: 2 weights", "1 programs"],
        ),
        (vec![&good, "--memory", "8p", "--weights", "0"], vec!["--weights: weight 0", "above 0"]),
        (vec![&good, "--memory", "8p", "--weights", "1,x"], vec!["x"]),
        (
            vec![&good, "--memory", "8p", "--goal", "fairness", "--weights", "1"],
            vec!["--goal weights"],
        ),
        (vec![&good, "--memory", "8p", "--replacement", "opt"], vec!["opt", "lirs"]),
        (vec![&good, "--memory", "8p", "--network", "fast"], vec!["5us,25gbit"]),
        (vec![&good, "--memory", "8p", "--access-ns", "0"], vec!["--access-ns 0"]),
        (vec![&good, "--memory", "8p", "--least", "9p"], vec!["9 pages"]),
    ] {
        assert_refused(farside.command([&["partition"], &arguments[..]].concat()), 2, &words);
    }
}
