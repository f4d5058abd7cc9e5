//! A tape in words and tables.

use farside_report::report::Table;
use farside_trace::PAGE_SIZE;
use farside_trace::tape::{StepKind, VERSION};
use serde_json::Value;

use super::super::list::plain;
use super::Shown;
use crate::options::Size;
use crate::run::grouped;

/// Kinds and pages of steps.
pub type Steps = Vec<(&'static str, u64)>;

/// The name of a kind of steps.
pub fn kind(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Touch => "touch",
        StepKind::Fetch => "fetch",
        StepKind::FetchToWrite => "fetch to write",
        StepKind::Evict => "evict",
    }
}

impl Shown {
    /// What the tape is, and what it amounts to.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let (info, summary) = (self.tape.info(), self.tape.summary());
        let total = summary.total();
        let mut facts = Vec::new();
        let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
        let bytes = Size(summary.bytes);
        fact("tape", format!("{}, {bytes}, format {VERSION}, verified", self.path));
        if let Some(program) = &info.program {
            let words = std::iter::once(program).chain(&info.arguments);
            fact("program", words.map(String::as_str).collect::<Vec<_>>().join(" "));
        }
        if let Some(id) = &info.build_id {
            fact("build id", id.clone());
        }
        let (local, capacity) = (pages(info.local_pages), pages(info.capacity));
        fact("planned", format!("by {}, for {local} of local memory", info.policy));
        let number = |key: &str| info.other.get(key).and_then(Value::as_u64);
        let moving = match (number("lookahead"), number("batch")) {
            (Some(lookahead), Some(batch)) => {
                format!("; lookahead {}, batch {}", grouped(lookahead), grouped(batch))
            }
            _ => String::new(),
        };
        fact("resident", format!("at most {capacity}{moving}"));
        fact("microset", pages(info.microset));
        if info.other.get("partial") == Some(&Value::Bool(true)) {
            fact("partial", "the end of the run was not recorded".to_owned());
        }
        let steps = [total.steps(), total.touches, total.fetches, total.evicts].map(grouped);
        let [steps, touches, fetches, evicts] = steps;
        fact("steps", format!("{steps}: {touches} touches, {fetches} fetches, {evicts} evictions"));
        fact("to fetch", Size(total.fetches.saturating_mul(PAGE_SIZE as u64)).to_string());
        if let Some(used) = &self.used {
            fact("used", pages(used.count()));
        }
        facts
    }
}

fn pages(count: u64) -> String {
    format!("{} pages ({})", grouped(count), Size(count.saturating_mul(PAGE_SIZE as u64)))
}

/// A table of `rows`; the last line says how many of `all` are left out.
pub fn table(columns: &[&str], mut rows: Vec<Vec<String>>, all: usize) -> Table {
    let left = all - rows.len();
    if left > 0 {
        let mut row = vec![String::new(); columns.len()];
        row[0] = format!("{} more", grouped(left as u64));
        rows.push(row);
    }
    Table { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows }
}

/// A table as lines of text, the numbers to the right.
pub fn aligned(table: &Table) -> Vec<String> {
    let width = |column: usize| {
        let cells = table.rows.iter().map(|row| &row[column]);
        cells.chain([&table.columns[column]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..table.columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells =
            row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{:<width$}", plain(cell)),
                _ => format!("{:>width$}", plain(cell)),
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(&table.columns).chain(&table.rows).map(line).collect()
}
