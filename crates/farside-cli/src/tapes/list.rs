//! The traces and tapes that are kept.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

use super::{Entry, Store};
use crate::Failure;
use crate::options::Size;
use crate::output;

/// An entry as a program sees it. Times are in seconds since 1970.
#[derive(Debug, Serialize)]
struct Row {
    program: String,
    arguments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    build_id: String,
    folder: String,
    made: u64,
    used: u64,
    trace_bytes: Option<u64>,
    tapes: Vec<Tape>,
}

#[derive(Debug, Serialize)]
struct Tape {
    tape: String,
    local_bytes: u64,
    policy: &'static str,
    tape_bytes: u64,
}

/// Prints all entries, the one used last first.
pub fn list(store: &Store, json: bool) -> Result<ExitCode, Failure> {
    let entries = store.entries().map_err(|error| {
        Failure::own(format!("cannot read {}: {error}", store.folder().display()))
    })?;
    let rows: Vec<_> = entries.iter().map(Row::new).collect();
    if json {
        output::print_json(&rows)?;
    } else if rows.is_empty() {
        output::print(format_args!("no traces or tapes in {}", store.folder().display()))?;
    } else {
        output::print(table(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Row {
    fn new(entry: &Entry) -> Self {
        let about = entry.about().clone();
        let used = entry.used().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let tape = |tape: super::KeptTape| Tape {
            tape: tape.path.display().to_string(),
            local_bytes: tape.local_bytes,
            policy: tape.policy.name(),
            tape_bytes: tape.bytes,
        };
        Self {
            program: about.program,
            arguments: about.arguments,
            part: about.part,
            build_id: about.build_id,
            folder: entry.folder().display().to_string(),
            made: about.made,
            used,
            trace_bytes: entry.trace_bytes(),
            tapes: entry.tapes().into_iter().map(tape).collect(),
        }
    }

    fn cells(&self) -> [String; 6] {
        let command = std::iter::once(&self.program).chain(&self.arguments);
        let mut command = command.map(String::as_str).collect::<Vec<_>>().join(" ");
        if let Some(part) = &self.part {
            command.push_str(&format!(" (part {part})"));
        }
        let tape = |tape: &Tape| format!("{} {}", Size(tape.local_bytes), tape.policy);
        let bytes = self.tapes.iter().map(|tape| tape.tape_bytes).sum();
        [
            plain(&command),
            plain(&self.build_id).chars().take(8).collect(),
            self.trace_bytes.map_or_else(|| "-".to_owned(), |bytes| Size(bytes).to_string()),
            self.tapes.iter().map(tape).collect::<Vec<_>>().join(", "),
            Size(bytes).to_string(),
            ago(self.used),
        ]
    }
}

/// What a terminal shows as it is.
pub(super) fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// How long ago a time was.
fn ago(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match now.saturating_sub(seconds) {
        age if age < 120 => format!("{age} s ago"),
        age if age < 2 * 3600 => format!("{} min ago", age / 60),
        age if age < 48 * 3600 => format!("{} h ago", age / 3600),
        age => format!("{} days ago", age / 86400),
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(["program", "build", "trace", "tapes for", "size of tapes", "used"]);
    rows.iter().for_each(|row| {
        table.add_row(row.cells());
    });
    for column in [2, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
