//! Demand paging as in a run, where few uses are seen.

use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::{PageId, PageRange, PageSample};

/// Most pages that a policy may watch after an arrival.
pub const WATCH_BATCH: usize = 32;

/// Where a page is.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Place {
    Untouched,
    Far,
    Mapped(Slot),
    Watched(Slot),
}

/// Demand paging as in a run.
pub struct Run<P> {
    pub policy: P,
    capacity: usize,
    places: Vec<Place>,
    watched: Vec<(PageId, Slot)>,
    sample: Option<PageSample>,
    last: Option<PageId>,
}

impl<P: ReplacementPolicy> Run<P> {
    pub fn new(mut policy: P, capacity: usize) -> Self {
        policy.set_capacity(capacity);
        let (places, watched) = (Vec::new(), Vec::new());
        Self { policy, capacity, places, watched, sample: None, last: None }
    }

    /// The same, with one page in `1 << halvings` tracked: all its uses are told that do not follow each other.
    pub fn tracked(policy: P, capacity: usize, halvings: u32) -> Self {
        let mut run = Self::new(policy, capacity);
        let sample = PageSample::all(1).with_halvings(halvings);
        run.policy.set_sample(sample);
        run.sample = Some(sample);
        run
    }

    /// Uses a page; whether it was missed, and what left for it.
    pub fn reference(&mut self, page: PageId) -> (bool, Option<PageId>) {
        let index = page.0 as usize;
        if self.sample.is_some_and(|sample| sample.has(page)) && self.last != Some(page) {
            self.policy.come(page);
        }
        self.last = Some(page);
        if index >= self.places.len() {
            self.places.resize(index + 1, Place::Untouched);
        }
        let arrival = match self.places[index] {
            Place::Mapped(_) => return (false, None),
            Place::Watched(slot) => {
                self.policy.access(slot);
                self.places[index] = Place::Mapped(slot);
                return (false, None);
            }
            Place::Far => Arrival::Demand,
            Place::Untouched => Arrival::FirstTouch,
        };
        self.policy.expect(page);
        let full = self.policy.len() == self.capacity;
        let victim = full.then(|| self.policy.victim().expect("a full memory has a victim"));
        if let Some(victim) = victim {
            self.places[victim.0 as usize] = Place::Far;
        }
        self.places[index] = Place::Mapped(self.policy.insert(page, arrival));
        self.policy.watch(WATCH_BATCH, &mut self.watched);
        for (page, slot) in self.watched.drain(..) {
            self.places[page.0 as usize] = Place::Watched(slot);
        }
        (true, victim)
    }

    /// The program gives pages back.
    pub fn release(&mut self, range: PageRange) {
        for page in range.first.0..range.end() {
            let Some(place) = self.places.get_mut(page as usize) else { break };
            if let Place::Mapped(slot) | Place::Watched(slot) =
                std::mem::replace(place, Place::Untouched)
            {
                self.policy.remove(slot);
            }
        }
    }

    /// There is less memory from now on; the policy is not told.
    pub fn shrink_to(&mut self, capacity: usize) {
        self.capacity = capacity;
        while self.policy.len() > capacity
            && let Some(victim) = self.policy.victim()
        {
            self.places[victim.0 as usize] = Place::Far;
        }
    }

    pub fn misses(&mut self, pages: impl IntoIterator<Item = u64>) -> usize {
        pages.into_iter().filter(|page| self.reference(PageId(*page)).0).count()
    }
}
