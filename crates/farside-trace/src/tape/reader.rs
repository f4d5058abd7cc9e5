//! Opening a tape.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::{self, Entry, Index, TRAILER_BYTES};
use super::{
    MAX_REGIONS, PART_REGIONS, REGIONS_MAGIC, Steps, TapeError, TapeInfo, TapeRegion, TapeSummary,
    header, regions,
};
use crate::PageId;
use crate::file::frame::{FRAME_BYTES, Frame, Unpacker};

/// Most regions in a part of their table, and a number that is not used.
const REGION_LIMITS: [(usize, &str); 2] = [
    (PART_REGIONS, "a part of the table of regions claims too many"),
    (0, "a part of the table of regions says what is not known"),
];

/// A tape whose header, regions and index are good.
///
/// The steps are read when they are asked for, a block at a time, by any number of
/// [iterators](Steps) at once.
#[derive(Debug)]
pub struct TapeReader {
    content: Arc<Content>,
}

/// What is read of a tape before its steps are.
#[derive(Debug)]
pub(super) struct Content {
    pub file: TapeFile,
    info: TapeInfo,
    regions: Vec<TapeRegion>,
    summary: TapeSummary,
    /// The blocks thread by thread.
    entries: Vec<Entry>,
    /// Where the index begins.
    pub index: u64,
}

impl Content {
    /// The blocks of `thread` in order.
    pub fn blocks(&self, thread: u32) -> &[Entry] {
        let begin = self.entries.partition_point(|entry| entry.thread < thread);
        let end = self.entries.partition_point(|entry| entry.thread <= thread);
        &self.entries[begin..end]
    }

    pub fn summary(&self) -> &TapeSummary {
        &self.summary
    }
}

impl TapeReader {
    /// Opens a tape, and reads everything but its steps.
    ///
    /// # Errors
    /// Why it is no tape that this program can follow: [`TapeError::Open`], [`TapeError::Read`],
    /// [`TapeError::Foreign`], [`TapeError::Version`], [`TapeError::Incomplete`],
    /// [`TapeError::Damaged`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TapeError> {
        let (file, length) = TapeFile::open(path.as_ref())?;
        let (index, begin) = file.index_offset(length)?;
        let (info, start) = file.header(begin)?;
        let end = length - TRAILER_BYTES as u64;
        if index < start {
            return Err(file.damaged(end, "the index begins within the header"));
        }
        let parsed = Index::parse(&file.bytes(index, (end - index) as usize)?, start);
        let Index { entries, end, mut summary } =
            parsed.map_err(|problem| file.damaged(index, problem))?;
        if summary.threads.len() > info.threads as usize {
            return Err(file.damaged(index, "more threads have steps than the header says"));
        }
        let regions = file.regions(end, index, summary.regions as usize)?;
        summary.bytes = length;
        Ok(Self { content: Arc::new(Content { file, info, regions, summary, entries, index }) })
    }

    /// What the tape says about itself.
    pub fn info(&self) -> &TapeInfo {
        &self.content.info
    }

    /// The regions in the order of their pages.
    pub fn regions(&self) -> &[TapeRegion] {
        &self.content.regions
    }

    /// The region that `page` lies in.
    pub fn region_of(&self, page: PageId) -> Option<&TapeRegion> {
        regions::of(&self.content.regions, page)
    }

    /// What the tape amounts to.
    pub fn summary(&self) -> &TapeSummary {
        self.content.summary()
    }

    /// The steps of `thread` in order; none, if it has none.
    pub fn steps(&self, thread: u32) -> Steps {
        Steps::new(Arc::clone(&self.content), thread)
    }

    /// Reads all steps, and checks that their pages lie in regions.
    ///
    /// # Errors
    /// [`TapeError::Damaged`] and [`TapeError::Read`].
    pub fn verify(&self) -> Result<(), TapeError> {
        let mut block = Vec::new();
        for &thread in self.summary().threads.keys() {
            let mut steps = self.steps(thread);
            while steps.next_block(&mut block)? {
                let mut region = None;
                for step in &block {
                    if region.is_none_or(|region| !contains(region, step.page)) {
                        region = self.region_of(step.page);
                    }
                    if region.is_none() {
                        return Err(steps.damaged("a step has a page that is in no region"));
                    }
                }
            }
        }
        Ok(())
    }
}

fn contains(region: &TapeRegion, page: PageId) -> bool {
    page.0.wrapping_sub(region.first.0) < region.count
}

/// A file that is read at any place.
#[derive(Debug)]
pub(super) struct TapeFile {
    file: File,
    path: PathBuf,
}

impl TapeFile {
    /// Opens the file at `path`; its length.
    fn open(path: &Path) -> Result<(Self, u64), TapeError> {
        let failed = |source| TapeError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(io::Error::other("it is no regular file")));
        }
        Ok((Self { file, path: path.to_owned() }, metadata.len()))
    }

    /// Fills `buffer` from `offset` on.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), TapeError> {
        self.file.read_exact_at(buffer, offset).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged(offset, "the file ends within this part"),
            _ => self.failed(offset, source),
        })
    }

    fn bytes(&self, offset: u64, count: usize) -> Result<Vec<u8>, TapeError> {
        let mut bytes = vec![0; count];
        self.read(&mut bytes, offset)?;
        Ok(bytes)
    }

    pub fn failed(&self, offset: u64, source: io::Error) -> TapeError {
        TapeError::Read { path: self.path.clone(), offset, source }
    }

    pub fn damaged(&self, offset: u64, problem: &'static str) -> TapeError {
        TapeError::Damaged { path: self.path.clone(), offset, problem }
    }

    /// Where the index begins, and the first bytes of the header, of a file that begins and ends as
    /// a tape does.
    fn index_offset(&self, length: u64) -> Result<(u64, [u8; header::FIXED_BYTES]), TapeError> {
        let mut fixed = [0; header::FIXED_BYTES];
        let there = length.min(header::FIXED_BYTES as u64) as usize;
        self.read(&mut fixed[..there], 0)?;
        header::recognize(&fixed[..there], &self.path)?;
        let incomplete = || TapeError::Incomplete { path: self.path.clone(), size: length };
        let least = header::FIXED_BYTES as u64 + index::LEAST_BYTES;
        let end = length
            .checked_sub(TRAILER_BYTES as u64)
            .filter(|&end| end >= least)
            .ok_or_else(incomplete)?;
        let mut trailer = [0; TRAILER_BYTES];
        self.read(&mut trailer, end)?;
        let offset = index::offset_from(&trailer).ok_or_else(incomplete)?;
        let bytes = end.saturating_sub(offset);
        if !(index::LEAST_BYTES..=index::MOST_BYTES).contains(&bytes) {
            return Err(self.damaged(end, "the trailer names no place of an index"));
        }
        Ok((offset, fixed))
    }

    /// The header, of which the first bytes were read, and where it ends.
    fn header(&self, fixed: [u8; header::FIXED_BYTES]) -> Result<(TapeInfo, u64), TapeError> {
        let damaged = |problem| self.damaged(0, problem);
        let count = header::rest_bytes(&fixed).map_err(damaged)?;
        let rest = self.bytes(header::FIXED_BYTES as u64, count)?;
        let info = header::parse(&fixed, &rest).map_err(damaged)?;
        Ok((info, (header::FIXED_BYTES + count) as u64))
    }

    /// The table of `count` regions, which reaches from `offset` to `end`.
    fn regions(
        &self,
        mut offset: u64,
        end: u64,
        count: usize,
    ) -> Result<Vec<TapeRegion>, TapeError> {
        debug_assert!(count <= MAX_REGIONS);
        let mut unpacker = Unpacker::new().map_err(|source| self.failed(offset, source))?;
        let mut regions = Vec::new();
        while offset != end {
            let damaged = |problem| self.damaged(offset, problem);
            let mut bytes = [0; FRAME_BYTES];
            self.read(&mut bytes, offset)?;
            if bytes[..4] != REGIONS_MAGIC {
                return Err(damaged("no part of the table of regions begins here"));
            }
            let frame = Frame::parse(&bytes, REGION_LIMITS).map_err(damaged)?;
            if frame.first != regions.len() as u64 || regions.len() + frame.counts[0] > count {
                return Err(damaged("the regions are not those of the index"));
            }
            let packed = self.bytes(offset + FRAME_BYTES as u64, frame.packed)?;
            unpacker
                .unpack(&bytes, &frame, &packed)
                .and_then(|raw| regions::decode(raw, frame.counts[0], &mut regions))
                .map_err(damaged)?;
            offset += frame.length();
            if offset > end {
                return Err(self.damaged(end, "the table of regions reaches into the index"));
            }
        }
        if regions.len() != count {
            return Err(self.damaged(end, "the regions are not those of the index"));
        }
        regions::check(&regions).map_err(|problem| self.damaged(end, problem))?;
        Ok(regions)
    }
}
