//! PATH's hardware against the golden counts.

mod support;

use farside_policy::replacement::{Lirs, Lru, ReplacementPolicy};
use farside_sim::path::{AssociativeFilter, Counts, Fnv1a, Geometry, Path, SpacePage};
use farside_sim::replay::{self, Replay};
use farside_trace::PageId;
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
