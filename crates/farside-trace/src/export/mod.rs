//! Traces for other programs. One file per format; all take blocks and are finished at the end.

mod csv;
mod oracle;
mod pages;

use std::io;
use std::path::Path;

pub use csv::CsvExport;
pub use oracle::OracleExport;
pub use pages::{PageList, PagesExport};

use crate::{Block, TraceError};

/// Writes a trace in another program's format. Mapping events are left out where the format has no
/// place for them.
pub trait Export {
    /// Writes the accesses of the next block.
    ///
    /// # Errors
    /// [`TraceError::Export`] if they cannot be written.
    fn block(&mut self, block: &Block) -> Result<(), TraceError>;

    /// Writes what is missing at the end. If that takes long, `progress` is told again and again
    /// which part of it is done, from 0 to 1.
    ///
    /// # Errors
    /// [`TraceError::Export`] if it cannot be written.
    fn finish(&mut self, progress: &mut dyn FnMut(f64)) -> Result<(), TraceError>;
}

/// Says that a file cannot be written.
pub(crate) fn failed(path: &Path) -> impl Fn(io::Error) -> TraceError {
    move |source| TraceError::Export { path: path.to_owned(), source }
}
