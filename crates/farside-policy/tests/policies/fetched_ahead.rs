//! What is fetched ahead has to stay until the program comes to it.

use std::collections::HashMap;

use crate::support::run::WATCH_BATCH;
use farside_policy::replacement::{Arrival, Bimodal, ReplacementPolicy, Slot};
use farside_trace::PageId;

/// Pages that each pass fetches ahead of itself, whenever it is half-way through them.
const AHEAD: u64 = 128;

/// Memory, and what passes in turns go through it.
struct Passes<P> {
    policy: P,
    pages: usize,
    here: HashMap<PageId, Slot>,
    watched: HashMap<PageId, Slot>,
}

impl<P: ReplacementPolicy> Passes<P> {
    /// Memory that is full of what is not used again.
    fn new(mut policy: P, pages: usize) -> Self {
        policy.set_capacity(pages);
        let (here, watched) = (HashMap::new(), HashMap::new());
        let mut passes = Self { policy, pages, here, watched };
        (0..pages as u64).for_each(|page| passes.bring(PageId(page), Arrival::FirstTouch));
        passes
    }

    fn bring(&mut self, page: PageId, arrival: Arrival) {
        if self.here.len() == self.pages
            && let Some(victim) = self.policy.victim()
        {
            self.here.remove(&victim);
            self.watched.remove(&victim);
        }
        self.here.insert(page, self.policy.insert(page, arrival));
        let mut out = Vec::new();
        self.policy.watch(WATCH_BATCH, &mut out);
        self.watched.extend(out);
    }

    /// Goes through so many pages for each of `count` passes, in turns; returns how many had left by then.
    fn go(&mut self, count: u64, pages: std::ops::Range<u64>) -> usize {
        let page = |pass: u64, at: u64| PageId((pass + 1) << 20 | at);
        let mut left = 0;
        for at in pages {
            for pass in 0..count {
                // The middle of what was fetched, unless that has left, so that it is fetched anew from here on.
                if at % (AHEAD / 2) == 0 {
                    let mark = page(pass, at);
                    self.policy.reach(mark, self.here.get(&mark).copied());
                    for ahead in (at..at + AHEAD).map(|at| page(pass, at)) {
                        if !self.here.contains_key(&ahead) {
                            self.bring(ahead, Arrival::Prefetch);
                        }
                    }
                }
                if !self.here.contains_key(&page(pass, at)) {
                    left += 1;
                    self.bring(page(pass, at), Arrival::Demand);
                }
                if let Some(slot) = self.watched.remove(&page(pass, at)) {
                    self.policy.access(slot);
                }
            }
        }
        left
    }
}

#[test]
fn the_trial_is_as_long_as_passes_fetch_ahead() {
    for count in [2, 4, 5] {
        let mut passes = Passes::new(Bimodal::new(), 32 << 10);
        let early = passes.go(count, 0..1024);
        assert_eq!(passes.go(count, 1024..8192), 0, "{count} passes, {early} at the beginning");
    }
}
