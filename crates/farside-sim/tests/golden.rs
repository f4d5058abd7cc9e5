//! Curves and simulations against the golden counts.

mod support;

use farside_policy::replacement;
use farside_sim::belady::{self, Insertion};
use farside_sim::curve::{Distances, LruDistances, MruDistances, OptDistances};
use farside_sim::next_use::next_uses;
use farside_sim::replay;
use farside_trace::PageId;
use support::{Traces, golden, miss_rows, mrc_tables};

fn lru(trace: &[PageId]) -> Distances {
    let mut lru = LruDistances::new();
    for page in trace {
        lru.reference(*page);
    }
    lru.distances().clone()
}

fn mru(trace: &[PageId]) -> Distances {
    let mut mru = MruDistances::new();
    for page in trace {
        mru.reference(*page);
    }
    mru.distances().clone()
}

#[test]
fn the_lru_curve_is_exact_at_every_distance() {
    let Some(golden) = golden("the_lru_curve_is_exact_at_every_distance") else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for table in mrc_tables(&golden) {
        let Some(trace) = traces.get(&table.trace) else { continue };
        let distances = lru(trace);
        assert_eq!(distances.cold(), table.cold, "{}", table.trace);
        assert_eq!(distances.iter().collect::<Vec<_>>(), table.counts, "{}", table.trace);
        checked += 1;
    }
    assert!(checked > 0, "no table has its trace");
}

#[test]
fn curves_give_the_golden_misses_of_stack_policies() {
    let Some(golden) = golden("curves_give_the_golden_misses_of_stack_policies") else { return };
    let mut traces = Traces::new(&golden);
    let opt = |trace: &[PageId]| OptDistances::of(&next_uses(trace));
    for policy in ["lru", "mru", "opt"] {
        let mut last = None;
        let mut checked = 0;
        for row in miss_rows(&golden).iter().filter(|row| row.policy == policy) {
            let Some(trace) = traces.get(&row.trace) else { continue };
            if last.as_ref().is_none_or(|(name, _)| *name != row.trace) {
                last = Some((
                    row.trace.clone(),
                    match policy {
                        "lru" => lru(trace),
                        "mru" => mru(trace),
                        _ => opt(trace),
                    }
                    .curve(),
                ));
            }
            let (_, curve) = last.as_ref().expect("just made");
            assert_eq!(curve.misses(row.pages), row.misses, "{policy} {} {}", row.trace, row.pages);
            checked += 1;
        }
        assert!(checked > 0, "{policy}");
    }
}

#[test]
fn simulations_give_the_golden_misses() {
    let Some(golden) = golden("simulations_give_the_golden_misses") else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in miss_rows(&golden) {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let found = match row.policy.as_str() {
            "opt" => belady::misses(&next_uses(trace), row.pages, Insertion::Forced),
            "opt-bypass" => belady::misses(&next_uses(trace), row.pages, Insertion::Optional),
            name => {
                let policy = replacement::by_name(name).expect("a known policy");
                replay::misses(policy, row.pages, trace.iter().copied())
            }
        };
        assert_eq!(found, row.misses, "{} {} {}", row.policy, row.trace, row.pages);
        checked += 1;
    }
    assert!(checked > 100, "only {checked} rows have their trace");
}
