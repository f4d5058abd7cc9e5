//! Programs that use sections (`farside/section.h`), on far memory beside plain runs.

mod bench;
mod nodes;
#[path = "../hints/place.rs"]
mod place;

use std::process::{Command, Output};

use farside_exam::{farside, pick};
use place::{Place, counter};
use serde_json::Value;

/// Local memory of the programs; a quarter of it and more is the section's.
const LOCAL: &str = "4M";

/// A node that takes its time, for what is fetched ahead.
const SLOW: &str = "embedded:latency=2us,bandwidth=25gbit";

fn place(test: &str) -> Option<Place> {
    Place::new(test, "sections.c", "gcc", &["-std=gnu99"])
}

/// Insists that the program prints what it prints without Farside, that lines came and went, and that the section had
/// its memory within the limit.
fn same(place: &Place, far: &str, [ways, line, capacity]: [&str; 3], what: &str) -> Value {
    let counted = place.run(far, &[ways, line, capacity, what]);
    for name in ["section_misses", "section_fetched", "section_evicted", "section_written"] {
        assert!(counter(&counted, name) > 0, "{ways} {line} {capacity}: {name} of {counted}");
    }
    assert_eq!(counter(&counted, "section_bytes"), 0, "{counted}");
    counted
}

#[test]
fn every_structure_and_line_holds_what_was_written() {
    let Some(place) = place("every_structure_and_line_holds_what_was_written") else { return };
    let lines: &[&str] = if pick(false, true) {
        &["64", "128", "256", "512", "1024", "2048", "4096", "8192", "32768"]
    } else {
        &["64", "4096"]
    };
    for line in lines {
        // The least that there can be, or nearly so, and what holds a part of the data.
        for shape in [
            ["1", line, "65536"],
            ["2", line, "1000000"],
            ["3", line, "200000"],
            ["16", line, "300000"],
            ["0", line, "500000"],
        ] {
            same(&place, "embedded:", shape, "shared");
        }
    }
    for what in ["all", "shared"] {
        same(&place, SLOW, ["2", "128", "500000"], what);
        same(&place, SLOW, ["0", "128", "500000"], what);
    }
}

#[test]
fn one_thread_needs_no_pins() {
    let test = "one_thread_needs_no_pins";
    let Some(place) = Place::new(test, "sections.c", "g++", &["-std=gnu++11"]) else {
        return;
    };
    for shape in [["1", "64", "100000"], ["2", "256", "100000"], ["0", "1024", "50000"]] {
        same(&place, "embedded:", shape, "all");
    }
}

#[test]
fn the_header_suits_all_languages_and_linkages() {
    let test = "the_header_suits_all_languages_and_linkages";
    for (compiler, flags) in [
        ("gcc", &["-std=c99", "-pedantic", "-fPIC"][..]),
        ("gcc", &["-std=gnu89", "-fno-pie", "-no-pie"]),
        ("gcc", &["-std=c11", "-O0"]),
        ("g++", &["-std=c++20", "-pedantic"]),
        ("g++", &["-std=gnu++11"]),
    ] {
        let Some(place) = Place::new(test, "section.c", compiler, flags) else { return };
        assert!(
            counter(&place.run("embedded:", &[]), "section_misses") > 0,
            "{compiler} {flags:?}"
        );
    }
    // A program without a dynamic linker has no Farside, and plain memory.
    if let Some(place) = Place::new(test, "section.c", "gcc", &["-std=gnu99", "-static"]) {
        place.plain(&[]);
    }
}

#[test]
fn the_longest_lines_work() {
    let Some(place) = place("the_longest_lines_work") else { return };
    same(&place, "embedded:", ["1", "16384", "65536"], "shared");
    same(&place, "embedded:", ["1", "2097152", "2097152"], "all");
    same(&place, "embedded:", ["0", "65536", "524288"], "all");
}

#[test]
fn stores_of_whole_pages_keep_shorter_lines() {
    let Some(place) = place("stores_of_whole_pages_keep_shorter_lines") else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = format!("file:{}?size=256M", directory.path().join("pages").display());
    for far in ["embedded:compress=lz4", &file] {
        same(&place, far, ["2", "512", "1000000"], "shared");
        same(&place, far, ["0", "4096", "1000000"], "shared");
    }
}

#[test]
fn short_lines_move_less_than_pages() {
    let Some(place) = place("short_lines_move_less_than_pages") else { return };
    let moved = |line| {
        let counted = same(&place, "embedded:", ["2", line, "400000"], "all");
        counter(&counted, "section_fetched_bytes") + counter(&counted, "section_written_bytes")
    };
    let (short, pages) = (moved("128"), moved("4096"));
    assert!(short * 5 < pages, "{short} bytes, {pages} with lines of a page");
}

#[test]
fn sections_of_phases_share_memory() {
    let test = "sections_of_phases_share_memory";
    let Some(place) = Place::new(test, "phases.c", "gcc", &["-std=gnu99"]) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = format!("file:{}?size=256M", directory.path().join("pages").display());
    // Of three of them no two would be within the limit.
    for (far, shape) in [
        ("embedded:", ["1", "64", "2200000", "0"]),
        (SLOW, ["2", "256", "2200000", "0"]),
        (SLOW, ["2", "128", "2200000", "1"]),
        ("embedded:", ["0", "4096", "2200000", "1"]),
        (&file, ["4", "4096", "2200000", "1"]),
    ] {
        let counted = place.run(far, &shape);
        assert!(counter(&counted, "section_takeovers") > 20, "{shape:?}: {counted}");
        assert!(counter(&counted, "section_beside") > 0, "{shape:?}: {counted}");
        assert_eq!(counter(&counted, "section_bytes"), 0, "{shape:?}: {counted}");
    }
}

#[test]
fn sections_that_cannot_be_are_refused_and_work_as_plain_memory() {
    let test = "sections_that_cannot_be_are_refused_and_work_as_plain_memory";
    let Some(place) = place(test) else { return };
    let output = ends(&place, &["1", "64", "65536", "nonsense"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nonsense\n");
    let errors = String::from_utf8_lossy(&output.stderr);
    for why in [
        "no section \"short lines\", its data is paged: lines of 48 bytes: a line has 64 bytes to 2 MiB",
        "no section \"long lines\", its data is paged: lines of 4194304 bytes",
        "no section \"no lines\", its data is paged: a capacity of 64 bytes, which is less than 128",
        "no section \"wide sets\", its data is paged: a capacity of 1048576 bytes, which is less than 4096000",
        "no section \"no end\", its data is paged: a capacity of 18446744073709551615 bytes, which makes more",
        "no section \"beyond the limit\", its data is paged: its lines take 65536 KiB of local memory, and 3008 KiB of it",
    ] {
        assert!(errors.contains(why), "{why}: {errors}");
    }
    assert_eq!(output.status.code(), Some(0), "{errors}");
}

#[test]
fn pointers_that_lead_nowhere_end_the_program() {
    let Some(place) = place("pointers_that_lead_nowhere_end_the_program") else { return };
    for (what, why) in [
        ("wild", "a remote pointer leads to section 77, and there is none of this number"),
        (
            "beyond",
            "a remote pointer leads to offset 1099511627776 of section 1, which has 0 bytes",
        ),
        ("twice", "offset 0 of section 1 is freed, where nothing begins that was allocated"),
    ] {
        let output = ends(&place, &["2", "128", "65536", what]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(why), "{what}: {errors}");
        assert_eq!(output.status.code(), Some(125), "{what}: {errors}");
    }
}

/// Runs the program on far memory to its end.
fn ends(place: &Place, arguments: &[&str]) -> Output {
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--local", LOCAL, "--"]).arg(place.program()).args(arguments);
    command.output().expect("farside starts")
}
