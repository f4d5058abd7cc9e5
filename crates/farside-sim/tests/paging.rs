//! Demand paging in batches: what can be counted by hand, and what always holds.

use farside_policy::replacement::{Fifo, SecondChance, by_name};
use farside_sim::page_map::PageMap;
use farside_sim::paging::{Faults, Paging};
use farside_sim::simulation::Costs;
use farside_trace::{Access, PageId, PageRange};
use proptest::collection::vec;
use proptest::prelude::*;

fn held(pages: impl IntoIterator<Item = u64>) -> PageMap {
    let mut held = PageMap::new();
    pages.into_iter().for_each(|page| *held.entry(PageId(page)) = 0);
    held
}

fn touch<P: farside_policy::replacement::ReplacementPolicy>(
    paging: &mut Paging<'_, P>,
    pages: impl IntoIterator<Item = u64>,
) {
    pages.into_iter().for_each(|page| paging.access(Access::from(PageId(page))));
}

/// Pages too far apart to be populated together.
fn apart(pages: std::ops::Range<u64>) -> impl Iterator<Item = u64> + Clone {
    pages.map(|page| page * 1000)
}

#[test]
fn pages_leave_in_batches() {
    // A limit of 80 pages: batches of 10.
    let held = held(apart(0..100));
    let mut paging = Paging::new(Fifo::new(), 80, Costs::default(), &held);
    touch(&mut paging, apart(0..80));
    assert_eq!(paging.faults(), Faults { first_touch: 80, ..Faults::default() });
    touch(&mut paging, apart(80..90));
    assert_eq!(paging.faults(), Faults { first_touch: 90, evicted: 10, ..Faults::default() });
    // The first ten are gone; each that comes back drives out none until ten have come.
    touch(&mut paging, apart(0..10));
    let faults = Faults { first_touch: 90, demand: 10, evicted: 20, ..Faults::default() };
    assert_eq!(paging.faults(), faults);
    touch(&mut paging, apart(20..90));
    assert_eq!(paging.faults(), faults, "the others are there");
    let outcome = paging.outcome();
    assert_eq!((outcome.accesses, outcome.misses, outcome.demand_faults()), (170, 100, 10));
}

#[test]
fn first_touches_bring_neighbours_that_are_held() {
    let held = held(0..50);
    let mut paging = Paging::new(Fifo::new(), 1000, Costs::default(), &held);
    // 16 pages, then as many as were touched before, as far as they are held.
    touch(&mut paging, 0..50);
    let faults = paging.faults();
    assert_eq!((faults.first_touch, faults.populated), (3, 47));
    // Downwards too: 16 pages, then as many as lie behind.
    let mut paging = Paging::new(Fifo::new(), 1000, Costs::default(), &held);
    touch(&mut paging, [49, 48]);
    let faults = paging.faults();
    assert_eq!((faults.first_touch, faults.populated), (2, 15));
}

#[test]
fn pages_that_were_only_populated_are_not_fetched() {
    // 16 pages come with the first touch, and leave unused when others come.
    let held = held((0..16).chain(apart(1..200)));
    let mut paging = Paging::new(Fifo::new(), 64, Costs::default(), &held);
    touch(&mut paging, [0]);
    assert_eq!(paging.faults().populated, 15);
    touch(&mut paging, apart(1..100));
    touch(&mut paging, 0..16);
    let faults = paging.faults();
    assert_eq!((faults.demand, faults.first_touch), (1, 1 + 99 + 15));
}

#[test]
fn what_is_used_while_watched_stays() {
    let held = held((0..64).chain(apart(1..4000)));
    // 64 pages side by side, used again and again, beside a scan.
    let run = |policy: &str| {
        let policy = by_name(policy).unwrap();
        let mut paging = Paging::new(policy, 512, Costs::default(), &held);
        apart(1..4000).for_each(|scanned| touch(&mut paging, (0..64).chain([scanned])));
        paging.faults()
    };
    let (fifo, second_chance) = (run("fifo"), run("second-chance"));
    assert_eq!((fifo.soft, fifo.unused), (0, 0), "nobody asked for it");
    assert!(second_chance.soft > 5 && second_chance.unused > 100, "{second_chance:?}");
    assert!(second_chance.demand * 4 < fifo.demand, "{second_chance:?} {fifo:?}");
}

#[test]
fn pages_given_back_are_as_if_never_touched() {
    let held = held(apart(0..100));
    let mut paging = Paging::new(SecondChance::new(), 64, Costs::default(), &held);
    touch(&mut paging, apart(0..100));
    paging.release(PageRange::new(PageId(0), 50_000));
    touch(&mut paging, apart(0..50));
    let faults = paging.faults();
    assert_eq!((faults.first_touch, faults.demand), (150, 0));
    paging.release(PageRange::new(PageId(0), u64::MAX));
    touch(&mut paging, apart(0..10));
    assert_eq!((paging.faults().first_touch, paging.faults().demand), (160, 0));
}

proptest! {
    #[test]
    fn no_more_pages_are_resident_than_may_be(
        pages in vec(0u64..400, 1..2000), limit in 1usize..300, second_chance: bool
    ) {
        let held = held(0..400);
        let policy = by_name(if second_chance { "second-chance" } else { "fifo" }).unwrap();
        let mut paging = Paging::new(policy, limit, Costs::default(), &held);
        for page in pages {
            touch(&mut paging, [page]);
            let before = paging.faults();
            let resident = before.demand + before.first_touch + before.populated - before.evicted;
            prop_assert!(resident <= limit as u64 && resident > 0);
            // What was just used is there: another use costs nothing but a look.
            touch(&mut paging, [page]);
            prop_assert_eq!(paging.faults(), before);
        }
    }
}

/// A loop over one mapping, and pages of another one by chance; which of them were missed in the last rounds.
fn mixed_misses(policy: &str) -> u64 {
    let (all, of_loop, of_chance) = (held(0..10_000), 6000, 2000);
    let policy = farside_policy::replacement::in_run(policy).expect("a policy of runs");
    let mut paging = Paging::new(policy, 5000, Costs::default(), &all);
    paging.appear(PageRange::new(PageId(0), of_loop));
    paging.appear(PageRange::new(PageId(7000), of_chance));
    let mut state = 1_u64;
    let mut before = 0;
    for round in 0..40 {
        if round == 20 {
            before = paging.faults().demand;
        }
        for page in 0..of_loop {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            touch(&mut paging, [page, 7000 + (state >> 33) % of_chance]);
        }
    }
    paging.faults().demand - before
}

#[test]
fn regions_are_found_out_by_what_is_tracked() {
    // Of 6,000 pages of the loop in each of 20 rounds, 3,000 have to be missed.
    assert_eq!(mixed_misses("region"), 77_456);
    assert_eq!(mixed_misses("second-chance"), 161_949);
}
