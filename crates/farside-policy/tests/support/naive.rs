//! Reference implementations beside the policies: vectors and linear search.

use farside_policy::replacement::ReplacementPolicy;
use farside_trace::PageId;

use super::{Paging, Traces, golden, golden_rows};

/// Most references times pages of memory that a reference implementation gets, so that its searches
/// end in time.
const MOST_WORK: usize = 20_000_000;

/// Demand paging by a reference implementation.
pub trait Naive {
    /// References `page`: `None` if it was resident, else what left for it, if anything had to.
    fn reference(&mut self, page: PageId) -> Option<Option<PageId>>;
}

/// Holds a policy against a reference implementation, reference by reference, on every golden trace
/// at every size that takes not too long.
pub fn compare<P: ReplacementPolicy, N: Naive>(
    test: &str,
    policy: impl Fn() -> P,
    naive: impl Fn(usize) -> N,
) {
    let Some(golden) = golden(test) else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in golden_rows(&golden, "lru") {
        let Some(trace) = traces.get(&row.trace) else { continue };
        if trace.len() * row.pages > MOST_WORK {
            continue;
        }
        let (mut real, mut naive) = (Paging::new(policy(), row.pages), naive(row.pages));
        let mut misses = (0, 0);
        for (index, &page) in trace.iter().enumerate() {
            let (found, expected) = (real.reference(page), naive.reference(page));
            assert_eq!(found, expected, "{} {}: reference {index}", row.trace, row.pages);
            misses.0 += usize::from(found.is_some());
            misses.1 += usize::from(expected.is_some());
        }
        assert_eq!(misses.0, misses.1, "{} with {} pages", row.trace, row.pages);
        checked += 1;
    }
    assert!(checked > 30, "only {checked} combinations of trace and size were checked");
}
