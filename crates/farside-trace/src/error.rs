//! What can be wrong with a trace file.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a trace cannot be read or written.
///
/// An `offset` is a position in bytes from the beginning of the file; in a file compressed as a whole,
/// of its decompressed form.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Neither the name of the file nor its beginning tells its format.
    #[error(
        "{}: cannot tell the trace format; name the file .fpt, .u64, .u64.zst or .txt",
        path.display()
    )]
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
    /// A file of the own format was made by a version of Farside that this one does not know.
    #[error(
        "{}: the trace has format version {found}, this program reads version {}; \
         use a newer farside, or capture it anew",
        path.display(), crate::VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version it names.
        found: u16,
    },
    /// A file of the own format is damaged, or none.
    #[error("{}: the trace is damaged at byte {offset}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the damaged part begins.
        offset: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A line of another tool's trace makes no sense.
    #[error("{}:{line}: {problem}, at byte {offset}: '{text}'", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        problem: &'static str,
        /// Its beginning.
        text: String,
    },
    /// A record of another tool's binary trace makes no sense.
    #[error("{}: {problem}, at byte {offset}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        offset: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A file holds no access.
    #[error("{}: there is no data access in it; is it really {format}?", path.display())]
    NoAccess {
        /// The file.
        path: PathBuf,
        /// The format it was taken for.
        format: &'static str,
    },
    /// The access sought lies behind the last one.
    #[error("{}: there is no access {access}; the trace has {accesses}", path.display())]
    BeyondEnd {
        /// The file.
        path: PathBuf,
        /// The access sought.
        access: u64,
        /// Number of accesses in the trace.
        accesses: u64,
    },
    /// The trace can only be read from its beginning.
    #[error(
        "{}: cannot seek in this trace; import it into a regular .fpt file first",
        path.display()
    )]
    NotSeekable {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be made.
    #[error("{}: cannot create the trace: {source}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing failed; what was written before stays readable.
    #[error(
        "{}: cannot write the trace beyond byte {offset}: {source}; \
         the {accesses} accesses before stay readable",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// Number of bytes that lie in the file as whole parts.
        offset: u64,
        /// Number of accesses in them.
        accesses: u64,
        /// What the system said.
        source: io::Error,
    },
    /// An exported file cannot be written.
    #[error("{}: cannot write the exported trace: {source}", path.display())]
    Export {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is to be written does not fit in the format.
    #[error("{}: cannot write the trace: {problem}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
}
