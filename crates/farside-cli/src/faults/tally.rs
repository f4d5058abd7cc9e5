//! Faults counted by instruction, and samples of their stacks.

use std::collections::HashMap;

use farside_os::memory::PAGE;
use farside_symbols::{Callers, Place};
use farside_wire::fault_log::Answer;

/// Most strides that are told apart at an instruction.
const MOST_STRIDES: usize = 256;

/// What kind of fault.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// What was done.
    pub answer: Answer,
    /// Whether the program wanted to write.
    pub write: bool,
}

/// Distances in pages from one fault of a thread to its next at the same instruction, and how often they were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    seen: HashMap<i64, u64>,
    total: u64,
}

impl Strides {
    fn add(&mut self, pages: i64) {
        self.total += 1;
        if self.seen.len() < MOST_STRIDES || self.seen.contains_key(&pages) {
            *self.seen.entry(pages).or_default() += 1;
        }
    }

    /// Adds what was seen elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.total += other.total;
        for (pages, count) in &other.seen {
            *self.seen.entry(*pages).or_default() += count;
        }
    }

    /// The most frequent distance, and its share of all.
    pub fn most_frequent(&self) -> Option<(i64, f64)> {
        let by_count = |&(pages, count): &(&i64, &u64)| (*count, -pages.abs(), *pages);
        let (pages, count) = self.seen.iter().max_by_key(by_count)?;
        Some((*pages, *count as f64 / self.total as f64))
    }
}

/// Faults of one instruction.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// How many of each kind.
    pub counts: HashMap<Kind, u64>,
    /// The distances between them.
    pub strides: Strides,
    /// The page of each thread's last fault here.
    last: HashMap<u32, u64>,
}

/// All faults of a process.
#[derive(Debug, Default)]
pub struct Tally {
    /// By instruction; `None` is code that is in no file.
    pub leaves: HashMap<Option<Place>, Leaf>,
    /// Stacks that were sampled, and how many faults they stand for.
    pub stacks: HashMap<(Callers, Kind), u64>,
    /// How many samples that were.
    pub samples: u64,
    /// How many of them end before the beginning of their thread.
    pub incomplete: u64,
    /// Faults whose instruction nobody saw.
    pub unseen: HashMap<Kind, u64>,
    /// Events that the kernel had no room for.
    pub lost: u64,
}

impl Tally {
    /// Counts a fault of a thread.
    pub fn add(&mut self, place: Option<Place>, kind: Kind, thread: u32, address: u64) {
        let leaf = self.leaves.entry(place).or_default();
        *leaf.counts.entry(kind).or_default() += 1;
        let page = address / PAGE as u64;
        if let Some(before) = leaf.last.insert(thread, page) {
            leaf.strides.add(page.wrapping_sub(before) as i64);
        }
    }

    /// Counts a fault whose instruction is not known.
    pub fn add_unseen(&mut self, kind: Kind) {
        *self.unseen.entry(kind).or_default() += 1;
    }

    /// Takes note of the stack of a fault that was counted, which stands for so many.
    pub fn add_stack(&mut self, callers: Callers, kind: Kind, weight: u64) {
        self.samples += 1;
        self.incomplete += u64::from(!callers.complete);
        *self.stacks.entry((callers, kind)).or_default() += weight;
    }
}
