//! Writing a tape.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::columns::StepBuilder;
use super::draft::Draft;
use super::index::{self, Entry};
use super::{
    BLOCK_MAGIC, BLOCK_STEPS, MAX_BLOCKS, MAX_PAGES, MAX_REGIONS, PART_REGIONS, REGIONS_MAGIC,
    Step, StepCounts, TapeError, TapeInfo, TapeRegion, TapeSummary, header, regions,
};
use crate::file::frame::Packer;

/// Writes a tape.
///
/// It is written to a temporary name beside its own, which it gets in the end: until
/// [`finish`](Self::finish) returns, and if anything fails or the writer is dropped, what was at
/// its place stays there. Only a program that is killed leaves the temporary file, a hidden one
/// that ends in `.tape-draft`.
///
/// Memory is bounded by the number of threads, and grows by 24 bytes with each block of
/// [`BLOCK_STEPS`] steps and 32 with each region.
pub struct TapeWriter {
    path: PathBuf,
    draft: Draft,
    /// Bytes written.
    offset: u64,
    packer: Packer,
    columns: Vec<u8>,
    block: Vec<u8>,
    most_threads: usize,
    /// Place of each thread among `threads`, and the one that pushed last.
    places: FxHashMap<u32, usize>,
    last: Option<(u32, usize)>,
    threads: Vec<Thread>,
    entries: Vec<Entry>,
    regions: Vec<TapeRegion>,
    /// Whether something failed, so that the tape cannot become whole.
    broken: bool,
}

/// The steps of a thread.
#[derive(Default)]
struct Thread {
    thread: u32,
    gathered: StepBuilder,
    /// Steps in its blocks.
    written: u64,
    counts: StepCounts,
}

impl TapeWriter {
    /// Begins a tape that will be the file at `path`.
    ///
    /// # Errors
    /// [`TapeError::Create`] if there can be no such file, [`TapeError::Unwritable`] if `info` does
    /// not fit or makes no sense, [`TapeError::Write`] if the header cannot be written.
    pub fn create(path: impl AsRef<Path>, info: &TapeInfo) -> Result<Self, TapeError> {
        let path = path.as_ref().to_owned();
        let header = header::encode(info, &path)?;
        let create = |source| TapeError::Create { path: path.clone(), source };
        let (draft, packer) =
            (Draft::create(&path).map_err(create)?, Packer::new().map_err(create)?);
        let mut writer = Self {
            path,
            draft,
            offset: 0,
            packer,
            columns: Vec::new(),
            block: Vec::new(),
            most_threads: info.threads as usize,
            places: FxHashMap::default(),
            last: None,
            threads: Vec::new(),
            entries: Vec::new(),
            regions: Vec::new(),
            broken: false,
        };
        writer.put(&header)?;
        Ok(writer)
    }

    /// Adds a region, before or after the steps in its pages. The pages of every step should lie in
    /// a region when the tape is finished; [`TapeReader::verify`](super::TapeReader::verify) checks
    /// it.
    ///
    /// # Errors
    /// [`TapeError::Unwritable`] if there are too many. Regions that overlap, bear the same name or
    /// have pages beyond [`MAX_PAGES`] are found by [`finish`](Self::finish).
    pub fn region(&mut self, region: TapeRegion) -> Result<(), TapeError> {
        if self.regions.len() == MAX_REGIONS {
            return Err(self.unwritable(format!(
                "it has more than {MAX_REGIONS} regions; record a shorter part of the run"
            )));
        }
        self.regions.push(region);
        Ok(())
    }

    /// Appends a step of `thread`.
    ///
    /// # Errors
    /// [`TapeError::Unwritable`] if the page is not below [`MAX_PAGES`], if more threads have steps
    /// than the description says, or if there are more blocks than [`MAX_BLOCKS`];
    /// [`TapeError::Write`] if a block cannot be written. No tape comes of it after that.
    #[inline]
    pub fn push(&mut self, thread: u32, step: Step) -> Result<(), TapeError> {
        let place = match self.last {
            Some((last, place)) if last == thread => place,
            _ => self.turn_to(thread)?,
        };
        if step.page.0 >= MAX_PAGES {
            let page = step.page.0;
            return Err(self.unwritable(format!("page {page} is not below {MAX_PAGES}")));
        }
        let thread = &mut self.threads[place];
        thread.gathered.push(step);
        thread.counts.count(step.kind);
        if thread.gathered.len() == BLOCK_STEPS { self.flush(place) } else { Ok(()) }
    }

    /// Writes what is left, the regions and the index, and gives the tape its name. What it amounts
    /// to.
    ///
    /// # Errors
    /// [`TapeError::Unwritable`] if something before did not fit or the regions are no table,
    /// [`TapeError::Write`] if the rest cannot be written, [`TapeError::Create`] if it cannot get
    /// its name.
    pub fn finish(mut self) -> Result<TapeSummary, TapeError> {
        let mut order: Vec<usize> = (0..self.threads.len()).collect();
        order.sort_unstable_by_key(|&place| self.threads[place].thread);
        for place in order {
            if self.threads[place].gathered.len() > 0 {
                self.flush(place)?;
            }
        }
        self.put_regions()?;
        let threads = self.threads.iter().map(|thread| (thread.thread, thread.counts));
        let mut summary = TapeSummary {
            threads: threads.collect(),
            regions: self.regions.len() as u64,
            blocks: self.entries.len() as u64,
            bytes: 0,
        };
        self.put(&index::encode(&self.entries, &summary, self.offset))?;
        summary.bytes = self.offset;
        let path = self.path;
        self.draft.complete().map_err(|source| TapeError::Create { path, source })?;
        Ok(summary)
    }

    /// Number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    /// The place of `thread`, which did not push last.
    #[cold]
    fn turn_to(&mut self, thread: u32) -> Result<usize, TapeError> {
        let next = self.threads.len();
        let place = *self.places.entry(thread).or_insert(next);
        if place == next {
            if next == self.most_threads {
                return Err(self.unwritable(format!(
                    "thread {thread} has steps, and so have {next} others; \
                     its description says how many there are"
                )));
            }
            self.threads.push(Thread { thread, ..Thread::default() });
        }
        self.last = Some((thread, place));
        Ok(place)
    }

    /// Writes the gathered steps of the thread at `place`.
    #[cold]
    fn flush(&mut self, place: usize) -> Result<(), TapeError> {
        if self.entries.len() == MAX_BLOCKS {
            return Err(self.unwritable(format!(
                "it has more than {MAX_BLOCKS} blocks; record a shorter part of the run"
            )));
        }
        let thread = &mut self.threads[place];
        let (number, steps, first) = (thread.thread, thread.gathered.len(), thread.written);
        thread.gathered.take(&mut self.columns);
        thread.written += steps as u64;
        let offset = self.offset;
        self.put_block(BLOCK_MAGIC, [steps, number as usize], first)?;
        let (length, steps) = ((self.offset - offset) as u32, steps as u32);
        self.entries.push(Entry { offset, length, thread: number, steps });
        Ok(())
    }

    fn put_regions(&mut self) -> Result<(), TapeError> {
        let mut regions = std::mem::take(&mut self.regions);
        regions::arrange(&mut regions).map_err(|problem| self.unwritable(problem))?;
        let (mut end, mut first) = (0, 0);
        for part in regions.chunks(PART_REGIONS) {
            regions::encode(part, &mut end, &mut self.columns);
            self.put_block(REGIONS_MAGIC, [part.len(), 0], first)?;
            first += part.len() as u64;
        }
        self.regions = regions;
        Ok(())
    }

    /// Writes a block of the columns.
    fn put_block(
        &mut self,
        magic: [u8; 4],
        counts: [usize; 2],
        first: u64,
    ) -> Result<(), TapeError> {
        let mut block = std::mem::take(&mut self.block);
        let packed = self.packer.pack(&mut block, &self.columns, magic, counts, first);
        let put = packed.map_err(|source| self.failed(source)).and_then(|()| self.put(&block));
        self.block = block;
        put
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), TapeError> {
        if self.broken {
            return Err(self.failed(io::Error::other("something before could not be written")));
        }
        self.draft.write_all(bytes).map_err(|source| self.failed(source))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn failed(&mut self, source: io::Error) -> TapeError {
        self.broken = true;
        TapeError::Write { path: self.path.clone(), offset: self.offset, source }
    }

    #[cold]
    fn unwritable(&mut self, problem: String) -> TapeError {
        self.broken = true;
        TapeError::Unwritable { path: self.path.clone(), problem }
    }
}

impl std::fmt::Debug for TapeWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TapeWriter")
            .field("path", &self.path)
            .field("bytes", &self.offset)
            .finish_non_exhaustive()
    }
}
