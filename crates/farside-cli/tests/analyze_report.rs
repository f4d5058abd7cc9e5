//! `farside analyze`: one screen, one page of HTML, and plots with their numbers.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use farside_trace::{Access, Mapping, Metadata, PageId, TraceWriter};
use serde_json::Value;
use support::{Farside, assert_refused, code, stderr, stdout};

/// A name that would end more than one kind of quotation.
const BAD_NAME: &str = "/tmp/</script><script>alert('1')</script>\"&\u{1b}[31m,lib";

/// A trace of two phases: a loop over a heap, then one over a mapping with a bad name.
fn trace(farside: &Farside) -> PathBuf {
    let path = farside.path("two phases.fpt");
    let metadata = Metadata {
        program: Some("two".to_owned()),
        arguments: vec!["<b>phases</b>".to_owned()],
        ..Metadata::default()
    };
    let mut writer = TraceWriter::create(&path, &metadata).unwrap();
    for (first, count, name) in [(1000, 300, "[heap]"), (70_000, 80, BAD_NAME)] {
        writer.map(Mapping { first: PageId(first), count, name: name.to_owned() }).unwrap();
    }
    let heap = (0..30_000_u64).map(|i| 1000 + i % 300);
    let library = (0..30_000_u64).map(|i| 70_000 + i % 80);
    for page in heap.chain(library) {
        writer.write(Access { weight: 20_000, ..Access::from(PageId(page)) }).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn analyze(farside: &Farside, arguments: &[&str]) -> String {
    let path = trace(farside);
    let arguments = [&["analyze", path.to_str().unwrap()], arguments].concat();
    let output = farside.command(arguments).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    stdout(&output)
}

fn json(farside: &Farside, arguments: &[&str]) -> Value {
    serde_json::from_str(&analyze(farside, &[&["--json"], arguments].concat())).unwrap()
}

#[test]
fn the_object_has_everything() {
    let farside = Farside::new();
    let found = json(&farside, &[]);
    for (key, expected) in [
        ("accesses", 60_000_u64),
        ("data_accesses", 1_200_000_000_u64),
        ("writes", 0),
        ("footprint_pages", 380),
    ] {
        assert_eq!(found[key], expected, "{key}");
    }
    // Two loops: LRU misses everything until they fit.
    assert_eq!(found["curves"]["lru"].to_string(), "[[0,60000],[80,30080],[300,380]]");
    assert_eq!(found["knees"][0]["pages"], 80, "{}", found["knees"]);
    assert_eq!(found["knees"][0]["misses"], 30_080);
    let phases = found["phases"].as_array().unwrap();
    let spans: Vec<_> = phases.iter().map(|p| (p["begin"].as_u64(), p["end"].as_u64())).collect();
    assert_eq!(spans, [(Some(0), Some(30_000)), (Some(30_000), Some(60_000))]);
    assert_eq!((&phases[0]["pages"], &phases[0]["region"]), (&300.into(), &"[heap]".into()));
    assert_eq!((&phases[1]["pages"], &phases[1]["region"]), (&80.into(), &BAD_NAME.into()));
    let regions = found["regions"].as_array().unwrap();
    assert_eq!(regions.len(), 2);
    assert_eq!((&regions[0]["name"], &regions[0]["accesses"]), (&"[heap]".into(), &30_000.into()));
    assert_eq!(
        (&regions[1]["first_page"], &regions[1]["last_page"]),
        (&70_000.into(), &70_079.into())
    );
    for region in regions {
        let sum = |name: &str| -> u64 {
            let misses = region["misses"][name].as_array().unwrap();
            misses.iter().map(|misses| misses.as_u64().unwrap()).sum()
        };
        let best = region["best"].as_str().unwrap();
        for name in ["lru", "mru", "second-chance", "2q", "arc", "lirs", "s3-fifo"] {
            assert!(sum(best) <= sum(name), "{best} is said to be better than {name}: {region}");
        }
        assert!(sum(best) < sum("lru") * 6 / 10, "a loop is not for LRU");
    }
    let prefetchers = found["prefetchers"].as_array().unwrap();
    let names: Vec<_> = prefetchers.iter().filter_map(|row| row["prefetch"].as_str()).collect();
    assert!(
        names.starts_with(&["none"])
            && names.contains(&"leap")
            && names.ends_with(&["proximity", "adaptive", "tape"])
    );
    assert!(prefetchers.iter().all(|row| row["projected_time_ns"].as_u64().unwrap() > 0));
}

#[test]
fn policies_are_simulated_at_many_sizes() {
    let farside = Farside::new();
    let found = json(&farside, &[]);
    let mut sizes = BTreeMap::<&str, Vec<u64>>::new();
    for row in found["policies"].as_array().unwrap() {
        let pages = row["local_pages"].as_u64().unwrap();
        sizes.entry(row["replacement"].as_str().unwrap()).or_default().push(pages);
    }
    let names: Vec<_> = sizes.keys().copied().collect();
    let expected = ["2q", "arc", "clock-pro", "clock1", "fifo", "lirs", "s3-fifo", "second-chance"];
    assert_eq!(names, expected);
    for (name, sizes) in sizes {
        assert!(sizes.len() >= 10 && sizes.is_sorted(), "{name}: {sizes:?}");
    }
    let quick = json(&farside, &["--quick"]);
    assert_eq!(quick["curves"], found["curves"]);
    assert_eq!(quick["policies"].as_array().unwrap().len(), 0);
    assert_eq!(quick["phases"], found["phases"]);
}

#[test]
fn the_screen_fits() {
    let farside = Farside::new();
    let page = analyze(&farside, &[]);
    assert!(page.lines().count() <= 24, "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.is_ascii(), "not a terminal: {page}");
    assert!(!page.contains('\u{1b}'), "nothing steers the terminal");
    for word in
        ["two <b>phases</b>", "380 pages", "1.5 MiB", "slower", "knee", "[heap]", "of none's"]
    {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
}

#[test]
fn the_page_is_one_file_with_the_numbers_in_it() {
    let farside = Farside::new();
    let path = farside.path("report.html");
    let found = json(&farside, &["--html", path.to_str().unwrap()]);
    let page = fs::read_to_string(&path).unwrap();
    for reference in ["src=", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(reference), "{reference} in the page");
    }
    let mut links = page.split("href=\"").skip(1);
    assert!(links.all(|link| link.starts_with("data:image/png;base64,")));
    assert!(page.contains("default-src 'none'"), "browsers are told to load nothing");
    // Pictures for those who print, and for those without scripts.
    assert_eq!(page.matches("<div class=\"still\"><svg").count(), 4);
    assert!(!page.contains("<div class=\"still\" hidden"));
    let recommended = found["needs"][1]["pages"].as_u64().unwrap();
    for number in
        [format!("({recommended} pages)"), "60,000".into(), "30,080".into(), "1,200,000,000".into()]
    {
        assert!(page.contains(&number), "no {number:?} in the page");
    }
    let data = embedded(&page);
    let curves = data.iter().find(|data| data["y"] == "misses").unwrap();
    let lru = curves["series"].as_array().unwrap().iter().find(|s| s["name"] == "lru").unwrap();
    assert_eq!(
        (lru["x"].to_string(), lru["y"].to_string()),
        ("[0.0,80.0,300.0]".to_owned(), "[60000.0,30080.0,380.0]".to_owned())
    );
}

/// The data that the page's scripts read.
fn embedded(page: &str) -> Vec<Value> {
    page.split("<script type=\"application/json\" class=\"data\">")
        .skip(1)
        .map(|rest| serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap())
        .collect()
}

#[test]
fn names_from_the_trace_are_only_text() {
    let farside = Farside::new();
    let path = farside.path("report.html");
    analyze(&farside, &["--quick", "--html", path.to_str().unwrap()]);
    let page = fs::read_to_string(&path).unwrap();
    assert!(!page.contains("alert('1')</script>") && !page.contains("<script>alert"), "escaped");
    assert!(!page.contains("<b>phases"), "escaped");
    assert!(page.contains("&lt;b&gt;phases&lt;/b&gt;"));
    assert!(!page.contains('\u{1b}'));
    // Scripts are ours: five of them, one for each figure's data, and no more.
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, 4 + page.matches("<script type=\"application/json\"").count());
    let heat = embedded(&page).into_iter().find(|data| data["kind"] == "heat").unwrap();
    assert!(heat["labels"].as_array().unwrap().iter().any(|label| label[2] == BAD_NAME));
}

fn rows(path: &Path) -> Vec<(String, f64, f64)> {
    let text = fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].to_owned(), fields[1].parse().unwrap(), fields[2].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn plots_have_their_numbers_beside_them() {
    let farside = Farside::new();
    let folder = farside.path("new/plots");
    let found = json(&farside, &["--plots", folder.to_str().unwrap()]);
    for name in ["heat", "curves", "working-set", "reuse"] {
        let svg = fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg"), "{name}");
        assert!(folder.join(format!("{name}.csv")).is_file(), "{name}");
    }
    let curves = rows(&folder.join("curves.csv"));
    for name in ["lru", "mru", "opt"] {
        let plotted = curves.iter().filter(|row| row.0 == name).map(|row| (row.1, row.2));
        let exact = found["curves"][name].as_array().unwrap().iter();
        let exact = exact.map(|p| (p[0].as_f64().unwrap(), p[1].as_f64().unwrap()));
        assert!(plotted.eq(exact), "{name}");
    }
    let policies = found["policies"].as_array().unwrap();
    let simulated = policies.iter().map(|row| {
        let number = |key: &str| row[key].as_f64().unwrap();
        (row["replacement"].as_str().unwrap().to_owned(), number("local_pages"), number("misses"))
    });
    let exact = ["lru", "mru", "opt"];
    assert!(curves.iter().filter(|row| !exact.contains(&row.0.as_str())).cloned().eq(simulated));
    let heat = fs::read_to_string(folder.join("heat.csv")).unwrap();
    let sum: f64 =
        heat.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().parse::<f64>().unwrap()).sum();
    assert_eq!(sum, 60_000.0, "the heat map has every record");
    analyze(&farside, &["--quick", "--plots", folder.to_str().unwrap(), "--plot-format", "png"]);
    let png = fs::read(folder.join("heat.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
}

#[test]
fn what_cannot_be_written_is_refused_before_the_analysis() {
    let farside = Farside::new();
    let path = trace(&farside);
    let path = path.to_str().unwrap();
    let there = farside.path("");
    for (arguments, words) in [
        (vec!["--html", "/no/such/folder/x.html"], vec!["/no/such/folder", "directory"]),
        (vec!["--html", there.to_str().unwrap()], vec!["directory"]),
        (vec!["--html", path], vec!["that is the trace"]),
        (vec!["--plots", "x", "--plot-format", "gif"], vec!["gif", "svg or png"]),
        (vec!["--access-ns", "0"], vec!["--access-ns"]),
    ] {
        let arguments = [vec!["analyze", path], arguments].concat();
        assert_refused(farside.command(arguments), 2, &words);
    }
}

#[test]
fn an_empty_trace_has_a_report_too() {
    let farside = Farside::new();
    let empty = farside.path("empty.txt");
    fs::write(&empty, "# nothing\n").unwrap();
    let html = farside.path("empty.html");
    let arguments =
        ["analyze", empty.to_str().unwrap(), "--html", html.to_str().unwrap(), "--json"];
    let output = farside.command(arguments).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["footprint_pages"], 0);
    assert!(fs::read_to_string(html).unwrap().ends_with("</html>\n"));
}
