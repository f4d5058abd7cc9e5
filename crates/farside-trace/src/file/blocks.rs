//! Writing blocks whose columns are ready.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::columns::EncodedBlock;
use super::frame::Packer;
use super::index::{Entry, Index};
use super::{BLOCK_MAGIC, MAX_BLOCK_ACCESSES, MAX_BLOCK_EVENTS, Summary, header};
use crate::{Metadata, TraceError};

/// Bytes of metadata that may be amended.
const SPARE_ROOM: usize = 8;

/// Compresses blocks and writes them, each in one piece, into a trace in Farside's own format.
///
/// With a [`BlockBuilder`](crate::BlockBuilder) this is what a [`TraceWriter`](crate::TraceWriter)
/// consists of, for writers that do both at once in different threads.
pub struct BlockWriter<W: Write = File> {
    sink: W,
    path: PathBuf,
    /// Bytes written.
    offset: u64,
    /// Bytes of metadata in the header.
    room: usize,
    packer: Packer,
    packed: Vec<u8>,
    index: Index,
    summary: Summary,
    /// Whether a part may have been written in pieces, so that nothing may follow it.
    broken: bool,
}

impl BlockWriter<File> {
    /// Creates the file at `path`, or empties the one that is there, and writes the header.
    ///
    /// # Errors
    /// As [`TraceWriter::create`](crate::TraceWriter::create).
    pub fn create(path: impl AsRef<Path>, metadata: &Metadata) -> Result<Self, TraceError> {
        let path = path.as_ref();
        // Metadata that does not fit must not cost the file that was there.
        header::encode(metadata, 0, path)?;
        let file = File::create(path)
            .map_err(|source| TraceError::Create { path: path.to_owned(), source })?;
        Self::new(file, path, metadata)
    }

    /// Replaces the metadata, which may take a few digits more than what was there. Of the page size the old one stays.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] if there is no room for them, [`TraceError::Write`] if the header cannot be written,
    /// as in a pipe.
    pub fn amend(&mut self, metadata: &Metadata) -> Result<(), TraceError> {
        let header = header::encode(metadata, self.room, &self.path)?;
        if header::room(&header) > self.room {
            return Err(self.unwritable("its new metadata takes more room than the old".into()));
        }
        self.sink.write_all_at(&header, 0).map_err(|source| self.failed(source))
    }
}

impl<W: Write> BlockWriter<W> {
    /// Writes a trace to `sink`; `name` stands for it in error messages.
    ///
    /// # Errors
    /// As [`create`](BlockWriter::create).
    pub fn new(sink: W, name: impl Into<PathBuf>, metadata: &Metadata) -> Result<Self, TraceError> {
        let path = name.into();
        let packer =
            Packer::new().map_err(|source| TraceError::Create { path: path.clone(), source })?;
        let header = header::encode(metadata, 0, &path)?;
        let header = header::encode(metadata, header::room(&header) + SPARE_ROOM, &path)?;
        let mut writer = Self {
            sink,
            path,
            offset: 0,
            room: header::room(&header),
            packer,
            packed: Vec::new(),
            index: Index::default(),
            summary: Summary::default(),
            broken: false,
        };
        writer.put(&header)?;
        Ok(writer)
    }

    /// Writes a block.
    ///
    /// # Errors
    /// [`TraceError::Write`] if it cannot be written; the accesses in it are lost.
    /// [`TraceError::Unwritable`] if more was pushed after it was full.
    pub fn write(&mut self, block: &EncodedBlock) -> Result<(), TraceError> {
        let totals = &block.totals;
        if totals.accesses > MAX_BLOCK_ACCESSES || totals.events > MAX_BLOCK_EVENTS {
            return Err(self.unwritable("a block holds more than a reader takes".into()));
        }
        let first = self.summary.accesses;
        let counts = [totals.accesses, totals.events];
        self.packer
            .pack(&mut self.packed, &block.columns, BLOCK_MAGIC, counts, first)
            .map_err(|source| self.failed(source))?;
        let entry = Entry { offset: self.offset, first };
        let packed = std::mem::take(&mut self.packed);
        let put = self.put(&packed);
        self.packed = packed;
        put?;
        self.index.push(entry);
        self.summary.add(totals);
        Ok(())
    }

    /// Writes the index. What the trace amounts to.
    ///
    /// # Errors
    /// [`TraceError::Write`] if it cannot be written.
    pub fn finish(mut self) -> Result<Summary, TraceError> {
        let index = self.index.encode(&self.summary, self.offset);
        self.put(&index)?;
        self.sink.flush().map_err(|source| self.failed(source))?;
        Ok(self.summary)
    }

    /// What the blocks written so far amount to.
    pub fn summary(&self) -> &Summary {
        &self.summary
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

    pub(super) fn unwritable(&self, problem: String) -> TraceError {
        TraceError::Unwritable { path: self.path.clone(), problem }
    }
}

impl<W: Write> std::fmt::Debug for BlockWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockWriter")
            .field("path", &self.path)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}
