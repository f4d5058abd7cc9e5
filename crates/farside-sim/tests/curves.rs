//! One-pass curves against plain definitions, on traces of all kinds.

use farside_policy::replacement::{Lru, Mru};
use farside_sim::belady::{self, Insertion};
use farside_sim::curve::{LruDistances, LruStack, MruDistances, OptDistances, SampledDistances};
use farside_sim::next_use::next_uses;
use farside_sim::replay;
use farside_trace::PageId;
use proptest::prelude::*;

/// Traces with runs, loops and repeats.
fn trace() -> impl Strategy<Value = Vec<PageId>> {
    let pages = prop_oneof![0..20_u64, 0..300_u64, (0..40_u64).prop_map(|page| page << 40)];
    let run = (pages, 1..30_u64, 1..4_usize).prop_map(|(first, len, times)| {
        (0..times).flat_map(|_| (first..first + len).map(PageId)).collect::<Vec<_>>()
    });
    prop::collection::vec(run, 0..30).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn curves_agree_with_one_simulation_per_size(trace in trace()) {
        let next = next_uses(&trace);
        let (mut lru, mut mru) = (LruDistances::new(), MruDistances::new());
        for page in &trace {
            lru.reference(*page);
            mru.reference(*page);
        }
        let (lru, mru) = (lru.distances().curve(), mru.distances().curve());
        let opt = OptDistances::of(&next).curve();
        prop_assert_eq!(lru.references(), trace.len() as u64);
        for pages in [1, 2, 3, 7, 20, 55, 200, 1000] {
            let all = || trace.iter().copied();
            prop_assert_eq!(lru.misses(pages), replay::misses(Lru::new(), pages, all()));
            prop_assert_eq!(mru.misses(pages), replay::misses(Mru::new(), pages, all()));
            let least = belady::misses(&next, pages, Insertion::Forced);
            prop_assert_eq!(opt.misses(pages), least);
            prop_assert!(belady::misses(&next, pages, Insertion::Optional) <= least);
            prop_assert!(least <= lru.misses(pages) && least <= mru.misses(pages));
        }
    }

    #[test]
    fn group_headers_agree_with_exact_distances(trace in trace(), group in 1..40_usize) {
        let sizes = [3, 1, 17, 100, 250, 3];
        let mut exact = LruDistances::new();
        let mut every = LruStack::in_groups_of(group);
        let mut some = LruStack::at_sizes(&sizes);
        for page in &trace {
            let distance = exact.reference(*page);
            let found = every.reference(*page);
            prop_assert_eq!(found, distance.map(|distance| (distance - 1) / group));
            let above = |distance| [1, 3, 17, 100, 250].iter().filter(|size| **size < distance).count();
            prop_assert_eq!(some.reference(*page), distance.map(above));
        }
        let curve = exact.distances().curve();
        for pages in (1..10).map(|groups| groups * group) {
            prop_assert_eq!(every.misses(pages), Some(curve.misses(pages)));
        }
        for pages in sizes {
            prop_assert_eq!(some.misses(pages), Some(curve.misses(pages)));
        }
        prop_assert_eq!(some.misses(2), None);
    }

    #[test]
    fn a_sample_of_all_pages_is_exact(trace in trace()) {
        let mut exact = LruDistances::new();
        for page in &trace {
            exact.reference(*page);
        }
        let curve = exact.distances().curve();
        let mut sample = SampledDistances::new(1.0, 3);
        sample.references(&trace);
        let sizes = [1, 5, 50, 500];
        for point in sample.curve(&sizes).points {
            let expected = if trace.is_empty() { 1.0 } else { curve.miss_ratio(point.pages) };
            prop_assert!((point.miss_ratio - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn compaction_changes_no_distance() {
    // More references than there are slots at first, over few and over many pages.
    for pages in [10, 70_000u64] {
        let mut lru = LruDistances::new();
        for i in 0..400_000 {
            let distance = lru.reference(PageId(i % pages));
            assert_eq!(distance, (i >= pages).then_some(pages as usize), "reference {i}");
        }
    }
}

#[test]
fn a_sample_states_an_error_of_the_right_size() {
    // Pages are the less popular the higher their number.
    let mut state = 1u64;
    let trace: Vec<_> = (0..2_000_000)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
            PageId((200_000.0 * uniform.powi(3)) as u64)
        })
        .collect();
    let mut exact = LruDistances::new();
    for page in &trace {
        exact.reference(*page);
    }
    let curve = exact.distances().curve();
    let mut sample = SampledDistances::new(0.05, 11);
    sample.references(&trace);
    let sizes: Vec<_> = (1..=100).map(|i| i * 2000).collect();
    let sampled = sample.curve(&sizes);
    let off = |point: &farside_sim::curve::SampledPoint| {
        (point.miss_ratio - curve.miss_ratio(point.pages)).abs()
    };
    let mean = sampled.points.iter().map(off).sum::<f64>() / 100.0;
    assert!(mean < 0.02, "{mean} off");
    assert!(mean < 4.0 * sampled.mean_error, "{mean} off, {} stated", sampled.mean_error);
    assert!(sampled.points.windows(2).all(|pair| pair[1].miss_ratio <= pair[0].miss_ratio));
}
