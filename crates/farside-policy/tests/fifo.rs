//! First in, first out, against miss counts that independent simulators agree on.

mod support;

use farside_policy::replacement::{Arrival, Fifo, ReplacementPolicy, Slot};
use farside_trace::PageId;
use support::{Traces, golden, golden_rows, misses};

#[test]
fn fifo_miss_counts_are_exact_on_the_golden_traces() {
    let Some(golden) = golden("fifo_miss_counts_are_exact_on_the_golden_traces") else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in golden_rows(&golden, "fifo") {
        let Some(trace) = traces.get(&row.trace) else { continue };
        assert_eq!(trace.len(), row.requests, "{}", row.trace);
        let found = misses(Fifo::new(), row.pages, trace);
        assert_eq!(found, row.misses, "{} with {} pages", row.trace, row.pages);
        checked += 1;
    }
    assert!(checked > 0, "no golden row has its trace");
}

#[test]
fn fifo_shows_beladys_anomaly() {
    let trace = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5].map(PageId);
    assert_eq!(misses(Fifo::new(), 3, &trace), 9);
    assert_eq!(misses(Fifo::new(), 4, &trace), 10);
}

#[test]
fn accesses_change_nothing_and_restored_pages_arrive_anew() {
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
