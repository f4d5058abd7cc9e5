//! Page lists read from files, one reference at a time.

mod error;
mod format;
mod text;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

pub use error::TraceError;
pub use format::TraceFormat;

use crate::PageId;
use text::{LineState, Step};

/// Bytes of a page number in the binary formats.
const NUMBER_BYTES: usize = size_of::<u64>();

/// Bytes read from the source at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Largest window, as a power of two in bytes, that a compressed trace may ask the decoder to keep.
const MAX_WINDOW_LOG: u32 = 27;

/// The page references of a trace in program order.
///
/// Memory use does not depend on the length of the trace, nor on the length of a line. The first
/// error ends the iteration.
pub struct TraceReader {
    source: BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    /// Bytes consumed; of a compressed trace, of its decompressed form.
    offset: u64,
    encoding: Encoding,
    ended: bool,
}

enum Encoding {
    Binary,
    Text(LineState),
}

impl TraceReader {
    /// Opens the trace at `path`, in the format that its name tells.
    ///
    /// # Errors
    /// [`TraceError::UnknownFormat`] if the name tells none, [`TraceError::Open`] if the file cannot
    /// be opened. What is wrong with its content is found while reading.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let format = TraceFormat::of_path(path)
            .ok_or_else(|| TraceError::UnknownFormat { path: path.to_owned() })?;
        let file = File::open(path)
            .map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
        Self::new(file, format, path)
    }

    /// Reads a trace in `format` from `source`; `name` stands for it in error messages.
    ///
    /// # Errors
    /// [`TraceError::Open`] if the decompressor cannot be set up.
    pub fn new(
        source: impl Read + Send + 'static,
        format: TraceFormat,
        name: impl Into<PathBuf>,
    ) -> Result<Self, TraceError> {
        let path = name.into();
        let (source, encoding): (Box<dyn Read + Send>, _) = match format {
            TraceFormat::U64 => (Box::new(source), Encoding::Binary),
            TraceFormat::Text => (Box::new(source), Encoding::Text(LineState::default())),
            TraceFormat::U64Zst => match decompressor(source) {
                Ok(source) => (Box::new(source), Encoding::Binary),
                Err(source) => return Err(TraceError::Open { path, source }),
            },
        };
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        Ok(Self { source, path, offset: 0, encoding, ended: false })
    }

    fn read_binary(&mut self) -> Result<Option<PageId>, TraceError> {
        let mut number = [0; NUMBER_BYTES];
        let mut filled = 0;
        while filled < NUMBER_BYTES {
            let buffer = fill(&mut self.source, &self.path, self.offset + filled as u64)?;
            if buffer.is_empty() {
                break;
            }
            let taken = buffer.len().min(NUMBER_BYTES - filled);
            number[filled..filled + taken].copy_from_slice(&buffer[..taken]);
            self.source.consume(taken);
            filled += taken;
        }
        match filled {
            0 => Ok(None),
            NUMBER_BYTES => {
                self.offset += NUMBER_BYTES as u64;
                Ok(Some(PageId(u64::from_le_bytes(number))))
            }
            stray => Err(TraceError::StrayBytes {
                path: self.path.clone(),
                offset: self.offset,
                size: self.offset + stray as u64,
            }),
        }
    }

    fn read_text(&mut self) -> Result<Option<PageId>, TraceError> {
        let Encoding::Text(state) = &mut self.encoding else { return Ok(None) };
        loop {
            let buffer = fill(&mut self.source, &self.path, self.offset)?;
            if buffer.is_empty() {
                return Ok(state.end_of_line().map(PageId));
            }
            let mut taken = 0;
            let mut found = None;
            for &byte in buffer {
                match state.step(byte) {
                    Step::More => taken += 1,
                    Step::Page(page) => {
                        taken += 1;
                        found = Some(PageId(page));
                        break;
                    }
                    Step::Invalid(problem) => {
                        let offset = self.offset + taken as u64;
                        return Err(problem.at(&self.path, offset, state.line()));
                    }
                }
            }
            self.source.consume(taken);
            self.offset += taken as u64;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}

impl Iterator for TraceReader {
    type Item = Result<PageId, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = match self.encoding {
            Encoding::Binary => self.read_binary(),
            Encoding::Text(_) => self.read_text(),
        };
        self.ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

impl std::iter::FusedIterator for TraceReader {}

impl fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceReader")
            .field("path", &self.path)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

fn decompressor<R: Read>(source: R) -> io::Result<zstd::Decoder<'static, BufReader<R>>> {
    let mut decoder = zstd::Decoder::new(source)?;
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    Ok(decoder)
}

/// The bytes that can be had without another read, after one read if there are none; empty at the end.
fn fill<'a>(
    source: &'a mut BufReader<Box<dyn Read + Send>>,
    path: &Path,
    offset: u64,
) -> Result<&'a [u8], TraceError> {
    while source.buffer().is_empty() {
        match source.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(TraceError::Read { path: path.to_owned(), offset, source }),
        }
    }
    Ok(source.buffer())
}
