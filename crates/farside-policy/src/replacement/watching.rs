//! Policies that want to see every access, in a run, where only those to unmapped pages can be seen.

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::page_index::PageIndex;
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages that came last, in the order in which they came; the policy does not know them yet.
const FRESH: usize = 0;

/// Pages whose accesses cannot be seen, in the order of the last access that was.
const MAPPED: usize = 1;

/// Pages whose next access will be seen.
const WATCHED: usize = 2;

/// Pages that the program is done with; the policy does not know them any more.
const DONE: usize = 3;

/// Fewest pages that stay because they came last: a single instruction can need several at once.
const LEAST_FRESH: usize = 32;

/// What is watched, and what stays because it came last.
#[derive(Copy, Clone, Debug)]
pub struct WatchingOptions {
    /// One page in this many is watched at most; none if it is zero.
    pub watched: usize,
    /// One page in this many stays because it came last, but at least 32 and at most half of them.
    pub fresh: usize,
}

impl Default for WatchingOptions {
    /// An eighth is watched, as second chance does; what came last is a 64th.
    fn default() -> Self {
        Self { watched: 8, fresh: 64 }
    }
}

/// A policy by what can be seen of accesses.
///
/// Pages are mapped, and used unseen, for as long as they are not about to matter. While pages have to leave, those whose
/// last known access is longest ago are watched: their next access is a soft fault, and the policy is told of it. One that
/// decides by the order of accesses has the right order then where it decides, at its old end.
///
/// The pages that came last are not given up, as in PATH (section 1) those in the page access buffer are not: how often
/// they are used cannot be seen, a policy like MRU would choose just them, and what was fetched ahead has not been used.
/// The policy is told that they came when others have come after them.
#[derive(Clone, Debug)]
pub struct Watching<P> {
    name: &'static str,
    policy: P,
    options: WatchingOptions,
    pages: SlotPages,
    /// Pages that the policy knows.
    known: PageIndex,
    /// Their slots there, by slot.
    inner: Vec<Slot>,
    lists: Lists<4>,
    most_fresh: usize,
    most_watched: usize,
    /// A page left since as many as may be were watched.
    pressed: bool,
}

impl<P: ReplacementPolicy> Watching<P> {
    /// That policy, which has no pages yet, called `name`.
    pub fn new(name: &'static str, policy: P, options: WatchingOptions) -> Self {
        Self {
            name,
            policy,
            options,
            pages: SlotPages::new(),
            known: PageIndex::new(),
            inner: Vec::new(),
            lists: Lists::new(),
            most_fresh: LEAST_FRESH,
            most_watched: 0,
            pressed: false,
        }
    }

    /// A page came: the oldest of those that did becomes known to the policy.
    fn arrive(&mut self, page: PageId) -> Slot {
        let slot = self.pages.insert(page);
        if slot.0 as usize >= self.inner.len() {
            self.inner.resize(slot.0 as usize + 1, Slot(0));
        }
        self.lists.push_youngest(FRESH, slot);
        while self.lists.len(FRESH) > self.most_fresh
            && let Some(oldest) = self.lists.pop_oldest(FRESH)
        {
            self.introduce(oldest);
        }
        slot
    }

    /// Tells the policy of a page. That it came because somebody foresaw it means nothing by now: it has most likely been
    /// used unseen.
    fn introduce(&mut self, slot: Slot) {
        if let Some(page) = self.pages.get(slot) {
            self.inner[slot.0 as usize] = self.policy.insert(page, Arrival::Demand);
            self.known.insert(page, slot);
            self.lists.push_youngest(MAPPED, slot);
        }
    }

    /// Has the policy forget a page, if it knows it, and takes it from its list.
    fn withdraw(&mut self, slot: Slot) {
        let list = self.lists.list_of(slot);
        self.lists.remove(slot);
        if matches!(list, Some(MAPPED | WATCHED))
            && let Some(page) = self.pages.get(slot)
        {
            self.known.remove_slot(page, slot);
            self.policy.remove(self.inner[slot.0 as usize]);
        }
    }

    /// What the policy gives up.
    fn chosen(&mut self) -> Option<Slot> {
        let page = self.policy.victim()?;
        let slot = self.known.remove(page, |slot| self.pages.get(slot));
        debug_assert!(
            slot.is_some(),
            "the policy gives up page {}, which it was not told of",
            page.0
        );
        if let Some(slot) = slot {
            self.lists.remove(slot);
        }
        slot
    }
}

impl<P: ReplacementPolicy> ReplacementPolicy for Watching<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn set_capacity(&mut self, pages: usize) {
        let share = |one_in: usize| pages.checked_div(one_in).unwrap_or(0);
        self.most_fresh = share(self.options.fresh).max(LEAST_FRESH).min(pages / 2);
        self.most_watched = share(self.options.watched);
        self.pages.reserve(pages);
        self.known.reserve(pages);
        self.inner.reserve_exact(pages.saturating_sub(self.inner.len()));
        self.lists.reserve(pages);
        self.policy.set_capacity(pages - self.most_fresh);
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        self.arrive(page)
    }

    fn access(&mut self, slot: Slot) {
        if matches!(self.lists.list_of(slot), Some(MAPPED | WATCHED)) {
            self.lists.remove(slot);
            self.lists.push_youngest(MAPPED, slot);
            self.policy.access(self.inner[slot.0 as usize]);
        }
    }

    fn prioritize(&mut self, slot: Slot, priority: u8) {
        if matches!(self.lists.list_of(slot), Some(MAPPED | WATCHED)) {
            self.policy.prioritize(self.inner[slot.0 as usize], priority);
        }
    }

    fn dismiss(&mut self, slot: Slot) {
        self.withdraw(slot);
        self.lists.push_youngest(DONE, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.withdraw(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let done = self.lists.pop_oldest(DONE);
        let slot = done.or_else(|| self.chosen()).or_else(|| self.lists.pop_oldest(FRESH))?;
        self.pressed = true;
        Some(self.pages.release(slot))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.arrive(page)
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        if !self.pressed {
            return;
        }
        for _ in 0..max {
            if self.lists.len(WATCHED) >= self.most_watched {
                break;
            }
            let Some(slot) = self.lists.pop_oldest(MAPPED) else { break };
            self.lists.push_youngest(WATCHED, slot);
            out.extend(self.pages.get(slot).map(|page| (page, slot)));
        }
        self.pressed = self.lists.len(WATCHED) < self.most_watched;
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
