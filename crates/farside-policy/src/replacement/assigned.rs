//! Policies of their own for parts of memory (Eden, section 4: an application chooses what suits it best).

use std::ops::Range;

use farside_trace::{PageId, PageRange, PageSample};

use super::{Arrival, ReplacementPolicy, Slot};

/// Bits of a slot that are the part's own; those above number the parts.
const SLOT_BITS: u32 = 28;

/// Most policies that ranges can have at once: one part is the default, and one is kept for a new policy whose range
/// takes the place of others, which have pages until these are passed on.
pub const MOST_ASSIGNED: usize = (1 << (32 - SLOT_BITS)) - 2;

/// One policy for every page, until the program [assigns](Self::assign) others to ranges of pages.
///
/// The parts give up pages in proportion to how many they have, one here and one there: a part does not grow at the
/// cost of others because of its policy, only because more of its pages arrive.
pub struct Assigned {
    /// The first is the default.
    parts: Vec<Part>,
    /// Ranges that are not the default's, in ascending order, none overlapping another.
    ranges: Vec<(Range<u64>, usize)>,
    capacity: usize,
    /// Of which uses are told, if of any.
    sample: Option<PageSample>,
}

struct Part {
    policy: Box<dyn ReplacementPolicy>,
    /// What it is behind with giving up pages, in pages times all pages.
    debt: i64,
}

impl Assigned {
    /// Every page is that policy's.
    pub fn new(policy: Box<dyn ReplacementPolicy>) -> Self {
        Self {
            parts: vec![Part { policy, debt: 0 }],
            ranges: Vec::new(),
            capacity: 0,
            sample: None,
        }
    }

    /// From now on the pages of `range` that arrive are this policy's, or the default's again. False, and nothing
    /// changes, if there would be more than [`MOST_ASSIGNED`] policies.
    ///
    /// Those that are here stay with the policy they have; the caller [passes them on](Self::pass_on).
    pub fn assign(
        &mut self,
        range: Range<PageId>,
        policy: Option<Box<dyn ReplacementPolicy>>,
    ) -> bool {
        let range = range.start.0..range.end.0;
        let mut ranges = without(&self.ranges, &range);
        if let Some(policy) = policy {
            let Some(part) = self.add(policy, &ranges) else { return false };
            ranges.push((range, part));
            ranges.sort_by_key(|(range, _)| range.start);
        }
        self.ranges = ranges;
        true
    }

    /// A new part beside those of `ranges`, in the place of one that has neither range nor page.
    fn add(
        &mut self,
        mut policy: Box<dyn ReplacementPolicy>,
        ranges: &[(Range<u64>, usize)],
    ) -> Option<usize> {
        let has_range = |part: usize| ranges.iter().any(|(_, other)| *other == part);
        if (1..self.parts.len()).filter(|&part| has_range(part)).count() == MOST_ASSIGNED {
            return None;
        }
        policy.set_capacity(self.capacity);
        if let Some(sample) = self.sample {
            policy.set_sample(sample);
        }
        let is_free = |&part: &usize| !has_range(part) && self.parts[part].policy.is_empty();
        let free = (1..self.parts.len()).find(is_free);
        // As many as slots can tell apart; there is a free one if pages are always passed on.
        if free.is_none() && self.parts.len() > MOST_ASSIGNED + 1 {
            return None;
        }
        let part = Part { policy, debt: 0 };
        match free {
            Some(free) => self.parts[free] = part,
            None => self.parts.push(part),
        }
        Some(free.unwrap_or(self.parts.len() - 1))
    }

    /// The resident page at `slot` goes over to the policy whose range it lies in, if it is not there already; returns
    /// its slot there.
    pub fn pass_on(&mut self, page: PageId, slot: Slot) -> Slot {
        if self.part_of(page) == split(slot).0 {
            return slot;
        }
        self.remove(slot);
        self.insert(page, Arrival::Demand)
    }

    fn part_of(&self, page: PageId) -> usize {
        if self.ranges.is_empty() {
            return 0;
        }
        let after = self.ranges.partition_point(|(range, _)| range.start <= page.0);
        match after.checked_sub(1).map(|at| &self.ranges[at]) {
            Some((range, part)) if range.contains(&page.0) => *part,
            _ => 0,
        }
    }

    fn with<R>(
        &mut self,
        slot: Slot,
        act: impl FnOnce(&mut dyn ReplacementPolicy, Slot) -> R,
    ) -> R {
        let (part, inner) = split(slot);
        act(&mut *self.parts[part].policy, inner)
    }

    /// The part that gives up the next page.
    fn next_part(&mut self) -> usize {
        if self.parts.len() == 1 {
            return 0;
        }
        let all = self.len() as i64;
        let mut next = 0;
        for at in 0..self.parts.len() {
            let part = &mut self.parts[at];
            let pages = part.policy.len() as i64;
            part.debt = if pages == 0 { 0 } else { part.debt + pages };
            // A part without pages is never behind, and others may be ahead of it.
            let has_more = pages > 0 && part.debt > self.parts[next].debt;
            if has_more || self.parts[next].policy.is_empty() {
                next = at;
            }
        }
        self.parts[next].debt -= all;
        next
    }
}

/// What is left of `ranges` without one.
fn without(ranges: &[(Range<u64>, usize)], range: &Range<u64>) -> Vec<(Range<u64>, usize)> {
    let rest = |(other, part): &(Range<u64>, usize)| {
        let below = other.start..other.end.min(range.start);
        let above = other.start.max(range.end)..other.end;
        [(below, *part), (above, *part)]
    };
    ranges.iter().flat_map(rest).filter(|(rest, _)| !rest.is_empty()).collect()
}

/// The part, and the slot in it.
fn split(slot: Slot) -> (usize, Slot) {
    ((slot.0 >> SLOT_BITS) as usize, Slot(slot.0 & ((1 << SLOT_BITS) - 1)))
}

fn join(part: usize, slot: Slot) -> Slot {
    debug_assert!(slot.0 >> SLOT_BITS == 0, "more pages than slots have numbers for");
    Slot((part as u32) << SLOT_BITS | slot.0)
}

impl ReplacementPolicy for Assigned {
    fn name(&self) -> &'static str {
        self.parts[0].policy.name()
    }

    fn set_capacity(&mut self, pages: usize) {
        self.capacity = pages;
        self.parts.iter_mut().for_each(|part| part.policy.set_capacity(pages));
    }

    fn expect(&mut self, page: PageId) {
        let part = self.part_of(page);
        self.parts[part].policy.expect(page);
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        let part = self.part_of(page);
        join(part, self.parts[part].policy.insert(page, arrival))
    }

    fn access(&mut self, slot: Slot) {
        self.with(slot, |policy, slot| policy.access(slot));
    }

    fn prioritize(&mut self, slot: Slot, priority: u8) {
        self.with(slot, |policy, slot| policy.prioritize(slot, priority));
    }

    fn dismiss(&mut self, slot: Slot) {
        self.with(slot, |policy, slot| policy.dismiss(slot));
    }

    fn reach(&mut self, page: PageId, slot: Option<Slot>) {
        match slot {
            Some(slot) => self.with(slot, |policy, slot| policy.reach(page, Some(slot))),
            None => {
                let part = self.part_of(page);
                self.parts[part].policy.reach(page, None);
            }
        }
    }

    fn remove(&mut self, slot: Slot) {
        self.with(slot, |policy, slot| policy.remove(slot));
    }

    fn victim(&mut self) -> Option<PageId> {
        let next = self.next_part();
        self.parts[next].policy.victim()
    }

    fn restore(&mut self, page: PageId) -> Slot {
        let part = self.part_of(page);
        join(part, self.parts[part].policy.restore(page))
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        let all = self.len().max(1);
        for (at, part) in self.parts.iter_mut().enumerate() {
            let (known, most) = (out.len(), max * part.policy.len() / all);
            part.policy.watch(most, out);
            out[known..].iter_mut().for_each(|(_, slot)| *slot = join(at, *slot));
        }
    }

    fn wants_sample(&self) -> Option<usize> {
        self.parts.iter().filter_map(|part| part.policy.wants_sample()).min()
    }

    fn set_sample(&mut self, sample: PageSample) {
        self.sample = Some(sample);
        self.parts.iter_mut().for_each(|part| part.policy.set_sample(sample));
    }

    fn come(&mut self, page: PageId) {
        let part = self.part_of(page);
        self.parts[part].policy.come(page);
    }

    fn begin_region(&mut self, range: PageRange) {
        self.parts.iter_mut().for_each(|part| part.policy.begin_region(range));
    }

    fn end_region(&mut self, range: PageRange) {
        self.parts.iter_mut().for_each(|part| part.policy.end_region(range));
    }

    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.policy.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fifo, Mru};
    use super::*;

    fn pages(range: Range<u64>) -> Range<PageId> {
        PageId(range.start)..PageId(range.end)
    }

    fn filled(ranges: &[Range<u64>], count: u64) -> Assigned {
        let mut policy = Assigned::new(Box::new(Fifo::new()));
        policy.set_capacity(100);
        for range in ranges {
            assert!(policy.assign(pages(range.clone()), Some(Box::new(Mru::new()))));
        }
        for page in 0..count {
            policy.insert(PageId(page), Arrival::Demand);
        }
        policy
    }

    fn victims(policy: &mut Assigned, count: usize) -> Vec<u64> {
        (0..count).map_while(|_| policy.victim()).map(|page| page.0).collect()
    }

    #[test]
    fn every_page_is_the_default_policys_at_first() {
        let mut policy = filled(&[], 4);
        assert_eq!(victims(&mut policy, 9), [0, 1, 2, 3]);
    }

    #[test]
    fn parts_give_up_pages_in_proportion_and_by_their_own_policies() {
        // Two thirds are evicted in order of arrival, one third the other way round.
        let mut policy = filled(std::slice::from_ref(&(6..9)), 9);
        let left = victims(&mut policy, 9);
        let (of_part, others): (Vec<u64>, _) = left.iter().partition(|page| **page >= 6);
        assert_eq!((of_part, others), (vec![8, 7, 6], vec![0, 1, 2, 3, 4, 5]));
        let in_first_six = left[..6].iter().filter(|page| **page >= 6).count();
        assert_eq!(in_first_six, 2, "{left:?}");
        assert!(policy.is_empty());
    }

    #[test]
    fn a_later_range_cuts_an_earlier_one() {
        let mut policy = filled(&[0..10, 4..6], 12);
        let part = |page| policy.part_of(PageId(page));
        assert_eq!([0, 3, 4, 5, 6, 9, 10, 11].map(part), [1, 1, 2, 2, 1, 1, 0, 0]);
        assert!(policy.assign(pages(2..8), None));
        let part = |page| policy.part_of(PageId(page));
        assert_eq!([1, 2, 5, 7, 8].map(part), [1, 0, 0, 0, 1]);
    }

    #[test]
    fn pages_that_are_here_can_be_passed_on() {
        let mut policy = filled(&[], 0);
        let slots: Vec<Slot> =
            (0..4).map(|page| policy.insert(PageId(page), Arrival::Demand)).collect();
        assert!(policy.assign(pages(0..4), Some(Box::new(Mru::new()))));
        for (page, slot) in (0..).zip(slots) {
            let slot = policy.pass_on(PageId(page), slot);
            assert_eq!(policy.pass_on(PageId(page), slot), slot);
        }
        assert_eq!(victims(&mut policy, 9), [3, 2, 1, 0]);
    }

    #[test]
    fn a_policy_too_many_changes_nothing_and_one_without_range_makes_room() {
        let ranges: Vec<_> = (1..=MOST_ASSIGNED as u64).map(|at| at * 2..at * 2 + 1).collect();
        let mut policy = filled(&ranges, 40);
        assert!(!policy.assign(pages(0..1), Some(Box::new(Mru::new()))));
        assert_eq!(policy.part_of(PageId(0)), 0);
        assert!(policy.assign(pages(2..3), None));
        assert!(policy.assign(pages(0..1), Some(Box::new(Mru::new()))));
        assert_ne!(policy.part_of(PageId(0)), 0);
    }

    #[test]
    fn pages_that_were_never_passed_on_leave_no_room_for_more_policies() {
        let mut policy = Assigned::new(Box::new(Fifo::new()));
        policy.set_capacity(100);
        let assigned = (0..40).filter(|at| {
            let is_assigned = policy.assign(pages(0..40), Some(Box::new(Mru::new())));
            policy.insert(PageId(*at), Arrival::Demand);
            is_assigned
        });
        assert_eq!(assigned.count(), MOST_ASSIGNED + 1);
        assert_eq!(victims(&mut policy, 99).len(), 40);
    }

    #[test]
    fn a_range_can_take_the_place_of_all_others() {
        let ranges: Vec<_> = (0..MOST_ASSIGNED as u64).map(|at| at..at + 1).collect();
        let mut policy = filled(&ranges, 0);
        let slots: Vec<Slot> =
            (0..20).map(|page| policy.insert(PageId(page), Arrival::Demand)).collect();
        assert!(policy.assign(pages(0..20), Some(Box::new(Mru::new()))));
        for (page, slot) in (0..).zip(slots) {
            policy.pass_on(PageId(page), slot);
        }
        assert!(policy.assign(pages(0..0), None));
        assert_eq!(victims(&mut policy, 2), [19, 18]);
    }
}
