//! The formats that can be exported to.

use std::path::Path;

use farside_report::ColumnFormat;
use farside_trace::export::PageList;

use super::files;

/// A format that can be exported to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Comma-separated values.
    Csv,
    /// libCacheSim's oracleGeneral.
    OracleGeneral,
    /// A table of Apache Arrow or Parquet.
    Columns(ColumnFormat),
    /// A list of pages.
    Pages(PageList),
}

/// Every format: its name, the ending of its files, and what it is.
pub const TARGETS: [(Target, &str, &str, &str); 7] = [
    (Target::Csv, "csv", ".csv", "access, page, write, thread, weight"),
    (
        Target::OracleGeneral,
        "oracle-general",
        ".oraclegeneral.bin",
        "libCacheSim's oracleGeneral (.oracleGeneral.bin)",
    ),
    (Target::Columns(ColumnFormat::Parquet), "parquet", ".parquet", "Apache Parquet"),
    (Target::Columns(ColumnFormat::Arrow), "arrow", ".arrow", "Apache Arrow IPC file (Feather)"),
    (Target::Pages(PageList::Text), "pages", ".txt", "text, a page number to a line"),
    (Target::Pages(PageList::U64), "pages-u64", ".u64", "64-bit little-endian page numbers"),
    (Target::Pages(PageList::U64Zst), "pages-u64-zst", ".u64.zst", "the same, compressed"),
];

impl Target {
    /// The format that the name of a file tells by its ending.
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = files::lower_name(path);
        let other = [".oraclegeneral", ".feather"].into_iter();
        let other = other.zip([Self::OracleGeneral, Self::Columns(ColumnFormat::Arrow)]);
        let known = TARGETS.iter().map(|&(target, _, ending, _)| (ending, target));
        known.chain(other).find_map(|(ending, target)| name.ends_with(ending).then_some(target))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        TARGETS.iter().find(|(target, ..)| *target == self).map_or("", |(_, name, ..)| name)
    }
}
