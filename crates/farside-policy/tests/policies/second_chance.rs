//! Second chance against an independent model that searches its queues, and against its own past.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use crate::support::{Paging, Traces, golden, golden_rows, misses, rows};
use farside_policy::replacement::{Arrival, ReplacementPolicy, SecondChance, Slot};
use farside_trace::PageId;
use proptest::prelude::*;

/// The policy as a description would have it; the front of a queue is its old end.
#[derive(Default)]
struct Model {
    active: VecDeque<PageId>,
    inactive: VecDeque<PageId>,
    bound: usize,
    refill: bool,
}

impl Model {
    fn with_capacity(pages: usize, divisor: usize) -> Self {
        Self { bound: Self::bound(pages, divisor), ..Self::default() }
    }

    fn bound(pages: usize, divisor: usize) -> usize {
        match pages {
            0 | 1 => 0,
            _ => usize::max(1, pages / divisor),
        }
    }

    fn access(&mut self, page: PageId) {
        if let Some(index) = self.inactive.iter().position(|&other| other == page) {
            self.inactive.remove(index);
            self.active.push_back(page);
        }
    }

    fn remove(&mut self, page: PageId) {
        self.active.retain(|&other| other != page);
        self.inactive.retain(|&other| other != page);
    }

    fn victim(&mut self) -> Option<PageId> {
        let victim = self.inactive.pop_front().or_else(|| self.active.pop_front());
        self.refill |= victim.is_some();
        victim
    }

    fn watch(&mut self, max: usize) -> Vec<PageId> {
        let wanted = if self.refill { self.bound.saturating_sub(self.inactive.len()) } else { 0 };
        let count = wanted.min(max).min(self.active.len());
        let demoted: Vec<_> = self.active.drain(..count).collect();
        self.inactive.extend(&demoted);
        self.refill &= self.inactive.len() < self.bound;
        demoted
    }
}

/// Where a page is in [`ModelPaging`].
#[derive(Copy, Clone, PartialEq)]
enum Place {
    Far,
    Mapped,
    Watched,
}

/// Demand paging over the model.
struct ModelPaging {
    model: Model,
    capacity: usize,
    places: Vec<Place>,
}

impl ModelPaging {
    /// As [`Paging::reference`], with the pages watched then.
    fn reference(&mut self, page: PageId) -> (Option<Option<PageId>>, Vec<PageId>) {
        let place = std::mem::replace(&mut self.places[page.0 as usize], Place::Mapped);
        if place != Place::Far {
            if place == Place::Watched {
                self.model.access(page);
            }
            return (None, Vec::new());
        }
        let full = self.model.active.len() + self.model.inactive.len() == self.capacity;
        let victim = if full { self.model.victim() } else { None };
        if let Some(victim) = victim {
            self.places[victim.0 as usize] = Place::Far;
        }
        self.model.active.push_back(page);
        let watched = self.model.watch(32);
        for page in &watched {
            self.places[page.0 as usize] = Place::Watched;
        }
        (Some(victim), watched)
    }
}

#[test]
fn second_chance_equals_the_model_on_the_golden_traces() {
    let Some(golden) = golden("second_chance_equals_the_model_on_the_golden_traces") else {
        return;
    };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in golden_rows(&golden, "fifo") {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let mut real = Paging::new(SecondChance::new(), row.pages);
        let mut model = ModelPaging {
            model: Model::with_capacity(row.pages, 8),
            capacity: row.pages,
            places: vec![Place::Far; trace.len()],
        };
        for (index, &page) in trace.iter().enumerate() {
            let outcome = real.reference(page);
            let (expected, watched) = model.reference(page);
            assert_eq!(outcome, expected, "{} {}: access {index}", row.trace, row.pages);
            if outcome.is_some() {
                assert!(real.watched().eq(watched), "{} {}: {index}", row.trace, row.pages);
            }
        }
        checked += 1;
    }
    assert!(checked > 0, "no golden row has its trace");
}

#[test]
fn second_chance_misses_are_what_they_were() {
    let Some(golden) = golden("second_chance_misses_are_what_they_were") else { return };
    let mut traces = Traces::new(&golden);
    let mut changed = Vec::new();
    for row in rows(farside_golden::rows(include_str!("second_chance_misses.tsv"))) {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let found = misses(SecondChance::new(), row.pages, trace);
        if (found, trace.len()) != (row.misses, row.requests) {
            let requests = trace.len();
            changed
                .push(format!("{}\t{}\t{}\t{requests}\t{found}", row.trace, row.policy, row.pages));
        }
    }
    assert!(
        changed.is_empty(),
        "rows of second_chance_misses.tsv now read:\n{}",
        changed.join("\n")
    );
}

#[test]
fn a_watched_page_that_is_used_outlives_pages_that_came_later() {
    let mut policy = SecondChance::new();
    policy.set_capacity(16);
    for page in 0..17 {
        policy.insert(PageId(page), Arrival::Demand);
    }
    assert_eq!(policy.victim(), Some(PageId(0)), "nothing is watched yet, the oldest page leaves");
    let mut watched = Vec::new();
    policy.watch(100, &mut watched);
    assert_eq!(watched.iter().map(|&(page, _)| page.0).collect::<Vec<_>>(), [1, 2]);
    policy.access(watched[0].1);
    let leaving: Vec<_> = std::iter::from_fn(|| policy.victim()).map(|page| page.0).collect();
    assert_eq!(leaving, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1]);
}

#[test]
fn pages_are_watched_only_while_pages_leave() {
    let mut policy = SecondChance::new();
    policy.set_capacity(64);
    let mut watched = Vec::new();
    for page in 0..64 {
        policy.insert(PageId(page), Arrival::FirstTouch);
        policy.watch(100, &mut watched);
    }
    assert!(watched.is_empty(), "what fits is left alone");

    policy.victim();
    policy.watch(5, &mut watched);
    policy.watch(100, &mut watched);
    assert_eq!(watched.len(), 8, "a full share after a page left, in as many calls as it takes");
    let soft_faults = std::mem::take(&mut watched);
    for (_, slot) in soft_faults {
        policy.access(slot);
        policy.watch(100, &mut watched);
    }
    assert!(watched.is_empty(), "no soft faults without end once pages stopped leaving");
}

#[test]
fn the_watched_share_is_bounded_and_at_least_a_page() {
    for (capacity, divisor, share) in [
        (0, 8, 0),
        (1, 8, 0),
        (2, 8, 1),
        (15, 8, 1),
        (16, 8, 2),
        (100, 8, 12),
        (9, 1, 9),
        (9, 3, 3),
    ] {
        let divisor = NonZeroUsize::new(divisor).unwrap();
        let mut policy = SecondChance::with_watched_share(divisor);
        policy.set_capacity(capacity);
        for page in 0..200 {
            policy.insert(PageId(page), Arrival::Demand);
        }
        policy.victim();
        let mut watched = Vec::new();
        policy.watch(usize::MAX, &mut watched);
        assert_eq!(watched.len(), share, "capacity {capacity}, divisor {divisor}");
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(bool),
    Access(prop::sample::Index),
    Remove(prop::sample::Index),
    Victim,
    Refuse,
    Watch(usize),
    Capacity(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => any::<bool>().prop_map(Op::Insert),
        6 => any::<prop::sample::Index>().prop_map(Op::Access),
        1 => any::<prop::sample::Index>().prop_map(Op::Remove),
        4 => Just(Op::Victim),
        1 => Just(Op::Refuse),
        4 => (0..6_usize).prop_map(Op::Watch),
        1 => (0..60_usize).prop_map(Op::Capacity),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_calls_equals_the_model(
        ops in prop::collection::vec(op(), 0..200),
        divisor in 1..9_usize,
    ) {
        let mut policy = SecondChance::with_watched_share(NonZeroUsize::new(divisor).unwrap());
        policy.set_capacity(20);
        let mut model = Model::with_capacity(20, divisor);
        let mut resident: Vec<(PageId, Slot)> = Vec::new();
        let mut arrivals = (0..).map(PageId);
        for op in ops {
            match op {
                Op::Insert(foreseen) => {
                    let page = arrivals.next().unwrap();
                    let arrival = if foreseen { Arrival::Prefetch } else { Arrival::Demand };
                    resident.push((page, policy.insert(page, arrival)));
                    model.active.push_back(page);
                }
                Op::Access(index) if !resident.is_empty() => {
                    let (page, slot) = *index.get(&resident);
                    policy.access(slot);
                    model.access(page);
                }
                Op::Remove(index) if !resident.is_empty() => {
                    let (page, slot) = resident.swap_remove(index.index(resident.len()));
                    policy.remove(slot);
                    model.remove(page);
                }
                Op::Victim | Op::Refuse => {
                    let victim = policy.victim();
                    prop_assert_eq!(victim, model.victim());
                    let Some(victim) = victim else { continue };
                    resident.retain(|&(page, _)| page != victim);
                    if matches!(op, Op::Refuse) {
                        resident.push((victim, policy.restore(victim)));
                        model.active.push_back(victim);
                    }
                }
                Op::Watch(max) => {
                    let mut watched = Vec::new();
                    policy.watch(max, &mut watched);
                    prop_assert!(watched.iter().all(|pair| resident.contains(pair)));
                    let pages: Vec<_> = watched.into_iter().map(|(page, _)| page).collect();
                    prop_assert_eq!(pages, model.watch(max));
                }
                Op::Capacity(pages) => {
                    policy.set_capacity(pages);
                    model.bound = Model::bound(pages, divisor);
                }
                Op::Access(_) | Op::Remove(_) => {}
            }
            prop_assert_eq!(policy.len(), resident.len());
        }
        let rest: Vec<_> = std::iter::from_fn(|| policy.victim()).collect();
        let expected: Vec<_> = std::iter::from_fn(|| model.victim()).collect();
        prop_assert_eq!(rest, expected);
    }
}
