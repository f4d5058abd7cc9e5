//! What can be wrong with a trace file.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a trace cannot be read.
///
/// An `offset` is a position in bytes from the beginning of the file; in a compressed trace, of its
/// decompressed form.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The name of the file does not tell its format.
    #[error("{}: cannot tell the trace format; name the file .u64, .u64.zst or .txt", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened.
    #[error("{}: cannot open the trace: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading or decompressing failed.
    #[error("{}: cannot read the trace beyond byte {offset}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Number of bytes that could be read.
        offset: u64,
        /// What the system or the decompressor said.
        source: io::Error,
    },
    /// A binary trace ends in the middle of a page number.
    #[error(
        "{}: the trace has {size} bytes, which is no multiple of 8; \
         the page number at byte {offset} is cut short",
        path.display()
    )]
    StrayBytes {
        /// The file.
        path: PathBuf,
        /// Where the incomplete page number begins.
        offset: u64,
        /// Length of the trace in bytes.
        size: u64,
    },
    /// A line of a text trace is neither a page number nor a comment.
    #[error(
        "{}:{line}: unexpected '{}' at byte {offset}; a line holds one decimal page number, \
         or a comment after # or *",
        path.display(), byte.escape_ascii()
    )]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// Position of the offending byte.
        offset: u64,
        /// The offending byte.
        byte: u8,
    },
    /// A number in a text trace does not fit in 64 bits.
    #[error(
        "{}:{line}: the page number is too large at byte {offset}; the largest is {}",
        path.display(), u64::MAX
    )]
    NumberTooLarge {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// Position of the digit that makes it too large.
        offset: u64,
    },
}
