//! Traces of every form, through one entry point.

mod format;
mod iterate;
mod list;
mod text;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use format::TraceFormat;
pub use iterate::{Accesses, Record, Records};

use crate::file::{FileReader, MAGIC, Plain, Seekable, Source};
use crate::{Block, Cut, Metadata, PageId, Summary, TraceError};
pub(crate) use list::{ListReader, decompressor};

/// A trace, read from its beginning to its end.
///
/// As an iterator it gives the pages in program order; [`accesses`](Self::accesses) and
/// [`records`](Self::records) give more, and [`next_block`](Self::next_block) is the fastest. Memory
/// use does not depend on the length of the trace, nor on the length of a line. The first error ends
/// the trace. A consumer that needs two passes opens the file twice.
pub struct TraceReader {
    path: PathBuf,
    decoder: Decoder,
    /// Bytes of the file consumed, where the decoder cannot tell.
    consumed: Arc<AtomicU64>,
    /// What the iterators give out, and how much of it they have.
    block: Block,
    given: usize,
    ended: bool,
}

enum Decoder {
    File(Box<FileReader>),
    List(ListReader),
}

impl TraceReader {
    /// Opens the trace at `path`, in the format that its name tells; a file of the own format may
    /// have any name.
    ///
    /// # Errors
    /// [`TraceError::UnknownFormat`] if the format cannot be told, [`TraceError::Open`] if the file
    /// cannot be opened, and what is wrong with the header of a file of the own format. What is
    /// wrong with the rest is found while reading.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let failed = |source| TraceError::Open { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        let format = match TraceFormat::of_path(path) {
            Some(format) => format,
            None if begins_with_magic(&mut file) => {
                // The bytes that were looked at are read again.
                file = File::open(path).map_err(failed)?;
                TraceFormat::Farside
            }
            None => return Err(TraceError::UnknownFormat { path: path.to_owned() }),
        };
        match format {
            TraceFormat::Farside => Self::file(Box::new(Seekable(file)), path.to_owned()),
            format => Self::new(file, format, path),
        }
    }

    /// Reads a trace in `format` from `source`; `name` stands for it in error messages. It cannot
    /// [`seek`](Self::seek).
    ///
    /// # Errors
    /// [`TraceError::Open`] if the decompressor cannot be set up, and what is wrong with the header
    /// of a trace in the own format.
    pub fn new(
        source: impl Read + Send + 'static,
        format: TraceFormat,
        name: impl Into<PathBuf>,
    ) -> Result<Self, TraceError> {
        let path = name.into();
        if format == TraceFormat::Farside {
            return Self::file(Box::new(Plain(source)), path);
        }
        let consumed = Arc::new(AtomicU64::new(0));
        let source = Counted { source, count: Arc::clone(&consumed) };
        let list = match format {
            TraceFormat::Text => ListReader::text(Box::new(source), path.clone()),
            TraceFormat::U64Zst => match decompressor(source) {
                Ok(source) => ListReader::binary(Box::new(source), path.clone()),
                Err(source) => return Err(TraceError::Open { path, source }),
            },
            TraceFormat::U64 | TraceFormat::Farside => {
                ListReader::binary(Box::new(source), path.clone())
            }
        };
        Ok(Self::with(Decoder::List(list), path, consumed))
    }

    fn file(source: Box<dyn Source>, path: PathBuf) -> Result<Self, TraceError> {
        let decoder = Decoder::File(Box::new(FileReader::open(source, path.clone())?));
        Ok(Self::with(decoder, path, Arc::default()))
    }

    fn with(decoder: Decoder, path: PathBuf, consumed: Arc<AtomicU64>) -> Self {
        Self { path, decoder, consumed, block: Block::default(), given: 0, ended: false }
    }

    /// What the trace says about itself; `None` for lists of pages.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.own().map(FileReader::metadata)
    }

    /// What the trace amounts to, as its index says; `None` for lists, for traces that were cut, and
    /// where the index has not been reached in a source that cannot seek.
    pub fn summary(&self) -> Option<&Summary> {
        self.own().and_then(FileReader::summary)
    }

    /// Where a trace of the own format ends too early, if it does: known from the beginning of a
    /// file, and at the end of a source that cannot seek. What comes before is read without an error.
    pub fn cut(&self) -> Option<&Cut> {
        self.own().and_then(FileReader::cut)
    }

    /// Bytes of the file consumed so far.
    pub fn bytes_read(&self) -> u64 {
        self.own().map_or_else(|| self.consumed.load(Ordering::Relaxed), FileReader::offset)
    }

    /// Continues with the access of this number, counted from 0. Mapping events before it are passed
    /// over.
    ///
    /// # Errors
    /// [`TraceError::NotSeekable`] unless the trace is a file of the own format,
    /// [`TraceError::BeyondEnd`] if there are fewer accesses.
    pub fn seek(&mut self, access: u64) -> Result<(), TraceError> {
        let Decoder::File(file) = &mut self.decoder else {
            return Err(TraceError::NotSeekable { path: self.path.clone() });
        };
        file.seek(access)?;
        self.block.accesses.clear();
        self.block.events.clear();
        (self.given, self.ended) = (0, false);
        Ok(())
    }

    /// Fills `block` with the next accesses and mapping events, however many there are together;
    /// false at the end of the trace.
    ///
    /// # Errors
    /// What is wrong with the trace behind the accesses that were given out.
    pub fn next_block(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        if self.given < self.block.accesses.len() {
            std::mem::swap(block, &mut self.block);
            block.skip_to(block.first + self.given as u64);
            self.block.accesses.clear();
            self.given = 0;
            return Ok(true);
        }
        if self.ended {
            block.clear(block.first);
            return Ok(false);
        }
        let more = match &mut self.decoder {
            Decoder::File(file) => file.next_block(block),
            Decoder::List(list) => list.next_block(block),
        };
        self.ended = !matches!(more, Ok(true));
        if self.ended {
            block.clear(block.first);
        }
        more
    }

    /// Refills the block of the iterators.
    #[cold]
    fn refill(&mut self) -> Result<bool, TraceError> {
        let mut block = std::mem::take(&mut self.block);
        block.accesses.clear();
        self.given = 0;
        let more = self.next_block(&mut block);
        self.block = block;
        more
    }

    fn own(&self) -> Option<&FileReader> {
        match &self.decoder {
            Decoder::File(file) => Some(file),
            Decoder::List(_) => None,
        }
    }
}

impl Iterator for TraceReader {
    type Item = Result<PageId, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_access()?.map(|access| access.page))
    }
}

impl std::iter::FusedIterator for TraceReader {}

impl fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceReader")
            .field("path", &self.path)
            .field("bytes_read", &self.bytes_read())
            .finish_non_exhaustive()
    }
}

fn begins_with_magic(file: &mut File) -> bool {
    let mut bytes = [0; MAGIC.len()];
    file.read_exact(&mut bytes).is_ok() && TraceFormat::is_farside(&bytes)
}

/// Counts what is read.
pub(crate) struct Counted<R> {
    pub source: R,
    pub count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
