//! What a program's memory consists of.

use std::collections::HashSet;
use std::path::Path;

use farside_policy::replacement::region::{MOST_REGIONS, RegionMap};
use farside_trace::{Block, MappingChange, PageRange, TraceReader};

use crate::Failure;

/// Smallest mapping that is a region: 1 MiB.
const LEAST_PAGES: u64 = 256;

/// Pages and arrays of a program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Different pages in the trace.
    pub footprint: usize,
    /// Large mappings, those with most touched pages first. What a C program allocates in one large
    /// piece is one.
    arrays: Vec<PageRange>,
}

impl Layout {
    /// The layout of a trace.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(trace: &Path) -> Result<Self, Failure> {
        let bad = |error: farside_trace::TraceError| Failure::usage(error.to_string());
        let mut reader = TraceReader::open(trace).map_err(bad)?;
        let mut block = Block::default();
        let mut pages = HashSet::new();
        let mut arrays: Vec<PageRange> = Vec::new();
        while reader.next_block(&mut block).map_err(bad)? {
            pages.extend(block.accesses.iter().map(|access| access.page.0));
            for event in &block.events {
                let MappingChange::Appeared(mapping) = &event.change else { continue };
                let new = mapping.range();
                let apart = |old: &PageRange| old.end() <= new.first.0 || new.end() <= old.first.0;
                if new.count >= LEAST_PAGES && arrays.iter().all(apart) {
                    arrays.push(new);
                }
            }
        }
        let mut touched = vec![0; arrays.len()];
        for page in &pages {
            let holds = |array: &PageRange| (array.first.0..array.end()).contains(page);
            if let Some(array) = arrays.iter().position(holds) {
                touched[array] += 1;
            }
        }
        let mut order: Vec<usize> = (0..arrays.len()).filter(|i| touched[*i] > 0).collect();
        order.sort_by_key(|index| std::cmp::Reverse(touched[*index]));
        order.truncate(MOST_REGIONS - 1);
        let arrays = order.into_iter().map(|index| arrays[index]).collect();
        Ok(Self { footprint: pages.len(), arrays })
    }

    /// A region for each array.
    pub fn regions(&self) -> RegionMap {
        let numbered: Vec<_> =
            self.arrays.iter().enumerate().map(|(region, array)| (*array, region)).collect();
        // They do not overlap and are few enough.
        RegionMap::given(&numbered).unwrap_or_else(|_| RegionMap::by_gap(u64::MAX, 1))
    }

    /// Number of arrays.
    pub fn arrays(&self) -> usize {
        self.arrays.len()
    }
}
