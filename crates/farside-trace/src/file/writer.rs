//! Writing a trace.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::blocks::BlockWriter;
use super::columns::{BlockBuilder, EncodedBlock};
use super::{MAX_NAME_BYTES, Summary};
use crate::{Access, Mapping, Metadata, PageRange, TraceError};

/// Writes a trace in Farside's own format.
///
/// Accesses are gathered into blocks, and each block is written in one piece. If writing fails, or
/// the program is killed, everything up to the last whole block stays readable. Only
/// [`finish`](Self::finish) adds the index, without which readers call the trace cut.
#[derive(Debug)]
pub struct TraceWriter<W: Write = File> {
    /// What is not written yet.
    gathered: BlockBuilder,
    encoded: EncodedBlock,
    blocks: BlockWriter<W>,
}

impl TraceWriter<File> {
    /// Creates the file at `path`, or empties the one that is there, and writes the header.
    ///
    /// # Errors
    /// [`TraceError::Create`] if there can be no such file, [`TraceError::Unwritable`] if the
    /// metadata is too long, [`TraceError::Write`] if the header cannot be written.
    pub fn create(path: impl AsRef<Path>, metadata: &Metadata) -> Result<Self, TraceError> {
        BlockWriter::create(path, metadata).map(Self::to)
    }

    /// Replaces the metadata, which may take a few digits more than what was there.
    ///
    /// # Errors
    /// As [`BlockWriter::amend`](crate::BlockWriter::amend).
    pub fn amend(&mut self, metadata: &Metadata) -> Result<(), TraceError> {
        self.blocks.amend(metadata)
    }
}

impl<W: Write> TraceWriter<W> {
    /// Writes a trace to `sink`; `name` stands for it in error messages.
    ///
    /// # Errors
    /// As [`create`](TraceWriter::create).
    pub fn new(sink: W, name: impl Into<PathBuf>, metadata: &Metadata) -> Result<Self, TraceError> {
        BlockWriter::new(sink, name, metadata).map(Self::to)
    }

    fn to(blocks: BlockWriter<W>) -> Self {
        Self { gathered: BlockBuilder::default(), encoded: EncodedBlock::default(), blocks }
    }

    /// Appends an access.
    ///
    /// # Errors
    /// [`TraceError::Write`] if a block was full and cannot be written; the accesses in it are lost.
    #[inline]
    pub fn write(&mut self, access: Access) -> Result<(), TraceError> {
        self.gathered.push(access);
        if self.gathered.is_full() { self.flush() } else { Ok(()) }
    }

    /// Says that `mapping` appeared after the last access.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] if its name is longer than [`MAX_NAME_BYTES`], and as
    /// [`write`](Self::write).
    pub fn map(&mut self, mapping: Mapping) -> Result<(), TraceError> {
        self.gathered.map(&mapping).map_err(|problem| {
            self.blocks.unwritable(format!(
                "the name of a mapping takes {} bytes, {MAX_NAME_BYTES} are allowed; shorten it",
                problem.0
            ))
        })?;
        if self.gathered.is_full() { self.flush() } else { Ok(()) }
    }

    /// Says that what was mapped in `range` vanished after the last access.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn unmap(&mut self, range: PageRange) -> Result<(), TraceError> {
        self.gathered.unmap(range);
        if self.gathered.is_full() { self.flush() } else { Ok(()) }
    }

    /// Writes what has been gathered, so that it survives the end of the program.
    ///
    /// # Errors
    /// [`TraceError::Write`] if it cannot be written; the accesses in it are lost.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.gathered.take(&mut self.encoded);
        self.blocks.write(&self.encoded)
    }

    /// Writes the last block and the index. What the trace amounts to.
    ///
    /// # Errors
    /// [`TraceError::Write`] if they cannot be written.
    pub fn finish(mut self) -> Result<Summary, TraceError> {
        self.flush()?;
        self.blocks.finish()
    }

    /// Number of accesses appended so far.
    pub fn accesses(&self) -> u64 {
        self.blocks.summary().accesses + self.gathered.len() as u64
    }

    /// Number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }
}
