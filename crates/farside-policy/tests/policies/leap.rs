//! Leap's trend against golden steps, and its windows on hand-made faults.

use std::fs;

use crate::support::faults::{demand, fetched, pages, run, used};
use crate::support::golden;
use farside_policy::prefetch::{AccessHistory, FaultKind, Leap, LeapOptions};
use farside_trace::PageId;
use proptest::prelude::*;

#[test]
fn trends_equal_the_golden_ones_at_every_step() {
    let Some(golden) = golden("trends_equal_the_golden_ones_at_every_step") else { return };
    let table = fs::read_to_string(golden.join("expected/leap_trend.tsv")).expect("golden trends");
    let mut history = AccessHistory::new(1, 1);
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split('\t').collect();
        let number = |field: usize| fields[field].parse::<usize>().expect("a number");
        if fields[3] == "0" {
            history = AccessHistory::new(number(1), number(2));
        }
        let delta = history.record(PageId(number(4) as u64));
        assert_eq!(delta, fields[5].parse().ok(), "{line}");
        assert_eq!(history.trend(), fields[6].parse().ok(), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 606);
}

/// A history of 8 searched from its later half on.
fn leap(infer_uses: bool) -> Leap {
    Leap::new(LeapOptions { history: 8, splits: 2, most: 8, infer_uses })
}

#[test]
fn the_window_follows_the_uses() {
    let mut leap = leap(false);
    for page in 100..103 {
        assert_eq!(demand(&mut leap, page), []);
    }
    assert_eq!(demand(&mut leap, 103), run(104, 1), "three of four differences make a trend");
    used(&mut leap, 104);
    assert_eq!(demand(&mut leap, 105), run(106, 2));
    (106..108).for_each(|page| used(&mut leap, page));
    assert_eq!(demand(&mut leap, 108), run(109, 4));
    (109..112).for_each(|page| used(&mut leap, page));
    assert_eq!(fetched(&mut leap, 112, FaultKind::Late), [], "a page on its way is used too");
    assert_eq!(demand(&mut leap, 113), run(114, 8));
    (114..122).for_each(|page| used(&mut leap, page));
    assert_eq!(demand(&mut leap, 122), run(123, 8), "at most eight");
    assert_eq!(demand(&mut leap, 5000), run(5001, 4), "it shrinks by halves");
    assert_eq!(demand(&mut leap, 9000), run(9001, 2));
    assert_eq!(demand(&mut leap, 70_000), run(70_001, 1));
    assert_eq!(demand(&mut leap, 3), []);
}

#[test]
fn a_stride_is_followed_through_interruptions() {
    let mut leap = leap(false);
    for page in [900, 893, 886, 879] {
        demand(&mut leap, page);
    }
    used(&mut leap, 872);
    assert_eq!(demand(&mut leap, 865), pages([858, 851]));
    assert_eq!(demand(&mut leap, 10_000), pages([9993]), "no trend now, the last one goes on");
    for page in [858, 851] {
        used(&mut leap, page);
    }
    assert_eq!(demand(&mut leap, 844), pages([837, 830, 823, 816]));
}

#[test]
fn pages_below_zero_are_left_out() {
    let mut leap = leap(false);
    for page in [34, 25, 16] {
        assert_eq!(demand(&mut leap, page), []);
    }
    assert_eq!(demand(&mut leap, 7), []);
}

#[test]
fn unseen_uses_are_inferred_from_the_next_fault() {
    let mut inferring = leap(true);
    let mut seeing = leap(false);
    for page in 100..104 {
        assert_eq!(demand(&mut inferring, page), demand(&mut seeing, page));
    }
    let mut page = 103;
    for window in [1, 2, 4, 8, 8, 8] {
        (page + 1..=page + window).for_each(|page| used(&mut seeing, page));
        page += window + 1;
        assert_eq!(demand(&mut inferring, page), demand(&mut seeing, page), "{page}");
    }
    let mut blind = leap(false);
    (100..104).for_each(|page| drop(demand(&mut blind, page)));
    assert_eq!(demand(&mut blind, 105), [], "not the trend, and no use was seen");
}

#[test]
fn a_use_tells_of_those_before_it() {
    let (mut inferring, mut seeing) = (leap(true), leap(false));
    for page in [0, 7, 14, 21] {
        assert_eq!(demand(&mut inferring, page), demand(&mut seeing, page));
    }
    let mut page = 21;
    for (window, seen) in [(1, 1), (2, 2), (4, 1), (8, 5), (8, 8), (8, 3)] {
        (1..=window).for_each(|steps| used(&mut seeing, page + 7 * steps));
        used(&mut inferring, page + 7 * seen);
        page += 7 * (window + 1);
        assert_eq!(demand(&mut inferring, page), demand(&mut seeing, page), "{page}");
    }
}

#[test]
fn a_page_that_faults_again_and_again_is_no_stride() {
    let mut leap = leap(true);
    for _ in 0..20 {
        assert_eq!(demand(&mut leap, 7), []);
    }
}

proptest! {
    #[test]
    fn a_trend_is_a_majority_of_its_window(
        accesses in prop::collection::vec(0..6_u64, 1..60),
        size in 1..40_usize,
        splits in 1..8_usize,
    ) {
        let mut history = AccessHistory::new(size, splits);
        let mut deltas = Vec::new();
        for page in accesses {
            deltas.extend(history.record(PageId(page)));
            let mut window = (size / splits).max(1);
            let mut expected = None;
            while window <= size && expected.is_none() {
                let latest: Vec<i64> = deltas.iter().rev().take(window).copied().collect();
                let count = |delta: i64| latest.iter().filter(|other| **other == delta).count();
                expected = (-6..6).find(|&delta| 2 * count(delta) > window);
                window *= 2;
            }
            prop_assert_eq!(history.trend(), expected);
        }
    }
}
