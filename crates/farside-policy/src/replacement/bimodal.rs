//! Keeping what is here rather than what comes: bimodal insertion (Qureshi and others, ISCA 2007, for caches of processors).

use farside_trace::PageId;

use super::ahead::Ahead;
use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages that came last, whose accesses cannot be seen.
const FRESH: usize = 0;

/// Pages that came before those; they are watched, and leave next unless they are used.
const PROBATION: usize = 1;

/// Pages that stay, whose accesses cannot be seen.
const KEPT: usize = 2;

/// Pages of those that stay whose last known use is longest ago; they are watched.
const AGED: usize = 3;

/// Pages that the program is done with.
const DONE: usize = 4;

/// One page in so many stays although it was not used again, in the place of one that is longest unused.
const CHANCE: u32 = 32;

/// So many stay one after the other: pages that came together are fetched together again.
const STRETCH: u32 = 64;

/// One page in so many is on trial because it came last, of memory that is full.
const TRIAL: usize = 64;

/// Fewest pages on trial, where a quarter of memory is more: what is fetched together must fit.
const LEAST_TRIAL: usize = 256;

/// Most pages on trial because what is fetched ahead would leave too early otherwise: one in so many.
const AHEAD_TRIAL: usize = 16;

/// One page in so many of those on trial is watched.
const PROBATION_SHARE: usize = 4;

/// One page in so many of those that stay is watched at most, and no more than two stretches.
const AGED_SHARE: usize = 16;

/// Evicts what came last, but for the very last, so that a part of what a loop goes over stays when all of it does not
/// fit.
///
/// Pages come on trial. Those that are used again at its end stay - one that was fetched ahead is used for the first time
/// then, as far as is known, and begins anew - and of the others 64 of 2,048, so that what stays is
/// replaced in time when the program does something else; the rest leaves in order of arrival. In the place of a page that
/// stays one leaves that stayed: the one whose last known use is longest ago, which had been watched if there was time
/// to.
///
/// While there is room, all pages stay. The trial is as short as may be, but longer where the program is told to fetch so far
/// ahead, or for so many passes at once, that what comes would leave before it is used: see [`ReplacementPolicy::reach`].
#[derive(Clone, Debug)]
pub struct Bimodal {
    pages: SlotPages,
    lists: Lists<5>,
    /// By slot: whether the page was fetched ahead, and has not been seen to be used since.
    foreseen: Vec<bool>,
    /// By slot: how many pages had come before.
    came: Vec<u32>,
    arrivals: u32,
    least_trial: usize,
    /// With fewer on trial, what stays leaves instead.
    fewest_trial: usize,
    most_trial: usize,
    ahead: Ahead,
    most_aged: usize,
    capacity: usize,
    /// Pages that ended their trial unused since some of them stayed.
    failed: u32,
    /// A page left since as many as may be were watched.
    pressed: bool,
}

impl Bimodal {
    /// What it is called.
    pub const NAME: &'static str = "bimodal";

    /// A policy without pages.
    pub fn new() -> Self {
        Self::with_least_trial(LEAST_TRIAL)
    }

    /// A policy without pages for a sample of all, in which no more than so many lie, and are fetched, together: fewer on
    /// trial would leave before the program came to them.
    pub fn of_sample(together: usize) -> Self {
        Self::with_least_trial(together)
    }

    fn with_least_trial(least_trial: usize) -> Self {
        Self {
            pages: SlotPages::new(),
            lists: Lists::new(),
            foreseen: Vec::new(),
            came: Vec::new(),
            arrivals: 0,
            least_trial,
            fewest_trial: 0,
            most_trial: 0,
            ahead: Ahead::default(),
            most_aged: 0,
            capacity: 0,
            failed: 0,
            pressed: false,
        }
    }

    fn on_trial(&self) -> usize {
        self.lists.len(FRESH) + self.lists.len(PROBATION)
    }

    /// Makes the trial as long as it has to be.
    fn fit_trial(&mut self) {
        let pages = self.capacity;
        let least = (pages / TRIAL).max(self.least_trial.min(pages / 4));
        let ahead = (self.ahead.stays() as usize).min(pages / AHEAD_TRIAL);
        self.fewest_trial = (least / 2).max(ahead);
        self.most_trial = least.max(ahead + ahead / 4);
    }

    /// The page that is on trial for longest.
    fn oldest_trial(&mut self) -> Option<Slot> {
        self.lists.pop_oldest(PROBATION).or_else(|| self.lists.pop_oldest(FRESH))
    }

    /// The one, of those that stay, whose last known use is longest ago.
    fn oldest_kept(&mut self) -> Option<Slot> {
        self.lists.pop_oldest(AGED).or_else(|| self.lists.pop_oldest(KEPT))
    }

    /// The one of them that is used last, as far as is known.
    fn youngest_kept(&mut self) -> Option<Slot> {
        let slot = self.lists.youngest(KEPT).or_else(|| self.lists.youngest(AGED))?;
        self.lists.remove(slot);
        Some(slot)
    }

    /// Ends a trial in favour of a page.
    fn keep(&mut self, slot: Slot) {
        self.lists.push_youngest(KEPT, slot);
    }

    /// Lets a page in.
    fn admit(&mut self, page: PageId, foreseen: bool) -> Slot {
        let slot = self.pages.insert(page);
        let at = slot.0 as usize;
        if at >= self.foreseen.len() {
            self.foreseen.resize(at + 1, false);
            self.came.resize(at + 1, 0);
        }
        (self.foreseen[at], self.came[at]) = (foreseen, self.arrivals);
        slot
    }

    /// Takes out the page that leaves next.
    fn next(&mut self) -> Option<Slot> {
        if let Some(done) = self.lists.pop_oldest(DONE) {
            return Some(done);
        }
        if self.on_trial() <= self.fewest_trial
            && let Some(kept) = self.youngest_kept()
        {
            return Some(kept);
        }
        let oldest = self.oldest_trial()?;
        self.failed = (self.failed + 1) % (CHANCE * STRETCH);
        if self.failed >= STRETCH {
            return Some(oldest);
        }
        self.keep(oldest);
        self.oldest_kept()
    }

    /// Moves the oldest pages of one list to another one, to be watched, until it has so many.
    fn fill(
        &mut self,
        (from, to): (usize, usize),
        most: usize,
        max: usize,
        out: &mut Vec<(PageId, Slot)>,
    ) -> bool {
        while self.lists.len(to) < most {
            if out.len() >= max {
                return false;
            }
            let Some(slot) = self.lists.pop_oldest(from) else { return true };
            self.lists.push_youngest(to, slot);
            out.extend(self.pages.get(slot).map(|page| (page, slot)));
        }
        true
    }
}

impl Default for Bimodal {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for Bimodal {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn set_capacity(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
        self.foreseen.reserve_exact(pages.saturating_sub(self.foreseen.len()));
        self.came.reserve_exact(pages.saturating_sub(self.came.len()));
        self.capacity = pages;
        self.fit_trial();
        self.most_aged = (2 * STRETCH as usize).min(pages / AGED_SHARE);
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        self.arrivals = self.arrivals.wrapping_add(1);
        if self.ahead.pass(self.arrivals, self.most_trial as u32) {
            self.fit_trial();
        }
        let slot = self.admit(page, arrival == Arrival::Prefetch);
        self.lists.push_youngest(FRESH, slot);
        if self.on_trial() > self.most_trial
            && let Some(oldest) = self.oldest_trial()
        {
            self.keep(oldest);
        }
        slot
    }

    fn access(&mut self, slot: Slot) {
        let list = self.lists.list_of(slot);
        if !matches!(list, Some(PROBATION | AGED)) {
            return;
        }
        self.lists.remove(slot);
        let first_use = std::mem::take(&mut self.foreseen[slot.0 as usize]);
        if list == Some(PROBATION) && first_use {
            self.lists.push_youngest(FRESH, slot);
        } else {
            self.keep(slot);
        }
    }

    fn dismiss(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.lists.push_youngest(DONE, slot);
    }

    fn reach(&mut self, _: PageId, slot: Option<Slot>) {
        let Some(slot) = slot else { return self.ahead.miss() };
        if self.foreseen[slot.0 as usize] {
            self.ahead.meet(self.arrivals.wrapping_sub(self.came[slot.0 as usize]));
            self.fit_trial();
        }
    }

    fn remove(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let slot = self.next()?;
        self.pressed = true;
        Some(self.pages.release(slot))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        let slot = self.admit(page, false);
        self.keep(slot);
        slot
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        if !self.pressed {
            return;
        }
        let max = out.len() + max;
        let trials = self.fill((FRESH, PROBATION), self.most_trial / PROBATION_SHARE, max, out);
        let kept = self.fill((KEPT, AGED), self.most_aged, max, out);
        self.pressed = !(trials && kept);
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
