//! Where the bytes of a file come from.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::TraceError;

/// A stream of bytes, which can perhaps be repositioned.
pub(crate) trait Source: Read + Send {
    /// Continues at `offset` bytes from the beginning.
    fn seek_to(&mut self, offset: u64) -> io::Result<()>;

    /// Length in bytes; `None` if the source cannot be repositioned.
    fn length(&mut self) -> Option<u64>;
}

/// A source that is read once, from beginning to end.
pub(crate) struct Plain<R>(pub R);

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read + Send> Source for Plain<R> {
    fn seek_to(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn length(&mut self) -> Option<u64> {
        None
    }
}

/// A source that may be able to seek; a pipe that was opened by a name cannot.
pub(crate) struct Seekable<R>(pub R);

impl<R: Read> Read for Seekable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read + Seek + Send> Source for Seekable<R> {
    fn seek_to(&mut self, offset: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset)).map(drop)
    }

    fn length(&mut self) -> Option<u64> {
        let here = self.0.stream_position().ok()?;
        let length = self.0.seek(SeekFrom::End(0)).ok()?;
        self.0.seek(SeekFrom::Start(here)).ok()?;
        Some(length)
    }
}

/// A source with its name and position.
pub(super) struct Input {
    source: Box<dyn Source>,
    pub path: PathBuf,
    /// Bytes before the next one that is read.
    pub offset: u64,
}

impl Input {
    pub fn new(source: Box<dyn Source>, path: PathBuf) -> Self {
        Self { source, path, offset: 0 }
    }

    pub fn length(&mut self) -> Option<u64> {
        self.source.length()
    }

    pub fn seek_to(&mut self, offset: u64) -> Result<(), TraceError> {
        match self.source.seek_to(offset) {
            Ok(()) => {
                self.offset = offset;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                Err(TraceError::NotSeekable { path: self.path.clone() })
            }
            Err(source) => Err(TraceError::Read { path: self.path.clone(), offset, source }),
        }
    }

    /// Fills `buffer` as far as the source reaches; the number of bytes that it gave.
    pub fn read_up_to(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.source.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    self.offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let (path, offset) = (self.path.clone(), self.offset);
                    return Err(TraceError::Read { path, offset, source });
                }
            }
        }
        Ok(filled)
    }

    /// Fills `buffer`; false if the source ends before that.
    pub fn read_whole(&mut self, buffer: &mut [u8]) -> Result<bool, TraceError> {
        Ok(self.read_up_to(buffer)? == buffer.len())
    }

    pub fn damaged(&self, offset: u64, problem: &'static str) -> TraceError {
        TraceError::Damaged { path: self.path.clone(), offset, problem }
    }
}
