//! Removing what is kept.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::Store;
use crate::Failure;
use crate::options::Size;
use crate::output;

/// Options of `farside tapes prune`.
#[derive(Debug, Args)]
pub struct PruneArguments {
    /// Remove what has not been used for so long: days (30d), hours (12h) or minutes (90m).
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = age)]
    older_than: Duration,
    /// Remove everything, also what a run may be using.
    #[arg(long, conflicts_with = "older_than")]
    all: bool,
    /// Print an object instead of a line.
    #[arg(long)]
    json: bool,
}

/// Longest age that can be given, in days.
const MOST_DAYS: u64 = 36_525;

fn age(text: &str) -> Result<Duration, String> {
    let bad = || format!("'{text}' is no age such as 30d, 12h or 90m, up to {MOST_DAYS}d");
    let unit = text.chars().last().filter(char::is_ascii).ok_or_else(bad)?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        _ => return Err(bad()),
    };
    let digits = &text[..text.len() - 1];
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
    let age = number.flatten().and_then(|number: u64| number.checked_mul(seconds));
    age.filter(|age| *age <= MOST_DAYS * 86_400).map(Duration::from_secs).ok_or_else(bad)
}

/// What was removed.
#[derive(Debug, Default, Serialize)]
struct Removed {
    entries: usize,
    bytes: u64,
    kept: usize,
}

/// Removes what is old, and says how much that was.
pub fn prune(store: &Store, arguments: &PruneArguments) -> Result<ExitCode, Failure> {
    let folder = store.folder().display();
    let failed = |error| Failure::own(format!("cannot remove everything in {folder}: {error}"));
    let mut removed = Removed::default();
    for entry in store.entries().map_err(failed)? {
        let old = entry.used().elapsed().is_ok_and(|age| age >= arguments.older_than);
        if !(arguments.all || old) {
            removed.kept += 1;
            continue;
        }
        let tapes: u64 = entry.tapes().iter().map(|tape| tape.bytes).sum();
        let bytes = tapes + entry.trace_bytes().unwrap_or(0);
        store.remove(&entry).map_err(failed)?;
        removed.entries += 1;
        removed.bytes += bytes;
    }
    store.sweep().map_err(failed)?;
    if arguments.json {
        output::print_json(&removed)?;
    } else {
        let Removed { entries, bytes, kept } = removed;
        let programs = if entries == 1 { "program" } else { "programs" };
        output::print(format_args!(
            "removed what was kept for {entries} {programs}, {}; {kept} left",
            Size(bytes)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
