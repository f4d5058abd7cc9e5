//! S3-FIFO against algorithm 1 of its paper, and what it does with prefetched pages.

use crate::support::naive::{self, Naive};
use crate::support::{Paging, misses};
use farside_policy::replacement::{Arrival, ReplacementPolicy, S3Fifo, S3FifoOptions};
use farside_trace::PageId;

/// Algorithm 1; the front of a queue is its tail, where pages leave.
struct Algorithm {
    capacity: usize,
    small: Vec<(PageId, u32)>,
    main: Vec<(PageId, u32)>,
    ghosts: Vec<PageId>,
}

impl Algorithm {
    fn new(capacity: usize) -> Self {
        Self { capacity, small: Vec::new(), main: Vec::new(), ghosts: Vec::new() }
    }

    fn small_is_full(&self, len: usize) -> bool {
        len > 0 && 10 * len >= self.capacity
    }

    /// As many pages as are left when the small queue has just become full.
    fn main_size(&self) -> usize {
        let small = (1..).find(|&len| self.small_is_full(len)).unwrap();
        self.capacity - small
    }

    fn evict(&mut self) -> PageId {
        loop {
            if self.small_is_full(self.small.len()) || self.main.is_empty() {
                let (page, freq) = self.small.remove(0);
                if freq > 1 {
                    let victim =
                        (self.main.len() >= self.main_size()).then(|| self.evict_main()).flatten();
                    self.main.push((page, 0));
                    if let Some(victim) = victim {
                        return victim;
                    }
                } else {
                    self.ghosts.push(page);
                    if self.ghosts.len() > self.main_size() {
                        self.ghosts.remove(0);
                    }
                    return page;
                }
            } else {
                return self.evict_main().unwrap();
            }
        }
    }

    fn evict_main(&mut self) -> Option<PageId> {
        while !self.main.is_empty() {
            let (page, freq) = self.main.remove(0);
            if freq == 0 {
                return Some(page);
            }
            self.main.push((page, freq - 1));
        }
        None
    }
}

impl Naive for Algorithm {
    fn reference(&mut self, page: PageId) -> Option<Option<PageId>> {
        let mut pages = self.small.iter_mut().chain(&mut self.main);
        if let Some((_, freq)) = pages.find(|(other, _)| *other == page) {
            *freq = (*freq + 1).min(3);
            return None;
        }
        let full = self.small.len() + self.main.len() == self.capacity;
        let victim = full.then(|| self.evict());
        match self.ghosts.iter().position(|&ghost| ghost == page) {
            Some(index) => {
                self.ghosts.remove(index);
                self.main.push((page, 0));
            }
            None => self.small.push((page, 0)),
        }
        Some(victim)
    }
}

#[test]
fn s3_fifo_equals_its_algorithm_on_the_golden_traces() {
    let test = "s3_fifo_equals_its_algorithm_on_the_golden_traces";
    naive::compare(test, S3Fifo::new, Algorithm::new);
}

#[test]
fn a_scan_passes_by_pages_that_are_used() {
    let scan = (1000..11_000).map(PageId);
    let trace: Vec<_> = scan.flat_map(|page| [PageId(page.0 % 20), page]).collect();
    assert_eq!(misses(S3Fifo::new(), 100, &trace), 10_000 + 20);
}

#[test]
fn the_first_use_of_a_prefetched_page_counts_as_its_arrival() {
    for (uses, stays) in [(0, false), (1, false), (2, false), (3, true)] {
        let mut policy = S3Fifo::new();
        policy.set_capacity(10);
        let slot = policy.insert(PageId(7), Arrival::Prefetch);
        (0..uses).for_each(|_| policy.access(slot));
        for page in (10..19).map(PageId) {
            policy.insert(page, Arrival::Demand);
        }
        assert_eq!(policy.victim() != Some(PageId(7)), stays, "{uses} uses");
    }
}

#[test]
fn parameters_change_the_share_and_the_threshold() {
    let options = S3FifoOptions { small_permille: 500, uses_to_stay: 1 };
    let mut paging = Paging::new(S3Fifo::with_options(options), 4);
    let outcomes: Vec<_> = [1, 2, 1, 3, 4, 5, 6, 2, 7, 8]
        .map(|page| paging.reference(PageId(page)).flatten().map(|page| page.0))
        .into();
    // 1 was used and moves to the main queue of two pages; 2, 3 and 4 leave from the small one,
    // of which 2 comes back to the main queue, and so on.
    let expected = [None, None, None, None, None, Some(2), Some(3), Some(4), Some(5), Some(6)];
    assert_eq!(outcomes, expected);
}
