//! 3PO's own sweep: what follows from the local memory (Figures 4 and 5), from the microset (Figures
//! 12 to 14), and from the pace at which a tape is followed (section 3.3).

mod draw;
mod microset;
mod runs;

use std::fs;
use std::path::Path;

use clap::ValueEnum;

use super::Bench;
use crate::bench::Failure;

/// What is changed while everything else stays.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Run time over local memory, 100 % to 5 %.
    Local,
    /// Tracing time, sizes and run time over microsets of 2 to 65,536 pages.
    Microset,
    /// Run time over the lookahead, 50 to 6,400 pages.
    Lookahead,
    /// Run time over the batch, 10 to 800 pages.
    Batch,
}

impl Bench<'_> {
    /// Measures the parts that are wanted, writes numbers and pictures into `directory`, and
    /// appends rows.
    pub(super) fn sweep(&mut self, directory: &Path) -> Result<(), Failure> {
        let failed = |e| Failure::io(format!("cannot make {}", directory.display()), &e);
        fs::create_dir_all(directory).map_err(failed)?;
        let wanted = &self.args.sweep_of;
        for part in Part::value_variants() {
            match part {
                _ if !wanted.is_empty() && !wanted.contains(part) => {}
                Part::Local => self.sweep_local(directory)?,
                Part::Microset => self.sweep_microsets(directory)?,
                Part::Lookahead => self.sweep_pace(directory, &runs::LOOKAHEAD)?,
                Part::Batch => self.sweep_pace(directory, &runs::BATCH)?,
            }
        }
        Ok(())
    }
}
