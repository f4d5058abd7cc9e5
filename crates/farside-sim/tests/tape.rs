//! Simulations that know what comes: on traces that can be checked by hand, and against what LRU does.

mod support;

use farside_policy::replacement::Lru;
use farside_sim::path::Geometry;
use farside_sim::replay;
use farside_sim::simulation::{Costs, Memory, Outcome};
use farside_sim::sweep::{BadSetup, Setup, Sweep, TAPE_DELAY};
use farside_trace::{Access, PageId};
use proptest::prelude::*;
use support::{Traces, golden};

const COSTS: Costs = Costs {
    access_ns: 1.0,
    fault_ns: 100.0,
    first_touch_ns: 10.0,
    latency_ns: 1_000.0,
    byte_ns: 1.0,
    path_fault_ns: 1e6,
};

/// Data accesses that take longer than it takes to fetch a page.
const LONG: u32 = 50_000;

fn access(page: u64, weight: u32) -> Access {
    Access { weight, ..Access::from(PageId(page)) }
}

fn setup(replacement: &str, prefetch: &str, pages: usize, window: u32) -> Setup {
    let memory = Memory::new(pages);
    Setup { replacement: replacement.into(), prefetch: prefetch.into(), window, memory }
}

fn outcomes(setups: &[Setup], accesses: &[Access]) -> Vec<Outcome> {
    let mut sweep = Sweep::new(setups, COSTS).expect("these can be simulated");
    accesses.chunks(4_096).for_each(|some| sweep.feed(some));
    sweep.finish().into_iter().map(|outcome| outcome.expect("the trace is short")).collect()
}

fn outcome(setup: Setup, accesses: &[Access]) -> Outcome {
    outcomes(&[setup], accesses)[0]
}

fn lru_demand_faults(pages: usize, accesses: &[Access]) -> u64 {
    outcome(setup("lru", "none", pages, 0), accesses).demand_faults()
}

/// Three turns through nine pages with room for eight, two of which come ahead. All of the second and third
/// turn is on the tape. Its first page has to be waited for; every third, 2, 5 and 8, is still here when it
/// is to be asked for, and so stays; the others are fetched.
#[test]
fn a_loop_is_foreseen_but_for_its_first_fault() {
    let turns = |weight| (0..27).map(|i| access(i % 9, weight)).collect::<Vec<_>>();
    let found = outcome(setup("lru", "tape", 8, 2), &turns(LONG));
    assert_eq!((found.accesses, found.misses, found.first_touches), (27, 10, 9));
    assert_eq!((found.prefetched, found.prefetch_used), (11, 11));
    assert_eq!((found.prefetch_late, found.prefetch_unused), (0, 0));
    assert_eq!((found.fetched_bytes, found.written_bytes), (12 * 4096, 6 * 4096));
    assert_eq!((found.accuracy(), found.coverage()), (1.0, 11.0 / 12.0));
    // All waiting is that for the first touches and for one fault.
    assert_eq!(found.waited_ns, 9 * 10 + 100 + 1_000 + 4096);
    // Without time between the accesses the network is the limit.
    let hurried = outcome(setup("lru", "tape", 8, 2), &turns(1));
    assert_eq!((hurried.misses, hurried.prefetched, hurried.prefetch_late), (10, 11, 11));
    // Nothing may be fetched ahead where a quarter of the memory is less than a page.
    let small = outcome(setup("lru", "tape", 3, 2), &turns(LONG));
    assert_eq!((small.misses, small.prefetched), (27, 0));
}

#[test]
fn pages_that_stay_are_not_on_the_tape() {
    let turns: Vec<_> =
        (0..27).flat_map(|i| [access(100, LONG), access(i % 9, LONG), access(101, LONG)]).collect();
    let found = outcome(setup("lru", "tape", 10, 2), &turns);
    assert_eq!((found.misses, found.first_touches), (12, 11));
    assert_eq!((found.prefetched, found.prefetch_used, found.prefetch_unused), (11, 11, 0));
}

/// First touches in between throw out what was fetched ahead: it is asked for once more.
#[test]
fn what_left_unused_is_fetched_again() {
    let turn = |first: u64, pages: u64| (first..first + pages).map(|page| access(page, LONG));
    let trace: Vec<_> =
        turn(0, 16).chain(turn(0, 2)).chain(turn(100, 16)).chain(turn(2, 14)).collect();
    let found = outcome(setup("lru", "tape", 12, 3), &trace);
    assert_eq!(found.first_touches, 32);
    assert_eq!(found.prefetch_unused, 3, "2, 3 and 4 leave before they are used");
    assert_eq!(found.demand_faults(), 2, "0, and 2, with which 3 and 4 come again");
    assert_eq!(found.prefetched, 1 + 3 + 2 + 11);
}

#[test]
fn the_tape_is_known_as_far_ahead_as_the_trace_is_held_back() {
    let demand_faults = |distance: usize| {
        let touched = (0..8).map(|page| access(page, 1));
        let waiting = std::iter::repeat_n(access(0, 1), distance);
        let trace: Vec<_> = touched.chain(waiting).chain([access(1, 1)]).collect();
        outcome(setup("lru", "tape", 4, 8), &trace).demand_faults()
    };
    assert_eq!(demand_faults(1), 1, "that on page 0");
    assert_eq!(demand_faults(TAPE_DELAY), 1);
    assert_eq!(demand_faults(TAPE_DELAY + TAPE_DELAY / 16), 2);
}

#[test]
fn hardly_any_fault_is_left_on_the_golden_traces() {
    let Some(golden) = golden("hardly_any_fault_is_left_on_the_golden_traces") else { return };
    let mut traces = Traces::new(&golden);
    for name in ["loop200k.u64", "zipf200k.u64", "scanmix200k.u64", "real_cg_S.f16.u64"] {
        let trace = traces.get(name).expect("a golden trace");
        let accesses: Vec<_> = trace.iter().map(|page| access(page.0, LONG)).collect();
        for pages in [40, 400, 4_000] {
            let with = outcome(setup("lru", "tape", pages, 64), &accesses);
            let without = lru_demand_faults(pages, &accesses);
            let left = with.demand_faults();
            assert!(left <= 1 + without / 500, "{name}, {pages} pages: {left} of {without}");
            assert!(with.prefetch_unused <= without / 500, "{name}, {pages} pages: {with:?}");
            assert_eq!(left + with.prefetch_used + with.prefetch_late > 0, without > 0);
            // The tape is not made for other policies, and still serves them.
            for policy in ["second-chance", "fifo"] {
                let setups = ["none", "tape"].map(|prefetch| setup(policy, prefetch, pages, 64));
                let faults: Vec<_> =
                    outcomes(&setups, &accesses).iter().map(Outcome::demand_faults).collect();
                let (without, left) = (faults[0], faults[1]);
                assert!(left <= 10 + without / 6, "{name}, {policy}: {left} of {without}");
            }
        }
    }
}

#[test]
fn the_prefetcher_is_named_and_refused_like_others() {
    let refused = |replacement| {
        Sweep::new(&[setup(replacement, "tape", 10, 8)], COSTS).err().expect("it is refused")
    };
    assert_eq!(refused("best"), BadSetup::Replacement("best".into()));
    assert_eq!(refused("opt"), BadSetup::Clairvoyant("opt".into(), "tape".into()));
}

/// Skewed accesses with an eye on what comes after what.
fn skewed(seed: u64, count: usize, pages: u64) -> Vec<Access> {
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut one = || {
        let page = next() % pages * (next() % pages) / pages;
        Access { write: next().is_multiple_of(4), ..access(page, 1 + (next() % 3) as u32 * 900) }
    };
    (0..count).map(|_| one()).collect()
}

/// More accesses than are held back.
#[test]
fn it_makes_no_difference_in_what_pieces_a_trace_comes() {
    let accesses = skewed(7, TAPE_DELAY + 150_000, 3_000);
    let setups = [
        setup("lru", "tape", 300, 16),
        setup("arc", "tape", 900, 64),
        setup("fifo", "none", 300, 8),
    ];
    let geometry = Geometry { tlb: 0, sets: 8, ways: 4, filter: 8, log: 16 };
    for hidden in [false, true] {
        let outcomes = |size: usize| {
            let sweep = Sweep::new(&setups, COSTS).expect("known names");
            let mut sweep = if hidden { sweep.behind_path(geometry).unwrap() } else { sweep };
            accesses.chunks(size).for_each(|some| sweep.feed(some));
            sweep.finish()
        };
        let whole = outcomes(accesses.len());
        assert!(whole[0].is_some_and(|found| found.accesses == accesses.len() as u64));
        for size in [61, 4_096, 70_001] {
            assert_eq!(outcomes(size), whole, "pieces of {size}, hidden: {hidden}");
        }
    }
}

/// Those with the same memory follow one tape; each outcome is that of the setup in its place.
#[test]
fn simulations_at_once_are_those_alone() {
    let accesses = skewed(3, 60_000, 2_000);
    let setups = [
        setup("lru", "tape", 200, 16),
        setup("fifo", "none", 100, 16),
        setup("arc", "tape", 200, 16),
        setup("opt", "none", 100, 16),
        setup("lru", "tape", 200, 4),
        setup("lru", "none", 200, 16),
        setup("second-chance", "tape", 50, 16),
        setup("lru", "tape", 200, 16),
    ];
    let together = outcomes(&setups, &accesses);
    for (setup, found) in setups.into_iter().zip(together) {
        assert_eq!(outcome(setup.clone(), &accesses), found, "{setup:?}");
    }
}

/// The tape is told of uses that hardware hides from the policy, and does not lose its place.
#[test]
fn hidden_accesses_do_not_hide_the_place() {
    let accesses: Vec<_> =
        skewed(5, 100_000, 3_000).iter().map(|other| access(other.page.0, LONG)).collect();
    // More is hidden than fits into the memory: all but faults.
    let geometry = Geometry { tlb: 0, sets: 1024, ways: 4, filter: 64, log: 128 };
    let setups = [setup("second-chance", "none", 500, 64), setup("second-chance", "tape", 500, 64)];
    let mut sweep = Sweep::new(&setups, COSTS).unwrap().behind_path(geometry).unwrap();
    sweep.feed(&accesses);
    let found: Vec<_> = sweep.finish().into_iter().flatten().collect();
    let (without, with) = (found[0].demand_faults(), found[1].demand_faults());
    assert!(with < without / 4, "{with} of {without}");
}

/// Accesses with some locality, and first touches anywhere between.
fn local_accesses() -> impl Strategy<Value = Vec<Access>> {
    let run = (0..6_u64, 0..40_u64, 1..20_u64, 1..2000_u32).prop_map(|(far, near, len, weight)| {
        (far * 100 + near..far * 100 + near + len)
            .map(|page| access(page, weight))
            .collect::<Vec<_>>()
    });
    prop::collection::vec(run, 0..80).prop_map(|runs| runs.concat())
}

proptest! {
    /// What is fetched ahead never takes more room than the lookahead. So a page that is not there and was
    /// not asked for would be missing in a smaller memory too.
    #[test]
    fn there_are_no_more_faults_than_with_so_much_less_memory(
        accesses in prop_oneof![
            local_accesses(),
            (any::<u64>(), 0..3_000_usize, 1..300_u64).prop_map(|(seed, n, pages)| skewed(seed, n, pages)),
        ],
        pages in 1..120_usize,
        window in 0..40_u32,
    ) {
        let found = outcome(setup("lru", "tape", pages, window), &accesses);
        let lookahead = (window as usize).min(pages / 4);
        if lookahead + 1 < pages {
            let less = pages - lookahead - 1;
            prop_assert!(found.demand_faults() <= lru_demand_faults(less, &accesses));
        }
        let plain = replay::misses(Lru::new(), pages - lookahead, accesses.iter().map(|a| a.page));
        let listed = plain - found.first_touches;
        prop_assert!(found.prefetched <= 2 * listed, "each page on the tape is asked for twice at most");
        prop_assert!(found.demand_faults() > 0 || listed == 0 || found.prefetched == 0);
        prop_assert_eq!(found.fetched_bytes, (found.demand_faults() + found.prefetched) * 4096);
    }
}
