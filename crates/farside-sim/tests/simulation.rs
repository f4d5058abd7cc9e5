//! The timed model: counts like plain demand paging, and times that can be checked by hand.

mod support;

use farside_policy::prefetch::{FixedReadahead, NoPrefetch};
use farside_policy::replacement::region::{RegionMap, RegionOptions};
use farside_policy::replacement::{Fifo, Lru, RegionSpecific};
use farside_sim::path::{Geometry, Path, SpacePage};
use farside_sim::replay;
use farside_sim::simulation::{Costs, Memory, Outcome, Simulation};
use farside_sim::sweep::{BadSetup, Setup, Sweep};
use farside_trace::{Access, PageId};
use proptest::prelude::*;
use support::{Traces, golden, miss_rows};

const COSTS: Costs = Costs {
    access_ns: 1.0,
    fault_ns: 100.0,
    first_touch_ns: 10.0,
    latency_ns: 1_000.0,
    byte_ns: 1.0,
    path_fault_ns: 1e6,
};

/// Nanoseconds that a page takes on the network.
const TRANSFER: u64 = 4096;

fn read(page: u64) -> Access {
    Access::from(PageId(page))
}

fn write(page: u64) -> Access {
    Access { write: true, ..read(page) }
}

fn setup(replacement: &str, prefetch: &str, pages: usize) -> Setup {
    let memory = Memory::new(pages);
    Setup { replacement: replacement.into(), prefetch: prefetch.into(), window: 8, memory }
}

#[test]
fn sweeps_give_the_golden_misses() {
    let Some(golden) = golden("sweeps_give_the_golden_misses") else { return };
    let mut traces = Traces::new(&golden);
    for name in ["real_fft_m16.f16.u64", "scanmix200k.u64"] {
        let rows: Vec<_> = miss_rows(&golden).into_iter().filter(|row| row.trace == name).collect();
        let trace = traces.get(name).expect("a golden trace");
        let setups: Vec<_> = rows.iter().map(|row| setup(&row.policy, "none", row.pages)).collect();
        let mut sweep = Sweep::new(&setups, COSTS).expect("all names are known");
        let accesses: Vec<_> = trace.iter().map(|page| Access::from(*page)).collect();
        accesses.chunks(777).for_each(|chunk| sweep.feed(chunk));
        for (row, outcome) in rows.iter().zip(sweep.finish()) {
            let outcome = outcome.expect("the trace is short");
            assert_eq!(outcome.misses, row.misses, "{} {} {}", row.policy, row.trace, row.pages);
            assert_eq!(outcome.accesses, trace.len() as u64);
        }
    }
}

#[test]
fn time_adds_up() {
    let mut simulation = Simulation::new(Fifo::new(), NoPrefetch, Memory::new(2), COSTS);
    // The third first touch evicts the first page.
    [write(1), read(2), read(3)].into_iter().for_each(|access| simulation.access(access));
    let three = simulation.outcome();
    assert_eq!((three.misses, three.first_touches, three.demand_faults()), (3, 3, 0));
    assert_eq!(three.projected_time_ns, 3 * (1 + 10));
    // The far store has nothing of a page that leaves for the first time.
    assert_eq!(three.written_bytes, 4096);
    simulation.access(read(1));
    let four = simulation.outcome();
    assert_eq!((four.demand_faults(), four.fetched_bytes), (1, 4096));
    assert_eq!(four.projected_time_ns, 3 * 11 + 1 + 100 + 1_000 + TRANSFER);
    // It comes back clean, and leaves so.
    [read(4), read(5)].into_iter().for_each(|access| simulation.access(access));
    assert_eq!(simulation.outcome().written_bytes, 3 * 4096);
}

#[test]
fn prefetched_pages_are_used_late_or_unused() {
    let memory = Memory { pages: 12, most_foreseen: 3, most_unused: 12 };
    let mut simulation = Simulation::new(Lru::new(), FixedReadahead::new(3), memory, COSTS);
    (0..24).for_each(|page| simulation.access(read(page)));
    let before = simulation.outcome();
    assert_eq!((before.demand_faults(), before.prefetched), (0, 0));
    // 0 is demanded, 1 to 3 follow; 1 is wanted while it is still on its way, 3 when it has landed.
    simulation.access(read(0));
    simulation.access(read(1));
    simulation.access(Access { weight: 50_000, ..read(3) });
    let after = simulation.outcome();
    assert_eq!((after.demand_faults(), after.prefetch_late, after.prefetch_used), (1, 1, 1));
    assert_eq!(after.fetched_bytes, (1 + after.prefetched) * 4096);
    assert!(after.prefetched >= 3);
    // All of the rest leaves without having been used.
    (100..140).for_each(|page| simulation.access(Access { weight: 50_000, ..read(page) }));
    let end = simulation.outcome();
    let known = end.prefetch_used + end.prefetch_late + end.prefetch_unused;
    assert_eq!(known, end.prefetched);
    assert_eq!((end.prefetched, end.accuracy()), (4, 0.5));
    assert_eq!(end.coverage(), 1.0 / 3.0);
}

#[test]
fn impossible_combinations_are_refused() {
    let refused = |replacement, prefetch| {
        Sweep::new(&[setup(replacement, prefetch, 10)], COSTS).err().expect("it is refused")
    };
    assert_eq!(refused("best", "none"), BadSetup::Replacement("best".into()));
    assert_eq!(refused("lru", "all"), BadSetup::Prefetch("all".into()));
    assert!(refused("opt", "readahead").to_string().contains("without prefetching"));
}

/// Accesses with some locality.
fn accesses() -> impl Strategy<Value = Vec<Access>> {
    let access = (0..6_u64, 0..40_u64, any::<bool>(), 1..2000_u32)
        .prop_map(|(far, near, write, weight)| (far * 100 + near, write, weight));
    let run = (access, 1..20_u64).prop_map(|((page, write, weight), len)| {
        (page..page + len).map(|page| Access { write, weight, ..read(page) }).collect::<Vec<_>>()
    });
    prop::collection::vec(run, 0..60).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn counts_hold_together(
        accesses in accesses(),
        pages in 1..80_usize,
        policy in prop::sample::select(vec!["fifo", "second-chance", "lru", "2q", "arc", "lirs", "clock-pro", "region"]),
        prefetcher in prop::sample::select(vec!["none", "readahead", "linux", "leap", "proximity", "tape"]),
    ) {
        let mut sweep = Sweep::new(&[setup(policy, prefetcher, pages)], COSTS).unwrap();
        sweep.feed(&accesses);
        let data = sweep.data_accesses();
        let outcome: Outcome = sweep.finish()[0].unwrap();
        let plain = replay::misses(
            farside_policy::replacement::by_name(policy).unwrap(),
            pages,
            accesses.iter().map(|access| access.page),
        );
        if prefetcher == "none" {
            prop_assert_eq!(outcome.misses, plain);
        }
        let known = outcome.prefetch_used + outcome.prefetch_late + outcome.prefetch_unused;
        prop_assert!(known <= outcome.prefetched && outcome.prefetched - known <= pages as u64);
        let fetched = outcome.demand_faults() + outcome.prefetched;
        prop_assert_eq!(outcome.fetched_bytes, fetched * 4096);
        prop_assert_eq!(outcome.projected_time_ns, data + outcome.waited_ns);
    }
}

/// Skewed accesses to `pages` pages, some of them writes.
fn skewed(seed: u64, count: usize, pages: u64) -> Vec<Access> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut access = || {
        let page = next() % pages * (next() % pages) / pages;
        Access { write: next().is_multiple_of(4), ..read(page) }
    };
    (0..count).map(|_| access()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// More accesses than there are places before the list of pages is compacted.
    #[test]
    fn lru_at_all_sizes_at_once_is_lru_at_each(
        seed in any::<u64>(),
        pages in 1..2_000_u64,
        count in prop_oneof![0..2_000_usize, 130_000..200_000_usize],
        sizes in prop::collection::vec(1..2_500_usize, 1..6),
    ) {
        let accesses = skewed(seed, count, pages);
        let setups: Vec<_> = sizes.iter().map(|pages| setup("lru", "none", *pages)).collect();
        let mut sweep = Sweep::new(&setups, COSTS).expect("a known policy");
        accesses.chunks(4_096).for_each(|chunk| sweep.feed(chunk));
        for (pages, outcome) in sizes.iter().zip(sweep.finish()) {
            let mut one = Simulation::new(Lru::new(), NoPrefetch, Memory::new(*pages), COSTS);
            accesses.iter().for_each(|access| one.access(*access));
            prop_assert_eq!(outcome, Some(one.outcome()), "{} pages", pages);
        }
    }
}

/// What the hardware holds is in constant use and not recorded: the region-specific policy keeps as much.
#[test]
fn regions_behind_the_hardware_keep_as_much_as_it_hides() {
    let geometry = Geometry { tlb: 0, sets: 2, ways: 4, filter: 4, log: 16 };
    // A loop over more than fits, for which MRU is right, and four pages in constant use.
    let turns = (0..400_000_u64).flat_map(|i| [read(1_000 + i % 300), read(i % 4)]);
    let accesses: Vec<_> = turns.collect();
    let mut sweep = Sweep::new(&[setup("region", "none", 150)], COSTS)
        .and_then(|sweep| sweep.behind_path(geometry))
        .expect("a known policy");
    accesses.chunks(4_096).for_each(|chunk| sweep.feed(chunk));
    let found = sweep.finish()[0].expect("the trace is short").misses;
    let with_hot = |hot| {
        let options = RegionOptions { hot, ..RegionOptions::default() };
        let policy = RegionSpecific::with_options(RegionMap::default(), options);
        let mut simulation = Simulation::new(policy, NoPrefetch, Memory::new(150), COSTS);
        let mut path = Path::new(geometry);
        for access in &accesses {
            if path.access(SpacePage { space: 0, page: access.page }, |_| ()) {
                simulation.access(*access);
            } else {
                simulation.access_unseen(*access);
            }
        }
        simulation.outcome().misses
    };
    assert_eq!(found, with_hot(8 + 4));
    assert_ne!(found, with_hot(0), "it makes a difference");
}
