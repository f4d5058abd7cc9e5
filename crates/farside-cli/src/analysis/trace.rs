//! Reading a trace from front to back, with a bar that shows how far it is.

use std::path::Path;
use std::sync::Once;

use farside_sim::page_map::{NONE, PageMap};
use farside_trace::{Access, Block, Metadata, TraceReader};

use crate::Failure;
use crate::traces::progress::bar;

/// Gives all accesses of the trace at `path` to `take`, some thousands at a time.
///
/// # Errors
/// If the trace cannot be read: exit code 2.
pub fn read(
    path: &Path,
    what: &'static str,
    mut take: impl FnMut(&[Access]),
) -> Result<(), Failure> {
    read_blocks(path, what, |block| take(&block.accesses)).map(|_| ())
}

/// Gives all accesses and mapping events of the trace at `path` to `take`, some thousands at a time;
/// returns what the trace says about itself, if anything.
///
/// # Errors
/// If the trace cannot be read: exit code 2.
pub fn read_blocks(
    path: &Path,
    what: &'static str,
    mut take: impl FnMut(&Block),
) -> Result<Option<Metadata>, Failure> {
    try_read_blocks(path, what, |block| {
        take(block);
        Ok(())
    })
    .map(|read| read.metadata)
}

/// What is known of a trace that was read.
#[derive(Debug)]
pub struct Read {
    /// What it says about itself, if anything.
    pub metadata: Option<Metadata>,
    /// Whether its end is missing.
    pub cut: bool,
}

/// As [`read_blocks`], until `take` fails.
///
/// # Errors
/// If the trace cannot be read: exit code 2; and those of `take`.
pub fn try_read_blocks(
    path: &Path,
    what: &'static str,
    mut take: impl FnMut(&Block) -> Result<(), Failure>,
) -> Result<Read, Failure> {
    let bad = |error: farside_trace::TraceError| Failure::usage(error.to_string());
    let mut reader = TraceReader::open(path).map_err(bad)?;
    if let Some(cut) = reader.cut() {
        // Once, however often the trace is read.
        static TOLD: Once = Once::new();
        TOLD.call_once(|| eprintln!("farside: {cut}"));
    }
    let bar = bar(std::fs::metadata(path).ok().map(|file| file.len())).with_message(what);
    let mut block = Block::default();
    while reader.next_block(&mut block).map_err(bad)? {
        take(&block)?;
        bar.set_position(reader.bytes_read());
    }
    bar.finish_and_clear();
    Ok(Read { metadata: reader.metadata().cloned(), cut: reader.cut().is_some() })
}

/// Counts different pages.
#[derive(Default)]
pub struct Footprint {
    seen: PageMap,
    pages: u64,
}

impl Footprint {
    /// Takes in accesses.
    pub fn add(&mut self, accesses: &[Access]) {
        for access in accesses {
            let place = self.seen.entry(access.page);
            self.pages += u64::from(*place == NONE);
            *place = 0;
        }
    }

    /// Number of different pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}
