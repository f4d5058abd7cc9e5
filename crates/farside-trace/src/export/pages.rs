//! Lists of page numbers, one for each access.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{Export, failed};
use crate::{Block, TraceError};

/// How hard zstd tries.
const LEVEL: i32 = 9;

/// How page numbers are written.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageList {
    /// In decimal, one to a line.
    Text,
    /// As 64-bit little-endian numbers.
    U64,
    /// The same, compressed with zstd.
    U64Zst,
}

enum Sink<W: Write> {
    Plain(W),
    Packed(Box<zstd::Encoder<'static, W>>),
}

/// Writes a list of pages.
pub struct PagesExport<W: Write> {
    sink: Sink<W>,
    list: PageList,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl<W: Write> PagesExport<W> {
    /// Writes a list to `sink`; `name` stands for it in error messages.
    ///
    /// # Errors
    /// [`TraceError::Export`] if the compressor cannot be set up.
    pub fn new(sink: W, list: PageList, name: impl Into<PathBuf>) -> Result<Self, TraceError> {
        let path = name.into();
        let sink = match list {
            PageList::Text | PageList::U64 => Sink::Plain(sink),
            PageList::U64Zst => {
                let encoder = zstd::Encoder::new(sink, LEVEL).map_err(failed(&path))?;
                Sink::Packed(Box::new(encoder))
            }
        };
        Ok(Self { sink, list, path, bytes: Vec::new() })
    }
}

impl<W: Write> Export for PagesExport<W> {
    fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        self.bytes.clear();
        for access in &block.accesses {
            match self.list {
                PageList::Text => {
                    writeln!(self.bytes, "{}", access.page.0).map_err(failed(&self.path))?;
                }
                PageList::U64 | PageList::U64Zst => {
                    self.bytes.extend_from_slice(&access.page.0.to_le_bytes());
                }
            }
        }
        self.sink.put(&self.bytes).map_err(failed(&self.path))
    }

    fn finish(&mut self, _: &mut dyn FnMut(f64)) -> Result<(), TraceError> {
        self.sink.end().map_err(failed(&self.path))
    }
}

impl<W: Write> Sink<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.write_all(bytes),
            Self::Packed(sink) => sink.write_all(bytes),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.flush(),
            Self::Packed(sink) => {
                sink.do_finish()?;
                sink.get_mut().flush()
            }
        }
    }
}
