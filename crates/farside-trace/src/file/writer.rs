//! Writing a trace.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::columns::Encoder;
use super::frame::{FRAME_BYTES, Frame};
use super::index::{Entry, Index};
use super::{BLOCK_ACCESSES, MAX_BLOCK_EVENTS, MAX_NAME_BYTES, Summary, header};
use crate::{Access, Block, Mapping, MappingChange, MappingEvent, Metadata, PageRange, TraceError};

/// How hard zstd tries. Higher levels gain little on columns and cost much time.
const LEVEL: i32 = 3;

/// Bytes of mapping names that end a block.
const NAME_BYTES: usize = 1 << 20;

/// Writes a trace in Farside's own format.
///
/// Accesses are gathered into blocks, and each block is written in one piece. If writing fails, or
/// the program is killed, everything up to the last whole block stays readable. Only
/// [`finish`](Self::finish) adds the index, without which readers call the trace cut.
pub struct TraceWriter<W: Write = File> {
    sink: W,
    path: PathBuf,
    /// Bytes written.
    offset: u64,
    /// What is not written yet.
    block: Block,
    name_bytes: usize,
    encoder: Encoder,
    compressor: zstd::bulk::Compressor<'static>,
    raw: Vec<u8>,
    packed: Vec<u8>,
    index: Index,
    summary: Summary,
    /// Whether a part may have been written in pieces, so that nothing may follow it.
    broken: bool,
}

impl TraceWriter<File> {
    /// Creates the file at `path`, or empties the one that is there, and writes the header.
    ///
    /// # Errors
    /// [`TraceError::Create`] if there can be no such file, [`TraceError::Unwritable`] if the
    /// metadata is too long, [`TraceError::Write`] if the header cannot be written.
    pub fn create(path: impl AsRef<Path>, metadata: &Metadata) -> Result<Self, TraceError> {
        let path = path.as_ref();
        // Metadata that does not fit must not cost the file that was there.
        header::encode(metadata, path)?;
        let file = File::create(path)
            .map_err(|source| TraceError::Create { path: path.to_owned(), source })?;
        Self::new(file, path, metadata)
    }
}

impl<W: Write> TraceWriter<W> {
    /// Writes a trace to `sink`; `name` stands for it in error messages.
    ///
    /// # Errors
    /// As [`create`](TraceWriter::create).
    pub fn new(sink: W, name: impl Into<PathBuf>, metadata: &Metadata) -> Result<Self, TraceError> {
        let path = name.into();
        let compressor = zstd::bulk::Compressor::new(LEVEL)
            .map_err(|source| TraceError::Create { path: path.clone(), source })?;
        let header = header::encode(metadata, &path)?;
        let mut writer = Self {
            sink,
            path,
            offset: 0,
            block: Block::default(),
            name_bytes: 0,
            encoder: Encoder::default(),
            compressor,
            raw: Vec::new(),
            packed: Vec::new(),
            index: Index::default(),
            summary: Summary::default(),
            broken: false,
        };
        writer.block.accesses.reserve_exact(BLOCK_ACCESSES);
        writer.put(&header)?;
        Ok(writer)
    }

    /// Appends an access.
    ///
    /// # Errors
    /// [`TraceError::Write`] if a block was full and cannot be written; the accesses in it are lost.
    #[inline]
    pub fn write(&mut self, access: Access) -> Result<(), TraceError> {
        self.block.accesses.push(access);
        if self.block.accesses.len() >= BLOCK_ACCESSES { self.flush() } else { Ok(()) }
    }

    /// Says that `mapping` appeared after the last access.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] if its name is longer than [`MAX_NAME_BYTES`], and as
    /// [`write`](Self::write).
    pub fn map(&mut self, mapping: Mapping) -> Result<(), TraceError> {
        let length = mapping.name.len();
        if length > MAX_NAME_BYTES {
            let path = self.path.clone();
            let problem = format!(
                "the name of a mapping takes {length} bytes, {MAX_NAME_BYTES} are allowed; shorten it"
            );
            return Err(TraceError::Unwritable { path, problem });
        }
        self.name_bytes += length;
        self.event(MappingChange::Appeared(mapping))
    }

    /// Says that what was mapped in `range` vanished after the last access.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn unmap(&mut self, range: PageRange) -> Result<(), TraceError> {
        self.event(MappingChange::Vanished(range))
    }

    fn event(&mut self, change: MappingChange) -> Result<(), TraceError> {
        let access = self.block.first + self.block.accesses.len() as u64;
        self.block.events.push(MappingEvent { access, change });
        let full = self.block.events.len() >= MAX_BLOCK_EVENTS || self.name_bytes >= NAME_BYTES;
        if full { self.flush() } else { Ok(()) }
    }

    /// Writes what has been gathered, so that it survives the end of the program.
    ///
    /// # Errors
    /// [`TraceError::Write`] if it cannot be written; the accesses in it are lost.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        if self.block.accesses.is_empty() && self.block.events.is_empty() {
            return Ok(());
        }
        let written = self.write_block();
        self.block.clear(self.summary.accesses);
        self.name_bytes = 0;
        written
    }

    fn write_block(&mut self) -> Result<(), TraceError> {
        self.encoder.encode(&self.block, &mut self.raw);
        self.packed.clear();
        self.packed.resize(FRAME_BYTES + zstd::zstd_safe::compress_bound(self.raw.len()), 0);
        let length = self
            .compressor
            .compress_to_buffer(&self.raw[..], &mut self.packed[FRAME_BYTES..])
            .map_err(|source| self.failed(source))?;
        self.packed.truncate(FRAME_BYTES + length);
        let (accesses, events) = (self.block.accesses.len(), self.block.events.len());
        Frame::seal(&mut self.packed, self.raw.len(), accesses, events, self.block.first);
        let entry = Entry { offset: self.offset, first: self.block.first };
        let packed = std::mem::take(&mut self.packed);
        let put = self.put(&packed);
        self.packed = packed;
        put?;
        self.index.push(entry);
        self.summary.add(&self.block);
        Ok(())
    }

    /// Writes the last block and the index. What the trace amounts to.
    ///
    /// # Errors
    /// [`TraceError::Write`] if they cannot be written.
    pub fn finish(mut self) -> Result<Summary, TraceError> {
        self.flush()?;
        let index = self.index.encode(&self.summary, self.offset);
        self.put(&index)?;
        self.sink.flush().map_err(|source| self.failed(source))?;
        Ok(self.summary)
    }

    /// Number of accesses appended so far.
    pub fn accesses(&self) -> u64 {
        self.block.first + self.block.accesses.len() as u64
    }

    /// Number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        if self.broken {
            return Err(self.failed(io::Error::other("an earlier part could not be written")));
        }
        self.broken = true;
        self.sink.write_all(bytes).map_err(|source| self.failed(source))?;
        self.broken = false;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> TraceError {
        let (path, accesses) = (self.path.clone(), self.summary.accesses);
        TraceError::Write { path, offset: self.offset, accesses, source }
    }
}

impl<W: Write> std::fmt::Debug for TraceWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceWriter")
            .field("path", &self.path)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}
