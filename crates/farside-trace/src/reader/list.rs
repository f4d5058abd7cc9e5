//! Lists of page numbers, in binary and as text.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::text::{LineState, Step};
use crate::{Access, Block, PageId, TraceError};

/// Bytes of a page number in the binary formats.
const NUMBER_BYTES: usize = size_of::<u64>();

/// Bytes read from the source at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Pages in a block.
const BLOCK_PAGES: usize = 1 << 13;

/// Largest window, as a power of two in bytes, that a compressed trace may ask the decoder to keep.
const MAX_WINDOW_LOG: u32 = 27;

enum Encoding {
    Binary,
    Text(LineState),
}

/// Reads a list of pages.
pub(crate) struct ListReader {
    source: BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    /// Bytes consumed; of a compressed trace, of its decompressed form.
    offset: u64,
    encoding: Encoding,
    /// Pages read.
    pages: u64,
    /// What went wrong behind the pages that were given out.
    error: Option<TraceError>,
    ended: bool,
}

impl ListReader {
    pub fn binary(source: Box<dyn Read + Send>, path: PathBuf) -> Self {
        Self::new(source, path, Encoding::Binary)
    }

    pub fn text(source: Box<dyn Read + Send>, path: PathBuf) -> Self {
        Self::new(source, path, Encoding::Text(LineState::default()))
    }

    fn new(source: Box<dyn Read + Send>, path: PathBuf, encoding: Encoding) -> Self {
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        Self { source, path, offset: 0, encoding, pages: 0, error: None, ended: false }
    }

    /// Fills `block` with the next pages; false at the end of the list. An error is told after the
    /// pages before it.
    pub fn next_block(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        block.clear(self.pages);
        if let Some(error) = self.error.take() {
            self.ended = true;
            return Err(error);
        }
        while !self.ended && block.accesses.len() < BLOCK_PAGES {
            match self.read(block) {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    if block.accesses.is_empty() {
                        self.ended = true;
                        return Err(error);
                    }
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.pages += block.accesses.len() as u64;
        Ok(!block.accesses.is_empty())
    }

    /// Reads some pages; false at the end of the list.
    fn read(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        match self.encoding {
            Encoding::Binary => self.read_binary(block),
            Encoding::Text(_) => self.read_text(block),
        }
    }

    fn read_binary(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let buffer = fill(&mut self.source, &self.path, self.offset)?;
        let room = BLOCK_PAGES - block.accesses.len();
        let (numbers, _) = buffer.as_chunks::<NUMBER_BYTES>();
        if numbers.is_empty() {
            return self.read_across(block);
        }
        let numbers = &numbers[..numbers.len().min(room)];
        let pages = numbers.iter().map(|bytes| PageId(u64::from_le_bytes(*bytes)));
        block.accesses.extend(pages.map(Access::from));
        let taken = size_of_val(numbers);
        self.source.consume(taken);
        self.offset += taken as u64;
        Ok(true)
    }

    /// Reads one number that does not lie in the buffer as a whole.
    fn read_across(&mut self, block: &mut Block) -> Result<bool, TraceError> {
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
            0 => Ok(false),
            NUMBER_BYTES => {
                self.offset += NUMBER_BYTES as u64;
                block.accesses.push(PageId(u64::from_le_bytes(number)).into());
                Ok(true)
            }
            stray => Err(TraceError::StrayBytes {
                path: self.path.clone(),
                offset: self.offset,
                size: self.offset + stray as u64,
            }),
        }
    }

    fn read_text(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let Encoding::Text(state) = &mut self.encoding else { return Ok(false) };
        let buffer = fill(&mut self.source, &self.path, self.offset)?;
        if buffer.is_empty() {
            block.accesses.extend(state.end_of_line().map(|page| Access::from(PageId(page))));
            return Ok(false);
        }
        let mut taken = 0;
        for &byte in buffer {
            match state.step(byte) {
                Step::More => {}
                Step::Page(page) => block.accesses.push(PageId(page).into()),
                Step::Invalid(problem) => {
                    let offset = self.offset + taken as u64;
                    return Err(problem.at(&self.path, offset, state.line()));
                }
            }
            taken += 1;
            if block.accesses.len() == BLOCK_PAGES {
                break;
            }
        }
        self.source.consume(taken);
        self.offset += taken as u64;
        Ok(true)
    }
}

/// The decompressed form of `source`.
pub(crate) fn decompressor<R: Read>(source: R) -> io::Result<zstd::Decoder<'static, BufReader<R>>> {
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
