//! One-pass curves against plain definitions, on traces of all kinds.

use farside_policy::replacement::{Lru, Mru};
use farside_sim::belady::{self, Insertion};
use farside_sim::curve::{LruDistances, LruStack, MruDistances, OptDistances};
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
    fn references_together_have_the_distances_that_they_have_one_by_one(
        trace in trace(),
        times in 1..200_usize,
        cuts in prop::collection::vec(1..500_usize, 1..20),
    ) {
        let (mut single, mut together) = (LruDistances::new(), LruDistances::new());
        // Often enough that the slots are numbered anew, and in parts of all lengths.
        let trace = trace.repeat(times.min(100_000 / trace.len().max(1) + 1));
        trace.iter().for_each(|page| { single.reference(*page); });
        let (mut rest, mut cuts) = (&trace[..], cuts.iter().cycle());
        while let Some(cut) = cuts.next().filter(|_| !rest.is_empty()) {
            let (part, later) = rest.split_at((*cut).min(rest.len()));
            together.references(part);
            rest = later;
        }
        prop_assert_eq!(together.distances(), single.distances());
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
