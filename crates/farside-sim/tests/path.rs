//! PATH's hardware against the golden counts.

mod support;

use farside_policy::prefetch::{NoPrefetch, Prefetcher};
use farside_policy::replacement::{Clock, Lirs, Lru, ReplacementPolicy};
use farside_sim::path::{
    ActiveSet, AssociativeFilter, BehindPath, Counts, Fnv1a, Geometry, Overheads, Path, SpacePage,
};
use farside_sim::replay::{self, Replay};
use farside_sim::simulation::{Costs, Memory, Simulation};
use farside_trace::{Access, PageId};
use support::{Traces, golden, table};

fn count(trace: &[PageId], geometry: Geometry) -> (Counts, u64) {
    let mut path = Path::new(geometry);
    let mut hash = Fnv1a::new();
    for page in trace {
        path.access(SpacePage { space: 0, page: *page }, |entries| {
            entries.iter().for_each(|entry| hash.add(*entry));
        });
    }
    path.pending().iter().for_each(|entry| hash.add(*entry));
    (path.counts(), hash.value())
}

#[test]
fn the_golden_counts_come_out() {
    let Some(golden) = golden("the_golden_counts_come_out") else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in table(&golden.join("expected/path.tsv")) {
        let Some(trace) = traces.get(&row[0]) else { continue };
        let number = |i: usize| row[i].parse::<u64>().expect("a number");
        let size = |i: usize| number(i) as usize;
        let (sets, ways, filter, log) = (size(1), size(2), size(3), size(4));
        let (counts, hash) = count(trace, Geometry { tlb: 0, sets, ways, filter, log });
        let expected = [number(5), number(6), number(7), number(8)];
        let found = [counts.references, counts.buffer_misses, counts.recorded, counts.overflows];
        assert_eq!(found, expected, "{row:?}");
        assert_eq!(format!("{hash:016x}"), row[9], "{row:?}");
        checked += 1;
    }
    assert!(checked > 0, "no row has its trace");
}

#[test]
fn a_buffer_of_one_set_is_an_lru_memory() {
    let trace: Vec<_> = (0..4000u64).map(|i| PageId(i * i % 61 + i % 7 * 64)).collect();
    for ways in [1, 2, 16, 64] {
        let geometry = Geometry { sets: 1, ways, filter: 0, ..Geometry::default() };
        let (counts, _) = count(&trace, geometry);
        let misses = replay::misses(Lru::new(), ways, trace.iter().copied());
        assert_eq!(counts.buffer_misses, misses, "{ways} ways");
    }
}

#[test]
fn address_spaces_do_not_share_entries() {
    let mut path = Path::new(Geometry { filter: 0, ..Geometry::default() });
    let page = |space| SpacePage { space, page: PageId(1) };
    assert!(path.access(page(0), |_| ()));
    assert!(path.access(page(1), |_| ()));
    assert!(!path.access(page(0), |_| ()));
    assert_eq!(path.pending(), [page(0), page(1)]);
}

#[test]
fn impossible_sizes_are_refused() {
    let paper = Geometry::default();
    assert_eq!(paper.with_buffer(2048, 4), Ok(paper));
    for (entries, ways) in [(0, 4), (4, 0), (6, 4)] {
        let refused = paper.with_buffer(entries, ways).expect_err("it cannot be built");
        assert!(!refused.to_string().is_empty());
    }
    assert!(paper.with_log(0).is_err());
}

/// Faults on every reference while the policy sees those that miss the filter, how many of them were on
/// references the filter hid, and what the policy saw.
fn filtered<P: ReplacementPolicy>(
    policy: P,
    pages: usize,
    filter: usize,
    trace: &[PageId],
) -> [u64; 3] {
    let mut replay = Replay::new(policy, pages);
    let mut filter = AssociativeFilter::new(filter);
    let (mut faults, mut hidden_faults, mut updates) = (0, 0, 0);
    for page in trace {
        let hidden = filter.access(SpacePage { space: 0, page: *page });
        let fault = if hidden { replay.reference_unseen(*page) } else { replay.reference(*page) };
        faults += u64::from(fault);
        hidden_faults += u64::from(fault && hidden);
        updates += u64::from(fault || !hidden);
    }
    [faults, hidden_faults, updates]
}

#[test]
fn policies_behind_a_filter_have_the_golden_faults() {
    let Some(golden) = golden("policies_behind_a_filter_have_the_golden_faults") else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in table(&golden.join("expected/filtered_lirs.tsv")) {
        let number = |i: usize| row[i].parse::<u64>().expect("a number");
        let (pages, filter) = (number(2) as usize, number(3) as usize);
        let Some(trace) = traces.get(&row[0]) else { continue };
        // The whole table takes minutes.
        if ![0, 16, 64].contains(&filter) || ![88, 177, 444].contains(&pages) {
            continue;
        }
        let found = match row[1].as_str() {
            "LIRS" => filtered(Lirs::new(), pages, filter, trace),
            "LRU" => filtered(Lru::new(), pages, filter, trace),
            other => panic!("{other}: an unknown policy"),
        };
        assert_eq!(found, [number(4), number(5), number(6)], "{row:?}");
        checked += 1;
    }
    assert!(checked > 5, "only {checked} rows have their trace");
}

#[test]
fn the_software_approach_faults_where_clock_misses() {
    let trace: Vec<_> = (0..10_000u64).map(|i| PageId(i * i % 997)).collect();
    for pages in [1, 16, 300, 2000] {
        let mut active = ActiveSet::new(pages);
        let told = trace.iter().filter(|page| active.access(**page)).count() as u64;
        assert_eq!(told, active.faults());
        assert_eq!(told, replay::misses(Clock::new(true), pages, trace.iter().copied()), "{pages}");
    }
}

#[test]
fn overheads_are_sums_of_what_software_does() {
    let costs = Overheads { overflow: 1000.0, entry: 10.0, proximity: 7.0, protection: 100.0 };
    let counts = Counts { recorded: 300, overflows: 2, ..Counts::default() };
    assert_eq!(costs.hardware(&counts), 5000.0);
    assert_eq!(costs.prefetching(3), 21.0);
    assert_eq!(costs.software(4), 400.0);
}

#[test]
fn simulations_behind_the_hardware_see_what_it_records() {
    let geometry = Geometry { sets: 4, ways: 4, filter: 4, ..Geometry::default() };
    let trace: Vec<Access> =
        (0..20_000u64).map(|i| PageId(i * i % 101 + i / 400 % 7 * 20).into()).collect();
    let sizes = [20, 60, 120];
    let simulations = sizes.map(|pages| {
        let policy: Box<dyn ReplacementPolicy> = Box::new(Lru::new());
        let prefetcher: Box<dyn Prefetcher> = Box::new(NoPrefetch);
        Simulation::new(policy, prefetcher, Memory::new(pages), Costs::default())
    });
    let mut behind = BehindPath::new(geometry, simulations.into());
    trace.chunks(777).for_each(|accesses| behind.feed(accesses));
    let mut path = Path::new(geometry);
    let mut replays = sizes.map(|pages| Replay::new(Lru::new(), pages));
    let mut misses = [0; 3];
    for access in &trace {
        let page = access.page;
        let recorded = path.access(SpacePage { space: 0, page }, |_| ());
        for (replay, misses) in replays.iter_mut().zip(&mut misses) {
            let missed =
                if recorded { replay.reference(page) } else { replay.reference_unseen(page) };
            *misses += u64::from(missed);
        }
    }
    assert_eq!(behind.counts(), path.counts());
    assert!(path.counts().recorded < 19_000, "nothing was hidden: {:?}", path.counts());
    let found: Vec<_> = behind.outcomes().iter().map(|outcome| outcome.misses).collect();
    assert_eq!(found, misses);
}
