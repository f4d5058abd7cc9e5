//! Plans by LRU: what 3PO simulates (section 3.2).

use farside_policy::replacement::{Arrival, Lru, ReplacementPolicy, Slot};
use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind};

use super::pages::{Pages, Use};
use super::written::Steps;
use crate::page_map::NONE;

/// One thread's memory under the pager's own LRU, in the order of its records.
///
/// The pages that the thread used last are never evicted, and so none that the current microset has used,
/// if a microset fits. Memory use does not depend on the length of the trace: 4 bytes for each page of it,
/// and what the policy needs for each resident one.
#[derive(Debug)]
pub(super) struct LruPlan {
    policy: Lru,
    capacity: usize,
    /// By number of the page: its slot, if it is resident.
    slots: Vec<u32>,
    steps: Steps,
}

impl LruPlan {
    /// An empty memory of `capacity` pages.
    pub fn new(capacity: usize) -> Self {
        Self { policy: Lru::new(), capacity, slots: Vec::new(), steps: Steps::default() }
    }

    /// The next uses; appends the steps that they take to `steps`.
    pub fn uses(&mut self, uses: &[Use], pages: &Pages, steps: &mut Vec<Step>) {
        if self.slots.len() < pages.len() {
            self.slots.resize(pages.len(), NONE);
        }
        self.glance(uses);
        for used in uses {
            match self.slots[used.page as usize] {
                NONE => self.bring(*used),
                slot => {
                    self.policy.access(Slot(slot));
                    if used.write {
                        self.steps.wrote(used.page);
                    }
                }
            }
        }
        self.steps.give(false, pages, steps);
    }

    /// Appends the steps that remain.
    pub fn finish(&mut self, pages: &Pages, steps: &mut Vec<Step>) {
        self.steps.give(true, pages, steps);
    }

    /// Asks for all places that the uses will change: a processor waits for many no longer than for one.
    fn glance(&self, uses: &[Use]) {
        let slot = |used: &Use| Slot(self.slots[used.page as usize]);
        uses.iter().for_each(|used| self.policy.glance(slot(used)));
        uses.iter().for_each(|used| self.policy.glance_beside(slot(used)));
    }

    fn bring(&mut self, used: Use) {
        if self.policy.len() >= self.capacity
            && let Some(PageId(victim)) = self.policy.victim()
        {
            self.slots[victim as usize] = NONE;
            self.steps.push(StepKind::Evict, victim as u32);
        }
        let (kind, arrival) = match (used.first, used.write) {
            (true, _) => (StepKind::Touch, Arrival::FirstTouch),
            (false, false) => (StepKind::Fetch, Arrival::Prefetch),
            (false, true) => (StepKind::FetchToWrite, Arrival::Prefetch),
        };
        // The policy knows pages by their numbers.
        let slot = self.policy.insert(PageId(u64::from(used.page)), arrival);
        self.slots[used.page as usize] = slot.0;
        self.steps.push(kind, used.page);
    }

    /// The content of a page is gone.
    pub fn forget(&mut self, page: u32) {
        if let Some(slot) = self.slots.get_mut(page as usize)
            && *slot != NONE
        {
            self.policy.remove(Slot(*slot));
            *slot = NONE;
        }
    }
}
