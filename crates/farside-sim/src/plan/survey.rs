//! What has to be known of a trace before it is planned.

use std::collections::BTreeSet;

use farside_trace::Block;

use super::pages::Pages;
use super::pieces::{Piece, pieces};
use super::{PlanError, RegionNames};

/// Counts the threads and pages of a trace.
#[derive(Debug, Default)]
pub struct Survey {
    names: RegionNames,
    pages: Pages,
    threads: BTreeSet<u32>,
    records: u64,
    live: u64,
    peak: u64,
}

/// What a trace needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Its threads in ascending order.
    pub threads: Vec<u32>,
    /// Number of its records.
    pub records: u64,
    /// Pages that are used; those of different regions are different.
    pub pages: u64,
    /// Most pages that have content at one time: with so much memory for each thread nothing is ever evicted.
    pub peak: u64,
}

impl Survey {
    /// Before the first access.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next accesses and mapping events.
    ///
    /// # Errors
    /// A [`PlanError`] if the trace cannot be planned.
    pub fn feed(&mut self, block: &Block) -> Result<(), PlanError> {
        let mut gone = Vec::new();
        pieces(block, |piece| match piece {
            Piece::Event(event) => {
                let kept = self.names.apply(event, &mut gone)?;
                for range in gone.drain(..) {
                    self.pages.discard(range, |_| self.live -= 1);
                }
                self.pages.keep(kept);
                Ok(())
            }
            Piece::Accesses(_, accesses) => {
                for of_thread in accesses.chunk_by(|one, other| one.thread == other.thread) {
                    self.threads.insert(of_thread[0].thread);
                    for access in of_thread {
                        let page = self.names.translate(access.page)?;
                        let used = self.pages.use_of(page, access.write)?;
                        self.live += u64::from(used.first || used.kept);
                    }
                    self.peak = self.peak.max(self.live);
                }
                self.records += accesses.len() as u64;
                Ok(())
            }
        })
    }

    /// What was counted.
    pub fn finish(self) -> Footprint {
        Footprint {
            threads: self.threads.into_iter().collect(),
            records: self.records,
            pages: self.pages.len() as u64,
            peak: self.peak,
        }
    }
}
