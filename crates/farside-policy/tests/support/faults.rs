//! Faults as a prefetcher is told of them, and what it plans.

use farside_policy::prefetch::{FaultKind, PrefetchPlan, Prefetcher};
use farside_trace::{PageId, PageRange};

/// The runs fetched with one fault.
pub fn fetched(prefetcher: &mut impl Prefetcher, page: u64, kind: FaultKind) -> Vec<PageRange> {
    let mut plan = PrefetchPlan::new();
    prefetcher.fault(PageId(page), kind, &mut plan);
    plan.runs().collect()
}

/// The runs fetched with a demand fault.
pub fn demand(prefetcher: &mut impl Prefetcher, page: u64) -> Vec<PageRange> {
    fetched(prefetcher, page, FaultKind::Demand)
}

/// The first use of a page that was fetched before; nothing is fetched with it.
pub fn used(prefetcher: &mut impl Prefetcher, page: u64) {
    assert_eq!(fetched(prefetcher, page, FaultKind::Used), [], "with the use of {page}");
}

/// One run.
pub fn run(first: u64, count: u64) -> Vec<PageRange> {
    vec![PageRange::new(PageId(first), count)]
}

/// Runs of single pages.
pub fn pages<const N: usize>(pages: [u64; N]) -> Vec<PageRange> {
    pages.map(|page| PageRange::single(PageId(page))).into()
}
