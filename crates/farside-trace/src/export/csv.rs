//! Comma-separated values: number of the access, page, whether it writes (0 or 1), thread, weight.

use std::io::Write;
use std::path::PathBuf;

use super::{Export, failed};
use crate::{Block, TraceError};

/// Names of the columns.
const HEADER: &str = "access,page,write,thread,weight\n";

/// Writes comma-separated values with a header.
pub struct CsvExport<W> {
    sink: W,
    path: PathBuf,
    text: Vec<u8>,
}

impl<W: Write> CsvExport<W> {
    /// Writes the header to `sink`; `name` stands for it in error messages.
    ///
    /// # Errors
    /// [`TraceError::Export`] if it cannot be written.
    pub fn new(mut sink: W, name: impl Into<PathBuf>) -> Result<Self, TraceError> {
        let path = name.into();
        sink.write_all(HEADER.as_bytes()).map_err(failed(&path))?;
        Ok(Self { sink, path, text: Vec::new() })
    }
}

impl<W: Write> Export for CsvExport<W> {
    fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        self.text.clear();
        for (number, access) in (block.first..).zip(&block.accesses) {
            let (page, write) = (access.page.0, u8::from(access.write));
            let (thread, weight) = (access.thread, access.weight);
            writeln!(self.text, "{number},{page},{write},{thread},{weight}")
                .map_err(failed(&self.path))?;
        }
        self.sink.write_all(&self.text).map_err(failed(&self.path))
    }

    fn finish(&mut self, _: &mut dyn FnMut(f64)) -> Result<(), TraceError> {
        self.sink.flush().map_err(failed(&self.path))
    }
}
