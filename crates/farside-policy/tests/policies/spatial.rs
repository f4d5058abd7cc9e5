//! The spatial prefetcher's window on hand-made faults.

use crate::support::faults::{demand, fetched, run, used};
use farside_policy::prefetch::{FaultKind, Prefetcher, Spatial, SpatialOptions};
use farside_trace::PageId;

fn spatial(first: u32, most: u32) -> Spatial {
    Spatial::new(SpatialOptions { first, most, sample: 8, ..SpatialOptions::default() })
}

/// So many of eight pages are used, and the others not.
fn outcome(prefetcher: &mut Spatial, uses: u64) {
    (0..uses).for_each(|page| used(prefetcher, page));
    (uses..8).for_each(|page| prefetcher.unused(PageId(page)));
}

#[test]
fn it_begins_with_the_next_64_pages() {
    let mut prefetcher = Spatial::new(SpatialOptions::default());
    assert_eq!(demand(&mut prefetcher, 100), run(101, 64));
    assert_eq!(fetched(&mut prefetcher, 120, FaultKind::Late), run(121, 64));
    used(&mut prefetcher, 121);
    assert_eq!(demand(&mut prefetcher, u64::MAX - 3), run(u64::MAX - 2, 2));
    assert_eq!(demand(&mut prefetcher, u64::MAX), []);
}

#[test]
fn the_window_follows_the_share_of_pages_that_were_used() {
    let mut prefetcher = spatial(64, 256);
    for (uses, window) in
        [(6, 128), (5, 128), (4, 128), (3, 64), (0, 32), (8, 64), (8, 128), (7, 256), (8, 256)]
    {
        outcome(&mut prefetcher, uses);
        assert_eq!(prefetcher.window(), window, "after {uses} of 8 uses");
    }
    assert_eq!(demand(&mut prefetcher, 0), run(1, 256));
    (0..20).for_each(|_| outcome(&mut prefetcher, 0));
    assert_eq!(demand(&mut prefetcher, 0), run(1, 1), "it goes on trying a single page");
}

#[test]
fn a_tenth_of_the_memory_may_hold_what_was_not_used_yet() {
    let prefetcher = spatial(64, 64);
    assert_eq!([0, 9, 10, 1234].map(|pages| prefetcher.most_unused(pages)), [0, 0, 1, 123]);
    assert_eq!(prefetcher.most_unused(u64::MAX), u64::MAX / 10);
}

#[test]
fn limits_out_of_order_do_no_harm() {
    let mut prefetcher = spatial(64, 0);
    assert_eq!(demand(&mut prefetcher, 5), run(6, 1), "at least one page unless told otherwise");
    let nothing = SpatialOptions { least: 0, most: 0, sample: 0, ..SpatialOptions::default() };
    let mut prefetcher = Spatial::new(nothing);
    used(&mut prefetcher, 1);
    assert_eq!(demand(&mut prefetcher, 5), []);
}
