//! How a trace is written down, and which file names mean what.

use std::path::Path;

use crate::file::MAGIC;

/// The form of a trace file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// Farside's own format (`.fpt`).
    Farside,
    /// Little-endian 64-bit page numbers without a header (`.u64`).
    U64,
    /// The same, compressed with zstd (`.u64.zst`).
    U64Zst,
    /// Decimal page numbers, one to a line; lines that begin with `#` or `*` are comments (`.txt`).
    Text,
}

impl TraceFormat {
    /// The format that the name of a file tells by its ending, if any.
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        [
            (&b".fpt"[..], Self::Farside),
            (b".u64", Self::U64),
            (b".u64.zst", Self::U64Zst),
            (b".txt", Self::Text),
        ]
        .into_iter()
        .find_map(|(ending, format)| name.ends_with(ending).then_some(format))
    }

    /// Whether a file that begins with `bytes` is in Farside's own format, whatever its name.
    pub fn is_farside(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }
}
