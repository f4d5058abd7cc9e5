//! What came of following pointers, in tables.

use farside_wire::fault_log::Deed;

use super::{Deeds, Followed, PART};
use crate::faults::screen::{aligned, plain};
use crate::faults::words::spot;
use crate::run::grouped;

/// The heads of the numbers of a row.
pub fn columns() -> Vec<&'static str> {
    Deed::ALL.iter().map(|deed| deed.name()).collect()
}

fn row(deeds: &Deeds, name: String) -> Vec<String> {
    let counts = Deed::ALL.iter().map(|deed| grouped(deeds.get(*deed)));
    counts.chain([plain(&name)]).collect()
}

/// A row for each site, which is named last.
pub fn site_rows(followed: &Followed, most: usize) -> impl Iterator<Item = Vec<String>> + '_ {
    followed.sites.iter().take(most).map(|(at, deeds)| row(deeds, spot(at)))
}

/// A row for each part of memory, which is named last.
pub fn part_rows(followed: &Followed, most: usize) -> impl Iterator<Item = Vec<String>> + '_ {
    let name = |from: u64| format!("{from:#x} and {} MiB on", PART >> 20);
    followed.parts.iter().take(most).map(move |(from, deeds)| row(deeds, name(*from)))
}

/// Both tables, with at most `most` rows each.
pub fn tables(followed: &Followed, most: usize) -> String {
    let table = |last, rows: &mut dyn Iterator<Item = Vec<String>>| {
        let mut head = columns();
        head.push(last);
        aligned(&head, rows)
    };
    format!(
        "pointers that were followed\n{}\n{}\n",
        table("site where a chain began", &mut site_rows(followed, most)),
        table("memory", &mut part_rows(followed, most)),
    )
}
