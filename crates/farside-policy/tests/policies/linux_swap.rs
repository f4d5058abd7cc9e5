//! Linux's read-ahead by swap offset on hand-made faults.

use crate::support::faults::{demand, fetched, run, used};
use farside_policy::prefetch::{FaultKind, SwapCluster};
use farside_trace::{PageId, PageRange};

/// The block from `first` on without `page`, the pages after it first.
fn around(page: u64, first: u64, count: u64) -> Vec<PageRange> {
    let run = |first, count| PageRange::new(PageId(first), count);
    let runs = [run(page + 1, first + count - 1 - page), run(first, page - first)];
    runs.into_iter().filter(|run| !run.is_empty()).collect()
}

#[test]
fn the_block_follows_the_uses() {
    let mut cluster = SwapCluster::new(7);
    assert_eq!(demand(&mut cluster, 100), around(100, 96, 8), "as if four pages had been used");
    assert_eq!(demand(&mut cluster, 1003), around(1003, 1000, 4), "it shrinks by halves");
    assert_eq!(demand(&mut cluster, 2000), run(2001, 1));
    assert_eq!(demand(&mut cluster, 3000), [], "a fault like any other");
    assert_eq!(demand(&mut cluster, 3001), run(3000, 1), "beside the last one");
    assert_eq!(demand(&mut cluster, 3000), run(3001, 1), "on either side");
    used(&mut cluster, 3001);
    assert_eq!(demand(&mut cluster, 3002), around(3002, 3000, 4), "one use makes four");
    (3003..3006).for_each(|page| used(&mut cluster, page));
    assert_eq!(demand(&mut cluster, 3006), around(3006, 3000, 8), "three make eight");
    (0..100).for_each(|page| used(&mut cluster, page));
    assert_eq!(demand(&mut cluster, 3008), run(3009, 7), "at most eight");
}

#[test]
fn only_faults_without_a_use_before_them_are_compared() {
    let mut cluster = SwapCluster::new(7);
    (0..4).for_each(|i| drop(demand(&mut cluster, 1000 * i)));
    assert_eq!(demand(&mut cluster, 500), []);
    used(&mut cluster, 1);
    assert_eq!(demand(&mut cluster, 9000), run(9001, 3));
    assert_eq!(demand(&mut cluster, 501), run(500, 1), "9000 was not kept");
}

#[test]
fn a_page_on_its_way_counts_as_used() {
    let mut cluster = SwapCluster::new(7);
    (1..5).for_each(|i| drop(demand(&mut cluster, 1000 * i)));
    assert_eq!(fetched(&mut cluster, 77, FaultKind::Late), []);
    assert_eq!(demand(&mut cluster, 8000), run(8001, 3));
}

#[test]
fn the_most_pages_round_down_to_a_block() {
    for (most, block) in [(0, 1), (1, 2), (2, 2), (3, 4), (7, 8), (8, 8), (63, 64), (64, 64)] {
        let mut cluster = SwapCluster::new(most);
        (0..100).for_each(|page| used(&mut cluster, page));
        let expected = if block == 1 { Vec::new() } else { run(1025, block - 1) };
        assert_eq!(demand(&mut cluster, 1024), expected, "at most {most}");
    }
}

#[test]
fn the_highest_pages_are_no_exception() {
    let mut cluster = SwapCluster::new(7);
    assert_eq!(demand(&mut cluster, u64::MAX), run(u64::MAX - 7, 7));
    used(&mut cluster, 1);
    let page = u64::MAX - 1;
    assert_eq!(demand(&mut cluster, page), run(page - 2, 2));
}
