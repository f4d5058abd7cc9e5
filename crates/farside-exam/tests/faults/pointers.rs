//! Which faults are pointer-based (`farside faults --pointers`).

use std::process::Command;

use farside_exam::farside;
use serde_json::Value;

use crate::{Found, MEGABYTES, Place, has_events, lines_of};

impl Place {
    fn pointers(&self, way: &str) -> Found {
        self.run(&["--pointers", "--kinds", "demand"], &[MEGABYTES, way])
    }
}

impl Found {
    /// Demand faults whose instruction was seen: on a busy machine the kernel may lose some.
    fn seen(&self) -> f64 {
        let faults = self.json["pointers"]["faults"].as_u64().expect("faults");
        (faults - self.number("unseen")) as f64
    }

    /// The share of a kind among the demand faults that were seen.
    fn share_of(&self, kind: &str) -> f64 {
        let pointers = &self.json["pointers"];
        let number = |name: &str| pointers[name].as_f64().unwrap_or_else(|| panic!("{pointers}"));
        let unseen = if kind == "undecided" { self.number("unseen") as f64 } else { 0.0 };
        (number(kind) - unseen) / self.seen()
    }

    /// What a prefetcher would have foreseen of a kind.
    fn foreseen(&self, prefetcher: &str, kind: &str) -> Option<f64> {
        let coverage = self.json["pointers"]["coverage"].as_array().expect("coverage");
        let its = coverage.iter().find(|one| one["prefetcher"] == prefetcher);
        its.unwrap_or_else(|| panic!("no {prefetcher}: {coverage:?}"))[kind].as_f64()
    }
}

const COMPILED: [&[&str]; 3] = [
    &["-g", "-O2"],
    &["-g", "-O0", "-fno-omit-frame-pointer"],
    &["-g", "-O3", "-fomit-frame-pointer", "-no-pie", "-fno-pie"],
];

#[test]
fn lists_are_pointer_based_and_streams_are_not() {
    let test = "lists_are_pointer_based_and_streams_are_not";
    if !has_events(test) {
        return;
    }
    for flags in COMPILED {
        let Some(place) = Place::new(test, "pointersites.c", flags) else { return };
        let list = place.pointers("list");
        assert!(list.share_of("pointer_based") > 0.95, "{flags:?}: {}", list.json["pointers"]);
        assert!(list.share_of("sample_agrees") > 0.9, "{flags:?}: {}", list.json["pointers"]);
        assert_eq!(list.site_of("pointersites.c", "list")["pointers"]["based"], "yes");
        // All, because the run foresaw nothing.
        assert_eq!(list.json["pointers"]["faults"], list.faults("demand", |_| true));
        for prefetcher in ["none", "linux", "leap", "spatial"] {
            let foreseen = list.foreseen(prefetcher, "pointer_based").expect("some are");
            assert!(foreseen < 0.1, "{flags:?} {prefetcher}: {foreseen}");
        }
        let stream = place.pointers("stream");
        assert_eq!(stream.share_of("pointer_based"), 0.0, "{flags:?}: {}", stream.json);
        assert!(stream.share_of("other") > 0.99, "{flags:?}: {}", stream.json["pointers"]);
        assert!(stream.foreseen("linux", "other") > Some(0.8), "{}", stream.json["pointers"]);
        assert_eq!(stream.foreseen("none", "other"), Some(0.0));
        assert_eq!(stream.foreseen("linux", "pointer_based"), None);
    }
}

#[test]
fn sites_are_decided_by_what_they_do() {
    let test = "sites_are_decided_by_what_they_do";
    if !has_events(test) {
        return;
    }
    for flags in COMPILED {
        let Some(place) = Place::new(test, "pointersites.c", flags) else { return };
        for (way, based) in
            [("pointers", "yes"), ("called", "yes"), ("tree", "yes"), ("table", "no")]
        {
            let found = place.pointers(way);
            let of = |name: &str| -> u64 {
                let line = lines_of("pointersites.c")[name];
                found.faults("demand", |site| {
                    site["line"] == line && site["pointers"]["based"] == based
                })
            };
            // One that is called may be inlined at its call.
            let here = of(way).max(found.faults("demand", |site| {
                way == "called" && site["function"] == "calls" && site["pointers"]["based"] == based
            }));
            let all = found.seen();
            assert!(here as f64 > all * 0.4, "{flags:?} {way}: {here} of {all}: {}", found.json);
            assert!(
                found.share_of("undecided") < 0.05,
                "{flags:?} {way}: {}",
                found.json["pointers"]
            );
        }
    }
}

#[test]
fn nothing_is_said_of_pointers_unless_asked_and_nothing_is_fetched_ahead() {
    let test = "nothing_is_said_of_pointers_unless_asked_and_nothing_is_fetched_ahead";
    if !has_events(test) {
        return;
    }
    let Some(place) = Place::new(test, "pointersites.c", &["-g", "-O2"]) else { return };
    let found = place.run(&[], &[MEGABYTES, "stream"]);
    assert_eq!(found.json["pointers"], Value::Null);
    assert!(found.sites().iter().all(|site| site["pointers"].is_null()));
    let output = Command::new(farside())
        .args(["faults", "--pointers", "--prefetch", "linux", "--", "true"])
        .output()
        .expect("farside starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn the_table_and_the_page_have_what_was_found() {
    let test = "the_table_and_the_page_have_what_was_found";
    if !has_events(test) {
        return;
    }
    let Some(place) = Place::new(test, "pointersites.c", &["-g", "-O2"]) else { return };
    let page = place.path("page.html");
    let output = Command::new(farside())
        .args(["faults", "--pointers", "--quiet", "--local", "4M", "--html"])
        .arg(&page)
        .arg("--")
        .arg(&place.program)
        .args([MEGABYTES, "list"])
        .output()
        .expect("farside starts");
    let text = String::from_utf8_lossy(&output.stderr);
    for word in ["pointer", "yes (", "are pointer-based", "would have been foreseen", "linux"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.contains("Pointer-based faults") && page.contains("yes ("), "{page}");
}

#[test]
fn what_came_of_pointers_is_told_by_site_and_by_part_of_memory() {
    let test = "what_came_of_pointers_is_told_by_site_and_by_part_of_memory";
    if !has_events(test) {
        return;
    }
    let Some(place) = Place::new(test, "pointersites.c", &["-g", "-O2"]) else { return };
    let run = |prefetch, way| place.run(&["--prefetch", prefetch], &[MEGABYTES, way]);
    for prefetch in ["pointer", "adaptive"] {
        let list = run(prefetch, "list");
        let followed = &list.json["followed"];
        let sum = |of: &str, deed: &str| -> u64 {
            let rows = followed[of].as_array().unwrap_or_else(|| panic!("{}", list.json));
            rows.iter().map(|row| row[deed].as_u64().expect("a number")).sum()
        };
        for deed in ["scanned", "candidates", "fetched", "used", "late", "unused"] {
            // Shares of a count are rounded.
            assert!(sum("sites", deed).abs_diff(sum("parts", deed)) < 20, "{deed}: {followed}");
        }
        let (fetched, reached) =
            (sum("parts", "fetched"), sum("parts", "used") + sum("parts", "late"));
        assert!(fetched > 1000, "{followed}");
        assert!(reached <= fetched && reached * 2 > fetched, "{followed}");
        assert!(sum("parts", "unused") <= fetched - reached, "{followed}");
        assert!(sum("parts", "scanned") >= fetched, "{followed}");
        let first = &followed["sites"][0];
        assert_eq!(first["line"], lines_of("pointersites.c")["list"], "{followed}");
        assert!(first["fetched"].as_u64() > Some(fetched / 2), "{followed}");
    }
    assert_eq!(run("linux", "list").json["followed"], Value::Null);
}
