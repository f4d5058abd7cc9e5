//! Eden's two policies against models made of vectors.

use crate::support::naive::{self, Naive};
use farside_policy::replacement::{
    Arrival, Eden, EdenOptions, Fifo, Priority, ReplacementPolicy, Slot,
};
use farside_trace::PageId;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: PageId,
    priority: u8,
    listed: u64,
    used: Option<u64>,
}

/// The lists from the lowest to the topmost; the front of a list is its old end.
struct TimestampedLists {
    capacity: usize,
    priorities: u8,
    lists: Vec<Vec<Entry>>,
    now: u64,
}

impl TimestampedLists {
    fn new(capacity: usize, options: EdenOptions) -> Self {
        let lists = vec![Vec::new(); options.generations];
        Self { capacity, priorities: options.priorities as u8, lists, now: 0 }
    }

    fn arrive(&mut self, page: PageId) {
        self.now += 1;
        let entry = Entry { page, priority: 0, listed: self.now, used: None };
        self.lists.last_mut().unwrap().push(entry);
    }

    fn access(&mut self, page: PageId) -> bool {
        let found = self.lists.iter_mut().flatten().find(|entry| entry.page == page);
        let Some(entry) = found else { return false };
        self.now += 1;
        entry.used = Some(self.now);
        true
    }

    fn prioritize(&mut self, page: PageId, priority: u8) {
        let priority = priority.min(self.priorities - 1);
        for list in &mut self.lists {
            if let Some(index) = list.iter().position(|entry| entry.page == page)
                && list[index].priority != priority
            {
                let entry = list.remove(index);
                list.push(Entry { priority, ..entry });
            }
        }
    }

    fn remove(&mut self, page: PageId) {
        self.lists.iter_mut().for_each(|list| list.retain(|entry| entry.page != page));
    }

    fn victim(&mut self) -> Option<PageId> {
        let above = self.lists.len() - 1;
        while self.lists.iter().any(|list| !list.is_empty()) {
            let Some(highest) = self.lists[0].iter().map(|entry| entry.priority).max() else {
                self.lists.rotate_left(1);
                continue;
            };
            let index = self.lists[0].iter().position(|entry| entry.priority == highest).unwrap();
            let entry = self.lists[0].remove(index);
            let Some(used) = entry.used else { return Some(entry.page) };
            // In which of as many parts of its stay as there are lists above it was used.
            let (age, stay) = (self.now - used, (self.now - entry.listed).max(1));
            let part = (0..above as u64).find(|part| age * (above as u64) < (part + 1) * stay);
            let below_top = part.map_or(above - 1, |part| part as usize);
            let entry = Entry { listed: self.now, used: None, ..entry };
            self.lists[above - below_top].push(entry);
        }
        None
    }
}

impl Naive for TimestampedLists {
    fn reference(&mut self, page: PageId) -> Option<Option<PageId>> {
        if self.access(page) {
            return None;
        }
        let full = self.lists.iter().map(Vec::len).sum::<usize>() == self.capacity;
        let victim = if full { self.victim() } else { None };
        self.arrive(page);
        Some(victim)
    }
}

#[test]
fn eden_equals_the_timestamped_lists_on_the_golden_traces() {
    let test = "eden_equals_the_timestamped_lists_on_the_golden_traces";
    for options in [EdenOptions::default(), EdenOptions { generations: 2, priorities: 1 }] {
        naive::compare(
            test,
            || Eden::with_options(options),
            |capacity| TimestampedLists::new(capacity, options),
        );
    }
}

struct FirstInFirstOut(usize, Vec<PageId>);

impl Naive for FirstInFirstOut {
    fn reference(&mut self, page: PageId) -> Option<Option<PageId>> {
        if self.1.contains(&page) {
            return None;
        }
        let victim = (self.1.len() == self.0).then(|| self.1.remove(0));
        self.1.push(page);
        Some(victim)
    }
}

#[test]
fn without_priorities_priority_is_first_in_first_out() {
    let test = "without_priorities_priority_is_first_in_first_out";
    let naive = |capacity| FirstInFirstOut(capacity, Vec::new());
    naive::compare(test, Priority::new, naive);
    naive::compare(test, Fifo::new, naive);
}

fn leaving(policy: &mut impl ReplacementPolicy) -> Vec<u64> {
    std::iter::from_fn(|| policy.victim()).map(|page| page.0).collect()
}

fn filled(policy: &mut impl ReplacementPolicy) -> Vec<Slot> {
    (0..6).map(|page| policy.insert(PageId(page), Arrival::Demand)).collect()
}

#[test]
fn the_highest_priority_leaves_first() {
    let mut policy = Priority::with_priorities(3);
    let slots = filled(&mut policy);
    policy.prioritize(slots[4], 1);
    policy.prioritize(slots[2], 1);
    policy.prioritize(slots[3], 200);
    policy.access(slots[3]);
    assert_eq!(leaving(&mut policy), [3, 4, 2, 0, 1, 5]);
}

#[test]
fn what_is_fetched_ahead_with_a_priority_has_some_room() {
    let mut policy = Priority::new();
    policy.set_capacity(1600);
    for page in 0..1500 {
        policy.insert(PageId(page), Arrival::Demand);
    }
    let fetch = |page: u64, policy: &mut Priority| {
        let slot = policy.insert(PageId(page), Arrival::Prefetch);
        policy.prioritize(slot, 1);
        slot
    };
    let last = (1500..1600).map(|page| fetch(page, &mut policy)).last().expect("some");
    // These are a sixteenth of all.
    assert_eq!(policy.victim(), Some(PageId(0)));
    fetch(1600, &mut policy);
    assert_eq!(policy.victim(), Some(PageId(1500)));
    assert_eq!(policy.victim(), Some(PageId(1)));
    // What the program is done with leaves all the same.
    policy.dismiss(last);
    assert_eq!(policy.victim(), Some(PageId(1599)));
}

#[test]
fn an_unused_page_leaves_before_used_ones_whatever_its_priority() {
    let mut eden = Eden::new();
    let slots = filled(&mut eden);
    eden.prioritize(slots[5], 1);
    eden.prioritize(slots[4], 1);
    for index in [0, 4, 5, 1] {
        eden.access(slots[index]);
    }
    // 4 and 0 were used at about the same time, 5 and 1 later.
    assert_eq!(leaving(&mut eden), [2, 3, 4, 0, 5, 1]);
}

#[derive(Clone, Debug)]
enum Op {
    Insert,
    Access(Index),
    Prioritize(Index, u8),
    Remove(Index),
    Victim,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => Just(Op::Insert),
        8 => any::<Index>().prop_map(Op::Access),
        3 => (any::<Index>(), 0..5_u8).prop_map(|(index, level)| Op::Prioritize(index, level)),
        1 => any::<Index>().prop_map(Op::Remove),
        4 => Just(Op::Victim),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_calls_equals_the_lists(
        ops in prop::collection::vec(op(), 0..200),
        generations in 2..9_usize,
        priorities in 1..5_usize,
    ) {
        let options = EdenOptions { generations, priorities };
        let mut policy = Eden::with_options(options);
        let mut model = TimestampedLists::new(usize::MAX, options);
        let mut resident: Vec<(PageId, Slot)> = Vec::new();
        for (page, op) in (0..).map(PageId).zip(ops) {
            match op {
                Op::Insert => {
                    resident.push((page, policy.insert(page, Arrival::Demand)));
                    model.arrive(page);
                }
                Op::Access(index) if !resident.is_empty() => {
                    let (page, slot) = *index.get(&resident);
                    policy.access(slot);
                    model.access(page);
                }
                Op::Prioritize(index, priority) if !resident.is_empty() => {
                    let (page, slot) = *index.get(&resident);
                    policy.prioritize(slot, priority);
                    model.prioritize(page, priority);
                }
                Op::Remove(index) if !resident.is_empty() => {
                    let (page, slot) = resident.swap_remove(index.index(resident.len()));
                    policy.remove(slot);
                    model.remove(page);
                }
                Op::Victim => {
                    let victim = policy.victim();
                    prop_assert_eq!(victim, model.victim());
                    resident.retain(|&(page, _)| Some(page) != victim);
                }
                _ => {}
            }
        }
    }
}
