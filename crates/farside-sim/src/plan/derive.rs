//! Plans for more memory, made from the steps for less and not from the trace.
//!
//! The frames that come in addition hold pages that would have been evicted: a page that is fetched again while
//! it is held has neither step. The order of what is held is that of the policy. Steps do not tell of
//! discards: a page that was discarded while it was held is taken to be there until it is touched, so a
//! derived plan may evict what is gone, and never holds more than it may.

use farside_policy::replacement::{Arrival, Lru, ReplacementPolicy, Slot};
use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind};
use rustc_hash::FxHashMap;

use crate::next_use::NEVER;
use crate::times::Times;

/// When the steps of one thread fetch what they evict.
#[derive(Clone, Debug, Default)]
pub struct NextFetches {
    steps: u32,
    /// By number of the step that evicts: the number of the one that fetches the page next, or [`NEVER`]. 4 bytes
    /// for each step.
    next: Vec<u32>,
    /// Number of the step that evicted each page that is out.
    out: FxHashMap<PageId, u32>,
}

impl NextFetches {
    /// Before the first step.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next step; false if there are too many, 2^32 - 1.
    pub fn push(&mut self, step: Step) -> bool {
        let now = self.steps;
        if now == NEVER {
            return false;
        }
        self.next.push(NEVER);
        match step.kind {
            StepKind::Evict => {
                self.out.insert(step.page, now);
            }
            StepKind::Fetch | StepKind::FetchToWrite => {
                if let Some(evicted) = self.out.remove(&step.page) {
                    self.next[evicted as usize] = now;
                }
            }
            StepKind::Touch => {
                self.out.remove(&step.page);
            }
        }
        self.steps += 1;
        true
    }
}

/// Derives the steps of one thread for more memory from its steps for less.
#[derive(Debug)]
pub struct Derivation {
    capacity: u64,
    extra: u64,
    /// Resident by the steps that come in, at most: discards may have made it less.
    resident: u64,
    held: Held,
}

/// What would have been evicted.
#[derive(Debug)]
enum Held {
    Lru { policy: Lru, slots: FxHashMap<PageId, Slot> },
    Min(Box<HeldMin>),
}

#[derive(Debug)]
struct HeldMin {
    next: Vec<u32>,
    /// Number of the step that is next.
    now: usize,
    times: Times,
    /// The page that is fetched in the step of each number.
    pages: FxHashMap<u32, PageId>,
    /// Pages that are not fetched again, and the order in which they were evicted.
    dead: FxHashMap<PageId, u32>,
    order: std::collections::VecDeque<(u32, PageId)>,
}

impl Derivation {
    /// For a thread that has `extra` pages more than the `capacity` pages of an LRU plan: the same steps as those
    /// of an LRU plan for so many, unless there are discards.
    pub fn lru(capacity: u64, extra: u64) -> Self {
        let held = Held::Lru { policy: Lru::new(), slots: FxHashMap::default() };
        Self { capacity, extra, resident: 0, held }
    }

    /// For a thread that has `extra` pages more than the `capacity` pages of a plan; held is what is fetched
    /// soonest. `next` knows all steps of that plan. It never fetches more than that plan.
    pub fn min(capacity: u64, extra: u64, next: NextFetches) -> Self {
        let held = HeldMin {
            times: Times::new(next.next.len()),
            next: next.next,
            now: 0,
            pages: FxHashMap::default(),
            dead: FxHashMap::default(),
            order: std::collections::VecDeque::new(),
        };
        Self { capacity, extra, resident: 0, held: Held::Min(Box::new(held)) }
    }

    /// The next step of the plan for less; appends the steps that it becomes to `steps`, two at most.
    pub fn step(&mut self, step: Step, steps: &mut Vec<Step>) {
        match step.kind {
            StepKind::Evict => {
                self.resident = self.resident.saturating_sub(1);
                self.held.put(step.page);
            }
            StepKind::Fetch | StepKind::FetchToWrite => {
                if !self.held.take(step.page) {
                    self.make_room(steps);
                    steps.push(step);
                }
                self.resident = self.capacity.min(self.resident + 1);
            }
            StepKind::Touch => {
                // What is held of it was discarded.
                self.held.forget(step.page);
                self.make_room(steps);
                steps.push(step);
                self.resident = self.capacity.min(self.resident + 1);
            }
        }
        self.held.pass();
    }

    fn make_room(&mut self, steps: &mut Vec<Step>) {
        // One that is resident was discarded if there are more than there may be.
        let resident = self.resident.min(self.capacity.saturating_sub(1));
        while resident + self.held.len() >= self.capacity.saturating_add(self.extra)
            && let Some(page) = self.held.victim()
        {
            steps.push(Step { kind: StepKind::Evict, page });
        }
    }
}

impl Held {
    fn len(&self) -> u64 {
        match self {
            Self::Lru { policy, .. } => policy.len() as u64,
            Self::Min(held) => (held.pages.len() + held.dead.len()) as u64,
        }
    }

    fn put(&mut self, page: PageId) {
        match self {
            Self::Lru { policy, slots } => {
                // A damaged plan may evict a page twice.
                match slots.get(&page) {
                    Some(slot) => policy.access(*slot),
                    None => {
                        slots.insert(page, policy.insert(page, Arrival::Demand));
                    }
                }
            }
            Self::Min(held) => held.put(page),
        }
    }

    /// Takes out a page that is fetched now; whether it was held.
    fn take(&mut self, page: PageId) -> bool {
        match self {
            Self::Lru { policy, slots } => match slots.remove(&page) {
                Some(slot) => {
                    policy.remove(slot);
                    true
                }
                None => false,
            },
            Self::Min(held) => {
                held.times.take(held.now) && held.pages.remove(&(held.now as u32)).is_some()
            }
        }
    }

    /// Takes out a page whose content is gone.
    fn forget(&mut self, page: PageId) {
        match self {
            Self::Lru { .. } => {
                self.take(page);
            }
            Self::Min(held) => {
                held.dead.remove(&page);
            }
        }
    }

    fn victim(&mut self) -> Option<PageId> {
        match self {
            Self::Lru { policy, slots } => {
                let page = policy.victim()?;
                slots.remove(&page);
                Some(page)
            }
            Self::Min(held) => held.victim(),
        }
    }

    /// A step is over.
    fn pass(&mut self) {
        if let Self::Min(held) = self {
            held.now += 1;
        }
    }
}

impl HeldMin {
    fn put(&mut self, page: PageId) {
        match self.next.get(self.now).copied().unwrap_or(NEVER) {
            NEVER => {
                self.dead.insert(page, self.now as u32);
                self.order.push_back((self.now as u32, page));
                if self.order.len() > 2 * self.dead.len() + 1024 {
                    let dead = &self.dead;
                    self.order.retain(|(since, page)| dead.get(page) == Some(since));
                }
            }
            next => {
                self.times.put(next as usize);
                self.pages.insert(next, page);
            }
        }
    }

    fn victim(&mut self) -> Option<PageId> {
        while let Some((since, page)) = self.order.pop_front() {
            if self.dead.get(&page) == Some(&since) {
                self.dead.remove(&page);
                return Some(page);
            }
        }
        let last = self.times.last()?;
        self.times.take(last);
        self.pages.remove(&(last as u32))
    }
}
