//! Golden traces, and demand paging over a policy.
#![allow(dead_code, reason = "not every test file uses all of it")]

pub mod counting;
pub mod faults;
pub mod fetching;
pub mod naive;
pub mod region_stacks;
pub mod run;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use farside_golden::folder as golden;
use farside_golden::table;
use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::{PageId, TraceReader};

/// Most pages that [`Paging`] lets a policy watch after an arrival.
const WATCH_BATCH: usize = 32;

/// A row of an expectation table.
pub struct Row {
    pub trace: String,
    pub policy: String,
    pub pages: usize,
    pub requests: usize,
    pub misses: usize,
}

/// The rows of a table with the columns trace, policy, size in pages, requests, misses.
pub fn rows(table: Vec<Vec<String>>) -> Vec<Row> {
    let number = |field: &str| field.parse().expect("a number in the expectation table");
    let row = |fields: Vec<String>| Row {
        trace: fields[0].clone(),
        policy: fields[1].clone(),
        pages: number(&fields[2]),
        requests: number(&fields[3]),
        misses: number(&fields[4]),
    };
    table.into_iter().map(row).collect()
}

/// The golden expectations of one policy.
pub fn golden_rows(golden: &Path, policy: &str) -> Vec<Row> {
    let all = rows(table(&golden.join("expected/miss_counts.tsv")));
    all.into_iter().filter(|row| row.policy == policy).collect()
}

/// Golden traces by name, each read once.
pub struct Traces {
    folder: PathBuf,
    read: HashMap<String, Option<Vec<PageId>>>,
}

impl Traces {
    pub fn new(golden: &Path) -> Self {
        Self { folder: golden.join("traces"), read: HashMap::new() }
    }

    /// The trace, or `None` if it is not among the golden files. Its pages are numbered anew in the
    /// order of their first use, so that what is known of them can be kept in arrays.
    pub fn get(&mut self, name: &str) -> Option<&[PageId]> {
        let folder = &self.folder;
        let trace = self.read.entry(name.to_owned()).or_insert_with(|| {
            let path = [name.to_owned(), format!("{name}.zst")]
                .into_iter()
                .map(|name| folder.join(name))
                .find(|path| path.is_file())?;
            let pages: Result<_, _> = TraceReader::open(path).expect("a golden trace").collect();
            Some(renumbered(pages.expect("an intact golden trace")))
        });
        trace.as_deref()
    }
}

fn renumbered(trace: Vec<PageId>) -> Vec<PageId> {
    let mut numbers = HashMap::new();
    trace
        .into_iter()
        .map(|page| {
            let next = numbers.len() as u64;
            PageId(*numbers.entry(page).or_insert(next))
        })
        .collect()
}

/// Demand paging: what the pager does with a policy, without the waiting.
pub struct Paging<P> {
    policy: P,
    capacity: usize,
    resident: usize,
    slots: Vec<Option<Slot>>,
    watched: Vec<(PageId, Slot)>,
}

impl<P: ReplacementPolicy> Paging<P> {
    pub fn new(mut policy: P, capacity: usize) -> Self {
        policy.set_capacity(capacity);
        Self { policy, capacity, resident: 0, slots: Vec::new(), watched: Vec::new() }
    }

    /// Accesses `page`: `None` if it was resident, else what left for it, if anything had to.
    pub fn reference(&mut self, page: PageId) -> Option<Option<PageId>> {
        let index = page.0 as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        if let Some(slot) = self.slots[index] {
            self.policy.access(slot);
            return None;
        }
        let mut victim = None;
        self.policy.expect(page);
        if self.resident == self.capacity {
            let page = self.policy.victim().expect("a full memory has a victim");
            self.slots[page.0 as usize].take().expect("a victim that was resident");
            self.resident -= 1;
            victim = Some(page);
        }
        self.slots[index] = Some(self.policy.insert(page, Arrival::Demand));
        self.resident += 1;
        self.watched.clear();
        self.policy.watch(WATCH_BATCH, &mut self.watched);
        Some(victim)
    }

    /// The policy, as it is after what was referenced.
    pub fn into_policy(self) -> P {
        self.policy
    }

    /// The pages the policy began to watch with the last miss.
    pub fn watched(&self) -> impl Iterator<Item = PageId> + '_ {
        self.watched.iter().map(|&(page, _)| page)
    }
}

pub fn misses(policy: impl ReplacementPolicy, capacity: usize, trace: &[PageId]) -> usize {
    let mut paging = Paging::new(policy, capacity);
    trace.iter().filter(|&&page| paging.reference(page).is_some()).count()
}
