//! A policy of which is known what it was told of the sample of pages that is tracked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::{PageId, PageRange, PageSample};

/// How often the sample of all pages is halved to be that which a policy was told of last.
pub type ToldHalvings = Arc<AtomicU32>;

/// Passes all on to another policy.
pub struct Told {
    pub policy: Box<dyn ReplacementPolicy>,
    pub halvings: ToldHalvings,
}

impl ReplacementPolicy for Told {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn set_capacity(&mut self, pages: usize) {
        self.policy.set_capacity(pages);
    }

    fn rely_on_hints(&mut self) {
        self.policy.rely_on_hints();
    }

    fn hint(&mut self, page: PageId, slot: Slot) {
        self.policy.hint(page, slot);
    }

    fn expect(&mut self, page: PageId) {
        self.policy.expect(page);
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        self.policy.insert(page, arrival)
    }

    fn access(&mut self, slot: Slot) {
        self.policy.access(slot);
    }

    fn prioritize(&mut self, slot: Slot, priority: u8) {
        self.policy.prioritize(slot, priority);
    }

    fn dismiss(&mut self, slot: Slot) {
        self.policy.dismiss(slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.policy.remove(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        self.policy.victim()
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.policy.restore(page)
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        self.policy.watch(max, out);
    }

    fn wants_sample(&self) -> Option<usize> {
        self.policy.wants_sample()
    }

    fn set_sample(&mut self, sample: PageSample) {
        self.halvings.store(sample.halvings(), Relaxed);
        self.policy.set_sample(sample);
    }

    fn come(&mut self, page: PageId) {
        self.policy.come(page);
    }

    fn begin_region(&mut self, range: PageRange) {
        self.policy.begin_region(range);
    }

    fn end_region(&mut self, range: PageRange) {
        self.policy.end_region(range);
    }

    fn len(&self) -> usize {
        self.policy.len()
    }
}
