//! The formats that can be imported, and how they are told apart.

use std::path::Path;

use super::{csv, lackey};

/// Most bytes of the beginning of a file that a guess looks at.
const LOOKED_AT: usize = 64 << 10;

/// The form of another tool's trace.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ImportFormat {
    /// `valgrind --tool=lackey --trace-mem=yes`.
    Lackey,
    /// DynamoRIO's memory traces as text: its `view` tool, `memtrace_simple` and `memtrace_x86`.
    DynamoRio,
    /// libCacheSim's binary records with the time of the next use.
    OracleGeneral,
    /// Comma-separated values with a column of objects, as libCacheSim reads them.
    Csv,
    /// Samples that `perf script` or `perf mem -D report` print.
    PerfScript,
    /// Addresses as text, one to a line.
    Addresses,
    /// Addresses as 64-bit little-endian numbers.
    AddressesU64,
    /// Page numbers as text, one to a line.
    Pages,
    /// Page numbers as 64-bit little-endian numbers.
    PagesU64,
}

impl ImportFormat {
    /// Every format, with its name and what it is.
    pub const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Lackey, "lackey", "valgrind --tool=lackey --trace-mem=yes"),
        (
            Self::DynamoRio,
            "dynamorio",
            "DynamoRIO's view tool, memtrace_simple, memtrace_x86, as text",
        ),
        (Self::OracleGeneral, "oracle-general", "libCacheSim's oracleGeneral; an object is a page"),
        (Self::Csv, "csv", "CSV with a column of objects, as libCacheSim's; an object is a page"),
        (
            Self::PerfScript,
            "perf-script",
            "perf script -F tid,addr, or of perf mem; perf mem -D report",
        ),
        (Self::Addresses, "addresses", "text, an address to a line: [R|W] 0x7f001000 [SIZE]"),
        (Self::AddressesU64, "addresses-u64", "addresses as 64-bit little-endian numbers"),
        (Self::Pages, "pages", "text, a decimal page number to a line"),
        (Self::PagesU64, "pages-u64", "page numbers as 64-bit little-endian numbers"),
    ];

    /// The format of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(format, ..)| *format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, ..)| *format == self).map_or("", |(_, name, _)| name)
    }

    /// Whether it has addresses, and not pages or objects that stand for pages.
    pub fn has_addresses(self) -> bool {
        match self {
            Self::Lackey | Self::DynamoRio | Self::PerfScript => true,
            Self::Addresses | Self::AddressesU64 => true,
            Self::OracleGeneral | Self::Csv | Self::Pages | Self::PagesU64 => false,
        }
    }

    /// The format of a file of this name that begins with `head`, where there is no doubt. Lists of
    /// bare numbers may be pages or addresses, and are not guessed.
    pub fn guess(path: &Path, head: &[u8]) -> Option<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".zst").unwrap_or(&name);
        if name.ends_with(".oraclegeneral") || name.ends_with(".oraclegeneral.bin") {
            return Some(Self::OracleGeneral);
        }
        if name.ends_with(".u64") {
            return Some(Self::PagesU64);
        }
        let head = &head[..head.len().min(LOOKED_AT)];
        let mut lines = head.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.find_map(Self::of_line)
    }

    /// The format that a line shows beyond doubt.
    fn of_line(line: &[u8]) -> Option<Self> {
        let contains = |words: &[u8]| line.windows(words.len()).any(|window| window == words);
        if lackey::is_record(line) {
            Some(Self::Lackey)
        } else if contains(b" byte(s) @ 0x") || line.starts_with(b"Format: <") {
            Some(Self::DynamoRio)
        } else if line.starts_with(b"# PID, TID, IP, ADDR") {
            Some(Self::PerfScript)
        } else if line.starts_with(b"0x")
            && line[2..].trim_ascii().iter().all(u8::is_ascii_hexdigit)
        {
            Some(Self::Addresses)
        } else if csv::is_header(line) {
            Some(Self::Csv)
        } else {
            None
        }
    }
}
