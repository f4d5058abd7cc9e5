//! Reading a trace, block by block.

use std::fmt;
use std::path::PathBuf;

use super::columns;
use super::frame::{FRAME_BYTES, Frame, Unpacker};
use super::index::{Entry, FIXED_BYTES, Index, TRAILER_BYTES};
use super::source::{Input, Source};
use super::{BLOCK_MAGIC, INDEX_MAGIC, MAX_BLOCK_ACCESSES, MAX_BLOCK_EVENTS, Summary, header};
use crate::{Block, Metadata, TraceError};

/// Where a trace ends that was not finished, because the disk was full or its writer was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// Bytes of whole parts; what comes after them cannot be read.
    pub offset: u64,
    /// Accesses in them.
    pub accesses: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, accesses } = self;
        let path = path.display();
        write!(
            f,
            "{path}: the trace was cut at byte {offset}; the {accesses} accesses before are read"
        )
    }
}

/// Most accesses and mapping events in a block.
const LIMITS: [(usize, &str); 2] = [
    (MAX_BLOCK_ACCESSES, "a block claims too many accesses"),
    (MAX_BLOCK_EVENTS, "a block claims too many mapping events"),
];

/// A part of a file, as its first bytes tell.
enum Part {
    Block([u8; FRAME_BYTES], Frame),
    Index([u8; FRAME_BYTES]),
    /// The file ends here, or soon after.
    Nothing,
}

/// Reads a file of the own format.
pub(crate) struct FileReader {
    input: Input,
    metadata: Metadata,
    /// Where the first block begins.
    start: u64,
    index: Index,
    summary: Option<Summary>,
    cut: Option<Cut>,
    /// Number of the first access of the next block.
    next: u64,
    /// Number of the first access that is asked for.
    wanted: u64,
    ended: bool,
    unpacker: Unpacker,
    packed: Vec<u8>,
}

impl FileReader {
    /// Reads the header, and the index if `source` can be repositioned. If there is no index, the
    /// headers of the blocks are looked through.
    pub fn open(source: Box<dyn Source>, path: PathBuf) -> Result<Self, TraceError> {
        let unpacker =
            Unpacker::new().map_err(|source| TraceError::Open { path: path.clone(), source })?;
        let mut input = Input::new(source, path);
        let length = input.length();
        let metadata = header::read(&mut input)?;
        let mut reader = Self {
            start: input.offset,
            input,
            metadata,
            index: Index::default(),
            summary: None,
            cut: None,
            next: 0,
            wanted: 0,
            ended: false,
            unpacker,
            packed: Vec::new(),
        };
        if let Some(length) = length {
            if !reader.find_index(length)? {
                reader.scan(length)?;
            }
            reader.input.seek_to(reader.start)?;
        }
        Ok(reader)
    }

    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Bytes of the file consumed.
    pub fn offset(&self) -> u64 {
        self.input.offset
    }

    /// Fills `block` with the next accesses; false at the end of the trace.
    pub fn next_block(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        while !self.ended {
            let offset = self.input.offset;
            match self.part()? {
                Part::Block(bytes, frame) => {
                    let after = self.place(&frame, offset)?;
                    if after < self.wanted {
                        self.input.seek_to(offset + frame.length())?;
                    } else if !self.unpack(&bytes, &frame, offset, block)? {
                        self.end_without_index(offset)?;
                        continue;
                    }
                    self.next = after;
                    if after >= self.wanted {
                        block.skip_to(self.wanted);
                        if !block.accesses.is_empty() || !block.events.is_empty() {
                            return Ok(true);
                        }
                    }
                }
                Part::Index(bytes) => {
                    if !self.read_index(offset, &bytes)? {
                        self.end_without_index(offset)?;
                    } else if self.summary.is_some_and(|s| s.accesses != self.next) {
                        return Err(self
                            .input
                            .damaged(offset, "the index belongs to other blocks"));
                    }
                    self.ended = true;
                }
                Part::Nothing => self.end_without_index(offset)?,
            }
        }
        block.clear(self.next);
        Ok(false)
    }

    /// Goes on with the access of this number.
    pub fn seek(&mut self, access: u64) -> Result<(), TraceError> {
        let accesses = match (&self.summary, &self.cut) {
            (Some(summary), _) => Some(summary.accesses),
            (None, Some(cut)) => Some(cut.accesses),
            (None, None) => None,
        };
        if let Some(accesses) = accesses.filter(|&accesses| access > accesses) {
            let path = self.input.path.clone();
            return Err(TraceError::BeyondEnd { path, access, accesses });
        }
        let entry = self.index.before(access).unwrap_or(Entry { offset: self.start, first: 0 });
        self.input.seek_to(entry.offset)?;
        (self.next, self.wanted, self.ended) = (entry.first, access, false);
        Ok(())
    }

    /// Checks that a block is the next one; the number of the access after it.
    fn place(&self, frame: &Frame, offset: u64) -> Result<u64, TraceError> {
        if frame.first != self.next {
            return Err(self.input.damaged(offset, "a block is missing, or not in its place"));
        }
        let after = self.next.checked_add(frame.counts[0] as u64);
        after.ok_or_else(|| self.input.damaged(offset, "a block has too high a number"))
    }

    /// Reads the rest of the block whose header was read; false if the file ends before.
    fn unpack(
        &mut self,
        bytes: &[u8; FRAME_BYTES],
        frame: &Frame,
        offset: u64,
        block: &mut Block,
    ) -> Result<bool, TraceError> {
        self.packed.resize(frame.packed, 0);
        if !self.input.read_whole(&mut self.packed)? {
            return Ok(false);
        }
        let [accesses, events] = frame.counts;
        self.unpacker
            .unpack(bytes, frame, &self.packed)
            .and_then(|raw| columns::decode(raw, frame.first, accesses, events, block))
            .map_err(|problem| self.input.damaged(offset, problem))?;
        Ok(true)
    }

    /// The file ends in the part that begins at `offset`.
    fn end_without_index(&mut self, offset: u64) -> Result<(), TraceError> {
        if self.summary.is_some() {
            return Err(self.input.damaged(offset, "the blocks do not reach up to the index"));
        }
        self.ended = true;
        let path = self.input.path.clone();
        self.cut = Some(Cut { path, offset, accesses: self.next });
        Ok(())
    }

    /// What begins at the present position. Of a block and of the index the first bytes are read.
    fn part(&mut self) -> Result<Part, TraceError> {
        let offset = self.input.offset;
        let mut bytes = [0; FRAME_BYTES];
        let read = self.input.read_up_to(&mut bytes)?;
        let known = |magic: [u8; 4]| {
            let length = read.min(magic.len());
            bytes[..length] == magic[..length]
        };
        match (read == FRAME_BYTES, known(BLOCK_MAGIC), known(INDEX_MAGIC)) {
            (_, false, false) => {
                Err(self.input.damaged(offset, "neither a block nor the index begins here"))
            }
            (false, ..) => Ok(Part::Nothing),
            (true, false, true) => Ok(Part::Index(bytes)),
            (true, ..) => match Frame::parse(&bytes, LIMITS) {
                Ok(frame) => Ok(Part::Block(bytes, frame)),
                Err(problem) => Err(self.input.damaged(offset, problem)),
            },
        }
    }

    /// Reads the rest of the index that begins at `offset` with `bytes`; false if it is cut.
    fn read_index(&mut self, offset: u64, bytes: &[u8; FRAME_BYTES]) -> Result<bool, TraceError> {
        let mut fixed = [0; FIXED_BYTES];
        fixed[..FRAME_BYTES].copy_from_slice(bytes);
        if !self.input.read_whole(&mut fixed[FRAME_BYTES..])? {
            return Ok(false);
        }
        let length =
            Index::rest_bytes(&fixed).map_err(|problem| self.input.damaged(offset, problem))?;
        let mut rest = vec![0; length];
        if !self.input.read_whole(&mut rest)? {
            return Ok(false);
        }
        let (index, summary) = Index::parse(&fixed, &rest, offset)
            .map_err(|problem| self.input.damaged(offset, problem))?;
        if self.input.read_up_to(&mut [0])? != 0 {
            return Err(self.input.damaged(self.input.offset - 1, "something follows its end"));
        }
        (self.index, self.summary) = (index, Some(summary));
        Ok(true)
    }

    /// Loads the index of a whole file; false if there is none to be trusted. What is wrong with it
    /// is reported by whoever reads up to it.
    fn find_index(&mut self, length: u64) -> Result<bool, TraceError> {
        let least = (FIXED_BYTES + TRAILER_BYTES) as u64;
        let mut trailer = [0; TRAILER_BYTES];
        if length.saturating_sub(self.start) < least {
            return Ok(false);
        }
        self.input.seek_to(length - TRAILER_BYTES as u64)?;
        if !self.input.read_whole(&mut trailer)? {
            return Ok(false);
        }
        let inside = |offset: &u64| (self.start..=length - least).contains(offset);
        let Some(offset) = Index::offset_from(&trailer).filter(inside) else { return Ok(false) };
        self.input.seek_to(offset)?;
        Ok(matches!(self.part(), Ok(Part::Index(bytes))
            if self.read_index(offset, &bytes).is_ok_and(|whole| whole)))
    }

    /// Looks through the headers of the blocks of a file without a good index.
    fn scan(&mut self, length: u64) -> Result<(), TraceError> {
        let mut entry = Entry { offset: self.start, first: 0 };
        loop {
            self.input.seek_to(entry.offset)?;
            match self.part() {
                Ok(Part::Block(_, frame)) if frame.first == entry.first => {
                    if frame.length() > length - entry.offset {
                        break;
                    }
                    self.index.push(entry);
                    entry.offset += frame.length();
                    entry.first += frame.counts[0] as u64;
                }
                Ok(Part::Nothing) => break,
                Ok(Part::Index(bytes)) => match self.read_index(entry.offset, &bytes) {
                    Ok(false) => break,
                    // The index is damaged, or it is whole but damage comes before it.
                    Ok(true) | Err(_) => return Ok(()),
                },
                // Damage is reported by whoever reads up to it.
                Ok(Part::Block(..)) | Err(TraceError::Damaged { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let path = self.input.path.clone();
        self.cut = Some(Cut { path, offset: entry.offset, accesses: entry.first });
        Ok(())
    }
}
