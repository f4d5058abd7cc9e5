//! Reading the steps of a thread.

use std::iter::FusedIterator;
use std::sync::Arc;

use super::reader::Content;
use super::{BLOCK_MAGIC, MAX_BLOCK_STEPS, Step, StepCounts, TapeError, columns};
use crate::file::frame::{FRAME_BYTES, Frame, Unpacker};

/// Most steps in a block; its thread is compared with that of the index.
const LIMITS: [(usize, &str); 2] =
    [(MAX_BLOCK_STEPS, "a block claims too many steps"), (u32::MAX as usize, "")];

/// The steps of one thread of a tape, in order; nothing follows an error.
///
/// It holds one block of them in memory.
pub struct Steps {
    content: Arc<Content>,
    thread: u32,
    /// Blocks of the thread that were read.
    blocks: usize,
    /// What they amount to.
    counts: StepCounts,
    /// Where the last of them begins.
    offset: u64,
    ended: bool,
    /// Made when the first block is read.
    unpacker: Option<Unpacker>,
    packed: Vec<u8>,
    /// A block, and the next step in it.
    block: Vec<Step>,
    next: usize,
}

impl Steps {
    pub(super) fn new(content: Arc<Content>, thread: u32) -> Self {
        Self {
            content,
            thread,
            blocks: 0,
            counts: StepCounts::default(),
            offset: 0,
            ended: false,
            unpacker: None,
            packed: Vec::new(),
            block: Vec::new(),
            next: 0,
        }
    }

    /// The thread.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Fills `block` with the next steps: the rest of a block of the file, or a whole one. False at
    /// the end of the tape, when there are none.
    ///
    /// # Errors
    /// [`TapeError::Damaged`] and [`TapeError::Read`]; nothing follows then.
    pub fn next_block(&mut self, block: &mut Vec<Step>) -> Result<bool, TapeError> {
        if self.next == self.block.len() && !self.advance()? {
            block.clear();
            return Ok(false);
        }
        self.block.drain(..self.next);
        std::mem::swap(block, &mut self.block);
        self.block.clear();
        self.next = 0;
        Ok(true)
    }

    /// Reads the next block; false at the end.
    #[cold]
    fn advance(&mut self) -> Result<bool, TapeError> {
        self.block.clear();
        self.next = 0;
        if self.ended {
            return Ok(false);
        }
        // What comes after an error is not to be trusted.
        self.ended = true;
        let more = self.read_block()?;
        self.ended = !more;
        Ok(more)
    }

    fn read_block(&mut self) -> Result<bool, TapeError> {
        let content = Arc::clone(&self.content);
        let entries = content.blocks(self.thread);
        let Some(entry) = entries.get(self.blocks) else {
            return self.compare_counts();
        };
        self.offset = entry.offset;
        let mut bytes = [0; FRAME_BYTES];
        content.file.read(&mut bytes, entry.offset)?;
        if bytes[..4] != BLOCK_MAGIC {
            return Err(self.damaged("no block begins here"));
        }
        let frame = Frame::parse(&bytes, LIMITS).map_err(|problem| self.damaged(problem))?;
        if frame.length() != u64::from(entry.length)
            || frame.counts != [entry.steps, entry.thread].map(|number| number as usize)
            || frame.first != self.counts.steps()
        {
            return Err(self.damaged("a block is not the one of the index"));
        }
        self.packed.resize(frame.packed, 0);
        content.file.read(&mut self.packed, entry.offset + FRAME_BYTES as u64)?;
        self.unpack(&bytes, &frame)?;
        self.blocks += 1;
        Ok(true)
    }

    fn unpack(&mut self, bytes: &[u8; FRAME_BYTES], frame: &Frame) -> Result<(), TapeError> {
        let Self { content, unpacker, packed, block, offset, .. } = self;
        let unpacker = match unpacker {
            Some(unpacker) => unpacker,
            none => {
                let made =
                    Unpacker::new().map_err(|source| content.file.failed(*offset, source))?;
                none.insert(made)
            }
        };
        let unpacked = unpacker
            .unpack(bytes, frame, packed)
            .and_then(|raw| columns::decode(raw, frame.counts[0], block));
        if let Err(problem) = unpacked {
            self.block.clear();
            return Err(self.damaged(problem));
        }
        self.block.iter().for_each(|step| self.counts.count(step.kind));
        Ok(())
    }

    /// Checks that there were as many steps of each kind as the index says.
    fn compare_counts(&self) -> Result<bool, TapeError> {
        let expected = self.content.summary().threads.get(&self.thread).copied();
        if self.counts == expected.unwrap_or_default() {
            return Ok(false);
        }
        let index = self.content.index;
        Err(self.content.file.damaged(index, "the index belongs to other blocks"))
    }

    /// Something is wrong with the block read last.
    pub(super) fn damaged(&self, problem: &'static str) -> TapeError {
        self.content.file.damaged(self.offset, problem)
    }
}

impl Iterator for Steps {
    type Item = Result<Step, TapeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.block.len() {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let step = self.block[self.next];
        self.next += 1;
        Some(Ok(step))
    }
}

impl FusedIterator for Steps {}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps")
            .field("thread", &self.thread)
            .field("steps", &self.counts.steps())
            .finish_non_exhaustive()
    }
}
