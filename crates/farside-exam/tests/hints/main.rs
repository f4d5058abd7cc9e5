//! Programs that say what they are about to use (`farside.h`).

mod examples;
mod guide;
mod packages;
mod place;
mod tasks;
mod wild;

use serde_json::Value;

use place::{Place, counter};

/// Megabytes that the programs use, and their local memory.
const MEGABYTES: &str = "16";
const LOCAL: &str = "4M";

/// Nodes that answer at once, and after some time.
const NODES: [&str; 2] = ["embedded:", "embedded:latency=15us,bandwidth=25gbit"];

/// Runs one of the passes of `hints.c` on all nodes.
fn pass(test: &str, what: &str, check: impl Fn(&Value)) {
    let Some(place) = Place::new(test, "hints.c", "gcc", &["-std=gnu99"]) else { return };
    for far in NODES {
        let counted = place.run(far, &[MEGABYTES, what]);
        check(&counted);
    }
}

/// One of the threads may lose to others what it was about to use.
fn few_faults(counted: &Value) {
    let (faults, hinted) = (counter(counted, "demand_faults"), counter(counted, "hinted_pages"));
    assert!(hinted > 4000 && faults * 20 < hinted, "{faults} faults, {hinted} hinted pages");
}

/// Pages that were read ahead came in time, or the hint at them did the rest.
fn read_ahead(counted: &Value) {
    assert!(counter(counted, "demand_faults") < 10, "{counted}");
    let (ahead, hinted) = (counter(counted, "prefetched_pages"), counter(counted, "hinted_pages"));
    assert!(ahead > 3000 && hinted < 6, "{ahead} pages read ahead, {hinted} not");
}

#[test]
fn what_is_hinted_needs_no_fault() {
    for what in ["scattered", "objects", "written"] {
        pass("what_is_hinted_needs_no_fault", what, few_faults);
    }
}

#[test]
fn what_follows_is_read_ahead() {
    for what in ["forwards", "backwards"] {
        pass("what_follows_is_read_ahead", what, read_ahead);
    }
}

#[test]
fn a_hint_reads_many_pages_ahead() {
    // Beside a node that answers at once, as no hint then finds that its page is on its way.
    let test = "a_hint_reads_many_pages_ahead";
    let Some(place) = Place::new(test, "hints.c", "gcc", &["-std=gnu99"]) else { return };
    for what in ["forwards", "backwards"] {
        let counted = place.run(NODES[0], &[MEGABYTES, what]);
        let (hints, ahead) = (counter(&counted, "hints"), counter(&counted, "prefetched_pages"));
        // Each hint brought half of a window of 32.
        assert!(hints * 8 < ahead, "{what}: {hints} hints, {ahead} pages");
    }
}

#[test]
fn new_memory_is_populated() {
    pass("new_memory_is_populated", "new", |counted| {
        // What is read afterwards without hints is another matter.
        assert!(counter(counted, "first_touch_faults") < 400, "{counted}");
        assert!(counter(counted, "hinted_pages") > 4000, "{counted}");
    });
}

#[test]
fn what_is_listed_comes_without_waiting() {
    pass("what_is_listed_comes_without_waiting", "listed", |counted| {
        assert!(counter(counted, "prefetched_pages") > 4000, "{counted}");
        assert!(counter(counted, "demand_faults") < 100, "{counted}");
    });
}

#[test]
fn what_the_program_is_done_with_leaves_first() {
    pass("what_the_program_is_done_with_leaves_first", "done", |counted| {
        // Four passes over 14 MiB; what is used again and again stayed.
        let fetched = counter(counted, "fetched_bytes") >> 12;
        assert!(fetched < 4 * 3584, "{fetched} pages");
    });
}

#[test]
fn what_has_a_high_priority_leaves_first() {
    let test = "what_has_a_high_priority_leaves_first";
    let Some(place) = Place::new(test, "hints.c", "gcc", &["-std=gnu99"]) else { return };
    for policy in ["priority", "eden"] {
        let fetched = |what| {
            let counted = place.run_with(NODES[0], policy, &[MEGABYTES, what]);
            counter(&counted, "fetched_bytes") >> 12
        };
        let (ranked, unranked) = (fetched("ranked"), fetched("unranked"));
        assert!(
            ranked * 10 < unranked * 9,
            "{policy}: {ranked} pages, {unranked} without priorities"
        );
    }
}

#[test]
fn a_region_has_a_policy_of_its_own() {
    let test = "a_region_has_a_policy_of_its_own";
    let Some(place) = Place::new(test, "hints.c", "gcc", &["-std=gnu99"]) else { return };
    let fetched = |policy, what| {
        let counted = place.run_with(NODES[0], policy, &[MEGABYTES, what]);
        counter(&counted, "fetched_bytes") >> 12
    };
    // The run's own policy knows no priorities.
    let (region, run) = (fetched("fifo", "region"), fetched("fifo", "ranked"));
    assert!(region * 10 < run * 9, "{region} pages, {run} by the policy of the run");
}

#[test]
fn regions_change_while_the_program_runs() {
    pass("regions_change_while_the_program_runs", "regions", |_| {});
}

#[test]
fn what_is_pinned_stays() {
    pass("what_is_pinned_stays", "pinned", |counted| {
        few_faults(counted);
        assert!(counter(counted, "demand_faults") < 20, "{counted}");
        assert_eq!(counter(counted, "held_pages"), 0, "{counted}");
    });
}

#[test]
fn threads_and_children_give_hints_at_the_same_pages() {
    for what in ["threads", "fork"] {
        pass("threads_and_children_give_hints_at_the_same_pages", what, few_faults);
    }
}

#[test]
fn hints_that_cannot_be_meant_are_counted_and_harmless() {
    pass("hints_that_cannot_be_meant_are_counted_and_harmless", "misuse", |counted| {
        assert!(counter(counted, "hints_astray") > 0, "{counted}");
    });
}

#[test]
fn the_header_suits_all_languages_and_linkages() {
    let test = "the_header_suits_all_languages_and_linkages";
    for (compiler, flags) in [
        ("gcc", &["-std=gnu89", "-fno-pie", "-no-pie"][..]),
        ("gcc", &["-std=c99", "-D_GNU_SOURCE", "-pedantic", "-fPIC"]),
        ("gcc", &["-std=c11", "-D_GNU_SOURCE", "-O0"]),
        ("g++", &["-x", "c++", "-std=c++20", "-pedantic"]),
        ("g++", &["-x", "c++", "-std=gnu++11", "-Wno-error"]),
    ] {
        let Some(place) = Place::new(test, "hint.c", compiler, flags) else { return };
        let counted = place.run(NODES[0], &[MEGABYTES]);
        few_faults(&counted);
    }
    // Switched off, they do nothing.
    if let Some(place) = Place::new(test, "hint.c", "gcc", &["-std=gnu99", "-DFARSIDE_OFF"]) {
        assert_eq!(counter(&place.run(NODES[0], &[MEGABYTES]), "hints"), 0);
    }
    // A program without a dynamic linker has no Farside, and hints that do nothing.
    if let Some(place) = Place::new(test, "hint.c", "gcc", &["-std=gnu99", "-static"]) {
        place.plain(&[MEGABYTES]);
    }
}
