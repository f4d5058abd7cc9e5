//! What came of planning, for people and for programs.

use std::fmt;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use farside_trace::PAGE_SIZE;
use serde::Serialize;

use super::{How, Planned, Surveyed};
use crate::options::Size;
use crate::run::grouped;

/// Tapes and what they were planned from.
#[derive(Debug, Serialize)]
pub struct Report {
    trace: String,
    program: Option<String>,
    arguments: Vec<String>,
    records: u64,
    threads: usize,
    pages: u64,
    peak_pages: u64,
    microset: u64,
    partial: bool,
    policy: &'static str,
    lookahead: u64,
    batch: u64,
    tapes: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    tape: String,
    local_pages: u64,
    capacity_pages: u64,
    touches: u64,
    fetches: u64,
    evictions: u64,
    fetched_bytes: u64,
    tape_bytes: u64,
    /// None if nothing is fetched.
    tape_bytes_per_fetch: Option<f64>,
}

impl Report {
    /// About the tapes that were planned from the trace at `path`.
    pub fn new(path: &Path, surveyed: &Surveyed, how: &How, planned: &[Planned]) -> Self {
        let footprint = &surveyed.footprint;
        Self {
            trace: path.display().to_string(),
            program: surveyed.metadata.program.clone(),
            arguments: surveyed.metadata.arguments.clone(),
            records: footprint.records,
            threads: footprint.threads.len(),
            pages: footprint.pages,
            peak_pages: footprint.peak,
            microset: surveyed.microset,
            partial: surveyed.partial,
            policy: how.policy.name(),
            lookahead: how.lookahead,
            batch: how.batch,
            tapes: planned.iter().map(Row::new).collect(),
        }
    }

    fn head(&self) -> String {
        let threads = match self.threads {
            1 => "1 thread".to_owned(),
            many => format!("{many} threads"),
        };
        let (records, peak) = (grouped(self.records), size(self.peak_pages));
        let partial = if self.partial { ", the end missing" } else { "" };
        format!(
            "{}: {records} pages used by {threads}, at most {peak} at one time{partial}; planned by {}",
            self.trace, self.policy
        )
    }
}

impl Row {
    fn new(planned: &Planned) -> Self {
        let total = planned.summary.total();
        let bytes = planned.summary.bytes;
        let per_fetch = || bytes as f64 / total.fetches as f64;
        Self {
            tape: planned.tape.display().to_string(),
            local_pages: planned.local_pages,
            capacity_pages: planned.capacity,
            touches: total.touches,
            fetches: total.fetches,
            evictions: total.evicts,
            fetched_bytes: total.fetches.saturating_mul(PAGE_SIZE as u64),
            tape_bytes: bytes,
            tape_bytes_per_fetch: (total.fetches > 0).then(per_fetch),
        }
    }

    fn cells(&self) -> [String; 9] {
        // Loops cost next to nothing.
        let digits = |bytes: f64| if bytes < 0.1 { 4 } else { 2 };
        let per_fetch = self.tape_bytes_per_fetch;
        let per_fetch = per_fetch.map(|bytes| format!("{bytes:.*}", digits(bytes)));
        [
            size(self.local_pages).to_string(),
            size(self.capacity_pages).to_string(),
            grouped(self.fetches),
            grouped(self.touches),
            grouped(self.evictions),
            Size(self.fetched_bytes).to_string(),
            Size(self.tape_bytes).to_string(),
            per_fetch.unwrap_or_else(|| "-".to_owned()),
            self.tape.clone(),
        ]
    }
}

/// Pages as a user reads them.
fn size(pages: u64) -> Size {
    Size(pages.saturating_mul(PAGE_SIZE as u64))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header([
            "local",
            "planned for",
            "fetches",
            "touches",
            "evictions",
            "to fetch",
            "file",
            "bytes a fetch",
            "tape",
        ]);
        self.tapes.iter().for_each(|row| {
            table.add_row(row.cells());
        });
        for column in 0..8 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        write!(f, "{}\n\n{table}", self.head())
    }
}
