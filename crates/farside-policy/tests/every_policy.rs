//! What holds for every replacement policy, whatever it prefers.

mod support;

use std::collections::HashMap;

use farside_policy::replacement::region::{MOST_REGIONS, RegionMap, RegionOptions};
use farside_policy::replacement::{
    self, Arrival, Lirs, LirsOptions, RegionSpecific, ReplacementPolicy, Slot,
};
use farside_trace::{PageId, PageRange, PageSample};
use proptest::prelude::*;
use proptest::sample::Index;
use support::counting::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn names() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    replacement::NAMES.iter().chain(replacement::OMNISCIENT)
}

/// Those of a simulation, and those of a run.
fn policies() -> impl Iterator<Item = Box<dyn ReplacementPolicy>> {
    let simulated = names().map(|(name, _)| replacement::by_name(name).expect("a listed policy"));
    simulated.chain(in_runs())
}

fn in_runs() -> impl Iterator<Item = Box<dyn ReplacementPolicy>> {
    replacement::of_runs().map(|(name, _)| replacement::in_run(name).expect("a policy of runs"))
}

fn bounded_lirs() -> Box<dyn ReplacementPolicy> {
    let options = LirsOptions { most_ghosts: Some(2), ..LirsOptions::default() };
    Box::new(Lirs::with_options("lirs-bounded", options))
}

/// Many small regions, and epochs that end all the time.
fn scattered_regions() -> Box<dyn ReplacementPolicy> {
    let options = RegionOptions { steps: 8, restart: 2, patience: 1, ..RegionOptions::default() };
    Box::new(RegionSpecific::with_options(RegionMap::by_gap(0, MOST_REGIONS), options))
}

#[test]
fn every_listed_name_makes_the_policy_of_that_name() {
    for &(name, description) in names() {
        assert_eq!(replacement::by_name(name).expect("a listed policy").name(), name);
        assert!(!description.is_empty() && !description.contains('\n'));
    }
    assert!(replacement::by_name("no such policy").is_none());
    let twice = |name| names().filter(|(other, _)| *other == name).count();
    assert!(names().all(|(name, _)| twice(*name) == 1));
    assert!(replacement::of_runs().map(|(name, _)| name).eq(in_runs().map(|policy| policy.name())));
    assert!(replacement::in_run("no such policy").is_none());
}

/// The definition of LIRS remembers all that was ever used; its bounded form takes part instead.
#[test]
fn nothing_is_allocated_within_the_capacity() {
    const PAGES: usize = 1000;
    let bounded = policies().filter(|policy| !policy.name().starts_with("lirs"));
    for mut policy in bounded.chain([bounded_lirs(), scattered_regions()]) {
        policy.set_capacity(PAGES);
        let mut watched = Vec::with_capacity(PAGES);
        // Some pages come back after they had left, at different distances.
        let pages = (0..40 * PAGES as u64).map(|i| PageId(i.min(i * i % (5 * PAGES as u64))));
        let mut resident = vec![false; 40 * PAGES];
        let before = allocations();
        for page in pages {
            if std::mem::replace(&mut resident[page.0 as usize], true) {
                continue;
            }
            if page.0.is_multiple_of(300) {
                policy.begin_region(PageRange::new(page, 256 + page.0 % 512));
            }
            if page.0.is_multiple_of(5000) {
                policy.set_sample(PageSample::all(7).with_halvings((page.0 / 5000 % 3) as u32));
            }
            policy.come(page);
            policy.expect(page);
            if policy.len() == PAGES
                && let Some(victim) = policy.victim()
            {
                resident[victim.0 as usize] = false;
            }
            let slot = policy.insert(page, Arrival::Demand);
            policy.access(slot);
            policy.prioritize(slot, (page.0 % 3) as u8);
            if page.0.is_multiple_of(5) {
                policy.dismiss(slot);
            }
            policy.watch(PAGES, &mut watched);
            for (_, slot) in watched.drain(..) {
                policy.access(slot);
            }
        }
        let victim = policy.victim().expect("it is full");
        let slot = policy.restore(victim);
        policy.remove(slot);
        while policy.victim().is_some() {}
        assert_eq!(allocations(), before, "{}", policy.name());
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Arrival),
    Return(Index, bool),
    Access(Index),
    Prioritize(Index, u8),
    Dismiss(Index),
    Remove(Index),
    Victim,
    Refuse,
    Watch(usize),
    Capacity(usize),
    Come(Index),
    Sample(u32),
    BeginRegion(Index, u64),
    EndRegion(Index, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let arrival =
        prop_oneof![Just(Arrival::Demand), Just(Arrival::Prefetch), Just(Arrival::FirstTouch)];
    prop_oneof![
        8 => arrival.prop_map(Op::Insert),
        4 => (any::<Index>(), any::<bool>()).prop_map(|(index, expected)| Op::Return(index, expected)),
        4 => any::<Index>().prop_map(Op::Access),
        2 => (any::<Index>(), any::<u8>()).prop_map(|(index, p)| Op::Prioritize(index, p)),
        2 => any::<Index>().prop_map(Op::Dismiss),
        2 => any::<Index>().prop_map(Op::Remove),
        3 => Just(Op::Victim),
        1 => Just(Op::Refuse),
        3 => (0..9_usize).prop_map(Op::Watch),
        1 => (0..40_usize).prop_map(Op::Capacity),
        4 => any::<Index>().prop_map(Op::Come),
        1 => (0..4_u32).prop_map(Op::Sample),
        1 => (any::<Index>(), 200..400_u64).prop_map(|(index, pages)| Op::BeginRegion(index, pages)),
        1 => (any::<Index>(), 0..400_u64).prop_map(|(index, pages)| Op::EndRegion(index, pages)),
    ]
}

/// The resident pages beside the policy that orders them.
struct Resident {
    policy: Box<dyn ReplacementPolicy>,
    slots: HashMap<PageId, Slot>,
}

impl Resident {
    fn add(&mut self, page: PageId, slot: Slot) {
        let taken = self.slots.values().any(|&other| other == slot);
        assert!(!taken, "{}: a slot in use was handed out", self.policy.name());
        self.slots.insert(page, slot);
    }

    fn choose(&self, index: Index) -> Option<(PageId, Slot)> {
        let mut pages: Vec<_> = self.slots.keys().copied().collect();
        pages.sort_unstable();
        let page = pages.get(index.index(pages.len().max(1)))?;
        Some((*page, self.slots[page]))
    }

    fn evict(&mut self) -> Option<PageId> {
        let victim = self.policy.victim();
        assert_eq!(victim.is_none(), self.slots.is_empty(), "{}", self.policy.name());
        if let Some(victim) = victim {
            let known = self.slots.remove(&victim);
            assert!(known.is_some(), "{}: the victim was not resident", self.policy.name());
        }
        victim
    }

    fn apply(&mut self, op: &Op, fresh: PageId) {
        match *op {
            Op::Insert(arrival) => {
                let slot = self.policy.insert(fresh, arrival);
                self.add(fresh, slot);
            }
            // A page that was resident before.
            Op::Return(index, expected) => {
                let page = PageId(index.index(fresh.0 as usize + 1) as u64);
                if !self.slots.contains_key(&page) {
                    if expected {
                        self.policy.expect(page);
                    }
                    let slot = self.policy.insert(page, Arrival::Demand);
                    self.add(page, slot);
                }
            }
            Op::Access(index) => {
                if let Some((_, slot)) = self.choose(index) {
                    self.policy.access(slot);
                }
            }
            Op::Prioritize(index, priority) => {
                if let Some((_, slot)) = self.choose(index) {
                    self.policy.prioritize(slot, priority);
                }
            }
            Op::Dismiss(index) => {
                if let Some((_, slot)) = self.choose(index) {
                    self.policy.dismiss(slot);
                }
            }
            Op::Remove(index) => {
                if let Some((page, slot)) = self.choose(index) {
                    self.policy.remove(slot);
                    self.slots.remove(&page);
                }
            }
            Op::Victim => drop(self.evict()),
            Op::Refuse => {
                if let Some(page) = self.evict() {
                    let slot = self.policy.restore(page);
                    self.add(page, slot);
                }
            }
            Op::Watch(max) => {
                let mut watched = Vec::new();
                self.policy.watch(max, &mut watched);
                assert!(watched.len() <= max, "{}", self.policy.name());
                assert!(watched.iter().all(|(page, slot)| self.slots.get(page) == Some(slot)));
            }
            Op::Capacity(pages) => self.policy.set_capacity(pages),
            Op::Come(index) => {
                self.policy.come(PageId(index.index(fresh.0 as usize + 1) as u64));
            }
            Op::Sample(halvings) => {
                self.policy.set_sample(PageSample::all(7).with_halvings(halvings));
            }
            // Beside what comes later, or over what came.
            Op::BeginRegion(index, pages) => {
                let first = PageId(index.index(fresh.0 as usize + 1) as u64);
                self.policy.begin_region(PageRange::new(first, pages));
            }
            Op::EndRegion(index, pages) => {
                let first = PageId(index.index(fresh.0 as usize + 1) as u64);
                self.policy.end_region(PageRange::new(first, pages));
            }
        }
        assert_eq!(self.policy.len(), self.slots.len(), "{}", self.policy.name());
        assert_eq!(self.policy.is_empty(), self.slots.is_empty(), "{}", self.policy.name());
    }
}

proptest! {
    #[test]
    fn no_page_is_lost_or_doubled(ops in prop::collection::vec(op(), 0..150)) {
        for policy in policies().chain([bounded_lirs(), scattered_regions()]) {
            let mut resident = Resident { policy, slots: HashMap::new() };
            for (fresh, op) in ops.iter().enumerate() {
                resident.apply(op, PageId(fresh as u64));
            }
            while resident.evict().is_some() {}
            prop_assert!(resident.policy.is_empty());
        }
    }
}

#[test]
fn what_the_program_is_done_with_leaves_next() {
    for name in ["fifo", "second-chance", "priority", "eden"] {
        let mut policy = replacement::by_name(name).expect("it exists");
        policy.set_capacity(8);
        let slots: Vec<Slot> =
            (0..8).map(|page| policy.insert(PageId(page), Arrival::Demand)).collect();
        // What is about to leave otherwise.
        policy.watch(2, &mut Vec::new());
        policy.dismiss(slots[5]);
        assert_eq!(policy.victim(), Some(PageId(5)), "{name}");
        assert_eq!(policy.victim(), Some(PageId(0)), "{name}");
    }
}
