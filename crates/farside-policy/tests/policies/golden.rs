//! Every policy against miss counts that independent simulators agree on.

use crate::support::{Traces, golden, golden_rows, misses};
use farside_policy::replacement::{self, Arrival, Fifo, ReplacementPolicy, Slot};
use farside_trace::PageId;

/// Policies that no golden table has; each is held against a model in a file of its own, or below.
const ELSEWHERE: &[&str] = &[
    "second-chance",
    "priority",
    "clock-pro",
    "eden",
    "region",
    "s3-fifo",
    "lirs-bounded",
    "bimodal",
    "adaptive",
];

#[test]
fn miss_counts_are_exact_on_the_golden_traces() {
    let Some(golden) = golden("miss_counts_are_exact_on_the_golden_traces") else { return };
    let mut traces = Traces::new(&golden);
    let names = replacement::NAMES.iter().chain(replacement::OMNISCIENT).map(|(name, _)| *name);
    for name in names.filter(|name| !ELSEWHERE.contains(name)) {
        let mut checked = 0;
        for row in golden_rows(&golden, name) {
            let Some(trace) = traces.get(&row.trace) else { continue };
            assert_eq!(trace.len(), row.requests, "{}", row.trace);
            let policy = replacement::by_name(name).expect("a listed policy");
            let found = misses(policy, row.pages, trace);
            assert_eq!(found, row.misses, "{name}: {} with {} pages", row.trace, row.pages);
            checked += 1;
        }
        assert!(checked > 0, "{name}: no golden row has its trace");
    }
}

/// The closed form of LIRS for a loop that is longer than memory by less than memory.
#[test]
fn bounded_lirs_is_lirs_where_it_remembers_enough() {
    let (pages, capacity, rounds) = (100, 60, 5_usize);
    let trace: Vec<_> = (0..pages * rounds).map(|i| PageId((i % pages) as u64)).collect();
    let expected = pages + (rounds - 1) * (pages - (capacity - 2));
    for name in ["lirs", "lirs-bounded"] {
        let policy = replacement::by_name(name).expect("a listed policy");
        assert_eq!(misses(policy, capacity, &trace), expected, "{name}");
    }
}

#[test]
fn fifo_shows_beladys_anomaly() {
    let trace = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5].map(PageId);
    assert_eq!(misses(Fifo::new(), 3, &trace), 9);
    assert_eq!(misses(Fifo::new(), 4, &trace), 10);
}

#[test]
fn accesses_change_nothing_in_fifo_and_restored_pages_arrive_anew() {
    let mut fifo = Fifo::new();
    let slots = [1, 2, 3].map(|page| fifo.insert(PageId(page), Arrival::Demand));
    fifo.access(slots[0]);
    assert_eq!(fifo.victim(), Some(PageId(1)));
    let restored: Slot = fifo.restore(PageId(1));
    fifo.remove(slots[1]);
    assert_eq!(fifo.len(), 2);
    assert_eq!(fifo.victim(), Some(PageId(3)));
    assert_eq!(fifo.victim(), Some(PageId(1)));
    assert_eq!((fifo.victim(), fifo.len()), (None, 0));
    assert_eq!(
        fifo.insert(PageId(9), Arrival::Demand),
        restored,
        "the last slot freed comes first"
    );
}
