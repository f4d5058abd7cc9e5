//! Memory that tracking takes for the pages that a program came to.

use farside_trace::PageId;
use farside_tracking::{Tracker, TrackingOptions};

/// Pages that are tracked, just too many for a table of half the size.
const PAGES: u64 = 58_000;

/// Most bytes for each of them.
const EACH: u64 = 32;

/// Bytes of this process that are in memory and belong to no file.
fn taken() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("a kernel that counts");
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB"));
    kilobytes.and_then(|it| it.trim().parse::<u64>().ok()).expect("a number") << 10
}

/// The only test of this file: others would take memory meanwhile.
#[test]
fn a_tracked_page_takes_32_bytes() {
    // What reading takes is taken once.
    taken();
    let before = taken();
    let mut tracker = Tracker::new(TrackingOptions::default(), 1);
    for round in 0..4 {
        for page in (0..PAGES).map(|at| at * 7 % PAGES) {
            let touched = if round == 0 { page + 1 } else { PAGES };
            tracker.visit(PageId(page), touched, round == 0);
            while tracker.leave(touched).is_some() {}
        }
    }
    assert_eq!(tracker.tracked() as u64, PAGES);
    let used = taken() - before;
    println!("{used} bytes for {PAGES} pages");
    assert!(used <= EACH * PAGES + (64 << 10), "{used} bytes for {PAGES} pages");
}
