//! Reading a trace from front to back, with a bar that shows how far it is.

use std::io::IsTerminal;
use std::path::Path;

use farside_sim::page_map::{NONE, PageMap};
use farside_trace::{Access, Block, TraceReader};
use indicatif::{ProgressBar, ProgressStyle};

use crate::Failure;

/// Gives all accesses of the trace at `path` to `take`, some thousands at a time.
///
/// # Errors
/// If the trace cannot be read: exit code 2.
pub fn read(
    path: &Path,
    what: &'static str,
    mut take: impl FnMut(&[Access]),
) -> Result<(), Failure> {
    let bad = |error: farside_trace::TraceError| Failure::usage(error.to_string());
    let mut reader = TraceReader::open(path).map_err(bad)?;
    if let Some(cut) = reader.cut() {
        eprintln!("farside: {}: {cut}", path.display());
    }
    let bar = bar(path, what);
    let mut block = Block::default();
    while reader.next_block(&mut block).map_err(bad)? {
        take(&block.accesses);
        if let Some(bar) = &bar {
            bar.set_position(reader.bytes_read());
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(())
}

fn bar(path: &Path, what: &'static str) -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let len = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let bar = ProgressBar::new(len).with_message(what);
    let template = "{msg} {wide_bar} {bytes}/{total_bytes} {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    Some(bar)
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
