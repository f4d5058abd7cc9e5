//! Region-specific replacement: what it is for.

use crate::support::{Paging, Traces, golden, golden_rows, misses};
use farside_policy::replacement::region::{Order, RegionMap, RegionOptions, RegionSpecific};
use farside_policy::replacement::{Arrival, Lru, Mru, ReplacementPolicy};
use farside_trace::PageId;

/// Misses of the policy with one region.
fn alone(pages: usize, trace: &[PageId]) -> usize {
    misses(RegionSpecific::new(), pages, trace)
}

#[test]
fn a_single_region_does_no_worse_than_lru_on_the_golden_traces() {
    let test = "a_single_region_does_no_worse_than_lru_on_the_golden_traces";
    let Some(golden) = golden(test) else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in golden_rows(&golden, "lru") {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let found = alone(row.pages, trace);
        // FFT goes through phases that want different orders, and pays for each change.
        let noise = row.misses / if row.trace.contains("fft") { 2 } else { 200 };
        assert!(found <= row.misses + noise, "{} {}: {found}", row.trace, row.pages);
        checked += 1;
    }
    assert!(checked > 50);
}

#[test]
fn a_loop_is_found_to_want_mru() {
    let trace: Vec<_> = (0..100_000).map(|i| PageId(i % 1000)).collect();
    let (lru, mru) = (misses(Lru::new(), 700, &trace), misses(Mru::new(), 700, &trace));
    assert_eq!((lru, mru), (100_000, 1000 + 99 * 300));
    let found = alone(700, &trace);
    assert!(found < mru + 3000, "{found}");
}

#[test]
fn a_region_returns_to_lru_when_its_loop_ends() {
    let mut trace: Vec<_> = (0..50_000).map(|i| PageId(i % 1000)).collect();
    let looped = misses(Mru::new(), 700, &trace);
    // Ever new pages, each used a few times shortly after another.
    trace.extend((0..100_000).map(|i| PageId(2000 + i / 10 + i % 10)));
    let found = alone(700, &trace);
    assert!(found < looped + 3000 + 10_009 + 3000, "{found}");
}

/// A loop over 300 pages, 200 pages used at random, and 2000 pages that are used once in a while.
fn mixed() -> Vec<PageId> {
    let mut random = 1_u64;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    (0..100_000_u64)
        .flat_map(|i| [i % 300, 1_000_000 + next() % 200, 2_000_000 + next() % 2000])
        .map(PageId)
        .collect()
}

#[test]
fn memory_goes_where_it_helps() {
    let trace = mixed();
    let count = |mut policy: Box<dyn ReplacementPolicy>| {
        policy.set_capacity(450);
        let mut slots = std::collections::HashMap::new();
        let mut count = 0;
        for &page in &trace {
            match slots.get(&page) {
                Some(&slot) => policy.access(slot),
                None => {
                    count += 1;
                    policy.expect(page);
                    if slots.len() == 450 {
                        slots.remove(&policy.victim().unwrap());
                    }
                    slots.insert(page, policy.insert(page, Arrival::Demand));
                }
            }
        }
        count
    };
    let lru = count(Box::new(Lru::new()));
    let region = count(Box::new(RegionSpecific::new()));
    // At best 200 and 250 pages for the first two, and nearly all misses in the third.
    let ideal = 100_000 * 50 / 300 + 100_000;
    assert!(lru > 230_000, "{lru}");
    assert!(region < ideal + ideal / 10, "{region}, at best {ideal}");
}

#[test]
fn orders_and_sizes_can_be_told() {
    let mut policy = RegionSpecific::new();
    policy.set_capacity(700);
    let mut slots = std::collections::HashMap::new();
    for page in (0..50_000).map(|i| PageId(i % 1000)) {
        match slots.get(&page) {
            Some(&slot) => policy.access(slot),
            None => {
                policy.expect(page);
                if slots.len() == 700 {
                    slots.remove(&policy.victim().unwrap());
                }
                slots.insert(page, policy.insert(page, Arrival::Demand));
            }
        }
    }
    assert_eq!(policy.regions().collect::<Vec<_>>(), [(Order::Mru, 700)]);
    policy.expect(PageId(1 << 40));
    let regions: Vec<_> = policy.regions().map(|(_, pages)| pages).collect();
    assert_eq!(regions, [700 - 21, 21], "a new region gets a step of the largest");
    policy.set_capacity(100);
    assert_eq!(policy.regions().map(|(_, pages)| pages).sum::<usize>(), 100);
}

#[test]
fn a_prefetched_page_is_not_the_next_to_leave() {
    let mut policy = RegionSpecific::new();
    policy.set_capacity(100);
    let mut paging = Paging::new(policy, 100);
    for page in (0..20_000).map(|i| PageId(i % 200)) {
        paging.reference(page);
    }
    let mut policy = paging.into_policy();
    assert_eq!(policy.regions().next(), Some((Order::Mru, 100)));
    policy.victim();
    policy.insert(PageId(1000), Arrival::Prefetch);
    assert_ne!(policy.victim(), Some(PageId(1000)));
}

#[test]
fn hot_pages_stay_where_mru_would_give_them_up() {
    let (capacity, hot) = (100, 10);
    let looped = |hot| {
        let options = RegionOptions { hot, ..RegionOptions::default() };
        let mut policy = RegionSpecific::with_options(RegionMap::by_gap(u64::MAX, 1), options);
        policy.set_capacity(capacity);
        let mut paging = Paging::new(policy, capacity);
        for page in (0..20_000).map(|i| PageId(i % 200)) {
            paging.reference(page);
        }
        let mut policy = paging.into_policy();
        assert_eq!(policy.regions().next(), Some((Order::Mru, capacity)));
        policy.victim();
        for page in (1000..).map(PageId).take(hot.max(1)) {
            policy.expect(page);
            policy.insert(page, Arrival::Demand);
            policy.victim();
        }
        policy
    };
    let mut mru = looped(0);
    assert!(mru.victim().is_some_and(|page| page.0 < 1000), "1000 left at once");
    let mut policy = looped(hot);
    let gone: Vec<_> = std::iter::from_fn(|| policy.victim()).collect();
    let kept = capacity - 1;
    assert_eq!(gone.len(), kept, "all can leave");
    // The hot ones leave last, the one not used for longest first.
    let last: Vec<_> = (1000..1010).map(PageId).collect();
    assert_eq!(gone[kept - hot..], last);
}

#[test]
fn hot_pages_are_at_most_half_the_capacity() {
    let options = RegionOptions { hot: usize::MAX, ..RegionOptions::default() };
    let mut policy = RegionSpecific::with_options(RegionMap::by_gap(u64::MAX, 1), options);
    policy.set_capacity(10);
    let slots: Vec<_> = (0..10).map(|page| policy.insert(PageId(page), Arrival::Demand)).collect();
    policy.access(slots[0]);
    policy.remove(slots[9]);
    let gone: Vec<_> = std::iter::from_fn(|| policy.victim()).collect();
    assert_eq!(gone, [1, 2, 3, 4, 5, 6, 7, 8, 0].map(PageId));
}
