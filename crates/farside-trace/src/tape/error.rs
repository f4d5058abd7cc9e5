//! What can be wrong with a tape.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a tape cannot be read or written.
///
/// An `offset` is a position in bytes from the beginning of the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TapeError {
    /// The file cannot be opened.
    #[error("{}: cannot open the tape: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading failed.
    #[error("{}: cannot read the tape at byte {offset}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Where the part begins that was to be read.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{}: this is no tape: {problem}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it seems to be, and what to do.
        problem: &'static str,
    },
    /// The file was made by a version of Farside that this one does not know.
    #[error(
        "{}: the tape has format version {found}, this program reads versions to {}; \
         use a newer farside, or plan it anew from its trace",
        path.display(), super::VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version it names.
        found: u16,
    },
    /// The file does not end as a whole tape does.
    #[error(
        "{}: the tape is not whole: {size} bytes without the trailer that ends a tape; \
         copy it again, or plan it anew from its trace",
        path.display()
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        size: u64,
    },
    /// The file is damaged.
    #[error(
        "{}: the tape is damaged at byte {offset}: {problem}; \
         copy it again, or plan it anew from its trace",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the damaged part begins.
        offset: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file cannot be made.
    #[error("{}: cannot create the tape: {source}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing failed; nothing of the tape remains, and what was at its place before still is.
    #[error(
        "{}: cannot write the tape beyond byte {offset}: {source}; \
         nothing of it is left behind",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// Number of bytes that could be written.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// What is to be written does not fit in the format.
    #[error("{}: cannot write the tape: {problem}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
}
