//! What one pass over a trace finds: exact curves, the working set, and which pages there are.

use std::path::Path;

use farside_sim::curve::{Curve, MruDistances, OptDistances};
use farside_sim::mapping_names::MappingNames;
use farside_sim::next_use::NextUses;
use farside_sim::page_ranks::{PageRanks, TouchedPages};
use farside_sim::working_set::WorkingSet;
use farside_trace::Metadata;

use super::super::trace::read_blocks;
use super::lru::{Lru, LruCurve, Sample, SampleSize};
use crate::Failure;

/// Accesses in a stretch of the working set, at first.
const STRETCH: u64 = 1 << 10;

/// Most accesses for which the exact curve of Belady's MIN is computed: it takes microseconds for each.
const MOST_FOR_OPT_CURVE: u64 = 1 << 21;

/// What was found.
pub struct Findings {
    pub accesses: u64,
    pub data_accesses: u64,
    pub writes: u64,
    pub lru: Curve,
    /// If the curve of LRU is not exact.
    pub sample: Option<Sample>,
    pub mru: Curve,
    /// Of short traces only.
    pub opt: Option<Curve>,
    /// Reuse distances in powers of two: the least of each class, and how many records are in it.
    pub reuse: Vec<(usize, u64)>,
    pub working_set: WorkingSet,
    pub ranks: PageRanks,
    pub names: MappingNames,
    pub metadata: Option<Metadata>,
}

impl Findings {
    /// Number of different pages.
    pub fn footprint(&self) -> u64 {
        self.ranks.pages()
    }

    /// The program and its arguments, as far as the trace tells.
    pub fn command(&self) -> Option<String> {
        let metadata = self.metadata.as_ref()?;
        let words = metadata.program.iter().chain(&metadata.arguments);
        let words: Vec<&str> = words.map(String::as_str).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

/// Reads the trace once; the curve of LRU is made of a sample of the pages, or of all.
pub fn find(trace: &Path, sample: Option<SampleSize>) -> Result<Findings, Failure> {
    let (mut lru, mut mru) = (Lru::new(sample), MruDistances::new());
    let (mut accesses, mut data_accesses, mut writes) = (0, 0, 0);
    let mut future = Some(NextUses::new());
    let mut working_set = WorkingSet::new(STRETCH);
    let mut pages = Vec::new();
    let (mut touched, mut names) = (TouchedPages::new(), MappingNames::new());
    let metadata = read_blocks(trace, "analysing", |block| {
        block.events.iter().for_each(|event| names.add(&event.change));
        pages.clear();
        pages.extend(block.accesses.iter().map(|access| access.page));
        lru.references(&pages);
        for access in &block.accesses {
            mru.reference(access.page);
            touched.add(access.page);
            working_set.add(*access);
            data_accesses += u64::from(access.weight);
            writes += u64::from(access.write);
            if future.as_mut().is_some_and(|future| !future.push(access.page)) {
                future = None;
            }
        }
        accesses += block.accesses.len() as u64;
        if accesses > MOST_FOR_OPT_CURVE {
            // The rest goes on without.
            future = None;
        }
    })?;
    // One after the other: what each needed is given back before the next.
    let ranks = touched.finish();
    let LruCurve { curve: lru, reuse, sample } = lru.finish(ranks.pages());
    let mru = mru.into_distances().curve();
    let opt = future.map(|future| OptDistances::of(&future.finish()).curve());
    Ok(Findings {
        accesses,
        data_accesses,
        writes,
        lru,
        sample,
        mru,
        opt,
        reuse,
        working_set,
        ranks,
        names,
        metadata,
    })
}
