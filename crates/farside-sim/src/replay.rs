//! Demand paging: what the pager does with a policy, without the waiting.

use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::PageId;

use crate::page_map::{NONE, PageMap};

/// Most pages that a policy may begin to watch after an arrival.
pub(crate) const WATCH_BATCH: usize = 32;

/// A memory of fixed size under a replacement policy.
#[derive(Debug)]
pub struct Replay<P> {
    policy: P,
    capacity: usize,
    resident: usize,
    /// Of resident pages the policy's slot.
    slots: PageMap,
    watched: Vec<(PageId, Slot)>,
}

impl<P: ReplacementPolicy> Replay<P> {
    /// An empty memory of `capacity` pages, at least one.
    pub fn new(mut policy: P, capacity: usize) -> Self {
        let capacity = capacity.max(1);
        policy.set_capacity(capacity);
        Self { policy, capacity, resident: 0, slots: PageMap::new(), watched: Vec::new() }
    }

    /// Whether `page` is resident.
    #[inline]
    pub fn contains(&self, page: PageId) -> bool {
        self.slots.get(page) != NONE
    }

    /// References `page`; whether it had to be fetched.
    #[inline]
    pub fn reference(&mut self, page: PageId) -> bool {
        let slot = self.slots.get(page);
        if slot != NONE {
            self.policy.access(Slot(slot));
            return false;
        }
        self.fetch(page);
        true
    }

    /// References `page` unseen by the policy, unless it has to be fetched; whether it had to.
    ///
    /// So references that hardware hides from software still find pages missing.
    #[inline]
    pub fn reference_unseen(&mut self, page: PageId) -> bool {
        let missing = !self.contains(page);
        if missing {
            self.fetch(page);
        }
        missing
    }

    fn fetch(&mut self, page: PageId) {
        self.policy.expect(page);
        if self.resident == self.capacity {
            self.evict();
        }
        *self.slots.entry(page) = self.policy.insert(page, Arrival::Demand).0;
        self.resident += 1;
        self.policy.watch(WATCH_BATCH, &mut self.watched);
        self.watched.clear();
    }

    fn evict(&mut self) {
        if let Some(victim) = self.policy.victim() {
            *self.slots.entry(victim) = NONE;
            self.resident -= 1;
        }
    }
}

/// Misses of `policy` over a trace with a memory of `pages` pages.
pub fn misses<P: ReplacementPolicy>(
    policy: P,
    pages: usize,
    trace: impl IntoIterator<Item = PageId>,
) -> u64 {
    let mut replay = Replay::new(policy, pages);
    trace.into_iter().map(|page| u64::from(replay.reference(page))).sum()
}
