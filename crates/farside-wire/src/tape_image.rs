//! A tape in memory that the supervisor prepares and the program's pager follows.
//!
//! The steps of each thread lie one after the other as words: two bits say what is done, twelve to how many
//! consecutive pages (less one), fifty name the lowest page, in the tape's own page numbers. Regions say which
//! allocation of the program's a range of these is.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use farside_os::memory::{self, PAGE};
use farside_os::{OsError, Result};

/// First word: the kind of memory and the version of its layout.
const MAGIC: u64 = u64::from_le_bytes(*b"fstape\0\x02");

/// Words before the tables: magic, number of words in all, of regions, of threads, settings.
const HEADER: usize = 8;

/// Words of a region and of a thread in the tables.
const REGION: usize = 4;
const THREAD: usize = 3;

/// Most pages in one step.
pub const MOST_PAGES: u64 = 1 << COUNT_BITS;

const COUNT_BITS: u32 = 12;
const KIND_BITS: u32 = 2;
/// Pages of a tape have smaller numbers than this.
pub const PAGES: u64 = 1 << (64 - COUNT_BITS - KIND_BITS);

/// What is to be done with pages.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// They are used for the first time.
    Touch,
    /// They are used again, and have to be here.
    Fetch,
    /// The same, and are written before they are evicted.
    FetchToWrite,
    /// They are not used before the next time they are fetched.
    Evict,
}

/// A step of a thread: the same for `count` pages, upwards from `first`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// Lowest page.
    pub first: u64,
    /// Number of pages, from 1 to [`MOST_PAGES`].
    pub count: u64,
}

impl Step {
    /// The word that says this.
    pub fn encode(self) -> u64 {
        let kind = match self.action {
            Action::Touch => 0,
            Action::Fetch => 1,
            Action::Evict => 2,
            Action::FetchToWrite => 3,
        };
        let count = self.count.clamp(1, MOST_PAGES) - 1;
        (self.first % PAGES) << (COUNT_BITS + KIND_BITS) | count << KIND_BITS | kind
    }

    /// What a word says.
    pub fn decode(word: u64) -> Self {
        let action = match word & 3 {
            0 => Action::Touch,
            1 => Action::Fetch,
            2 => Action::Evict,
            _ => Action::FetchToWrite,
        };
        let count = (word >> KIND_BITS) % MOST_PAGES + 1;
        Self { action, first: word >> (COUNT_BITS + KIND_BITS), count }
    }
}

/// An allocation of the program's, and the pages that stand for it on the tape.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// Hash of the place in the program from which it was made.
    pub site: u64,
    /// How many were made there before.
    pub nth: u32,
    /// Lowest page on the tape.
    pub first: u64,
    /// Number of pages.
    pub count: u64,
}

/// How the tape is to be followed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Pages fetched between two that tell by a fault how far the program is.
    pub batch: u64,
    /// Pages that are to be here, or on their way, before the program comes to them.
    pub lookahead: u64,
}

/// Writes the image of a tape.
#[derive(Debug, Default)]
pub struct Builder {
    regions: Vec<Region>,
    /// Numbers of the threads, and their steps.
    threads: Vec<(u32, Vec<u64>)>,
}

impl Builder {
    /// Adds a region.
    pub fn region(&mut self, region: Region) {
        self.regions.push(region);
    }

    /// Begins with the steps of a thread.
    pub fn thread(&mut self, number: u32) {
        self.threads.push((number, Vec::new()));
    }

    /// Adds a step for one page to the thread begun last.
    pub fn push(&mut self, action: Action, page: u64) {
        let Some((_, steps)) = self.threads.last_mut() else { return };
        if let Some(last) = steps.last_mut()
            && let step = Step::decode(*last)
            && step.action == action
            && step.first + step.count == page
            && step.count < MOST_PAGES
        {
            *last = Step { count: step.count + 1, ..step }.encode();
            return;
        }
        steps.push(Step { action, first: page, count: 1 }.encode());
    }

    /// The image in memory that can be passed on, and does not change any more.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn finish(self, pace: Pace) -> Result<OwnedFd> {
        let tables = self.regions.len() * REGION + self.threads.len() * THREAD;
        let steps: usize = self.threads.iter().map(|(_, steps)| steps.len()).sum();
        let words = HEADER + tables + steps;
        let bytes = (words * 8).next_multiple_of(PAGE);
        let file = memory::sealed_file(c"farside-tape", bytes as u64)?;
        let image = Mapped::new(file.as_fd(), bytes)?;
        let header = [
            MAGIC,
            words as u64,
            self.regions.len() as u64,
            self.threads.len() as u64,
            pace.batch,
            pace.lookahead,
            0,
            0,
        ];
        let mut at = 0;
        let mut put = |word: u64| {
            image.word(at).store(word, Ordering::Relaxed);
            at += 1;
        };
        header.into_iter().for_each(&mut put);
        for region in &self.regions {
            [region.site, u64::from(region.nth), region.first, region.count]
                .into_iter()
                .for_each(&mut put);
        }
        let mut start = HEADER + tables;
        for (number, steps) in &self.threads {
            [u64::from(*number), start as u64, steps.len() as u64].into_iter().for_each(&mut put);
            start += steps.len();
        }
        self.threads.iter().flat_map(|(_, steps)| steps).copied().for_each(put);
        Ok(file)
    }
}

/// A mapping of words.
#[derive(Debug)]
struct Mapped {
    at: usize,
    bytes: usize,
}

impl Mapped {
    fn new(file: BorrowedFd<'_>, bytes: usize) -> Result<Self> {
        Ok(Self { at: memory::map_shared(file, bytes, "a tape")?, bytes })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.bytes / 8, "word {index} beyond the tape");
        // SAFETY: within the mapping, checked above, which lives as long as `self`; atomics are valid for any
        // content, and another process may change them.
        unsafe { &*(self.at as *const AtomicU64).add(index) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // A range that cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.at, self.bytes, "a tape");
    }
}

/// The image of a tape.
#[derive(Debug)]
pub struct Image {
    words: Mapped,
    pace: Pace,
    regions: Vec<Region>,
    /// Number, index of the first step, number of steps.
    threads: Vec<(u32, usize, usize)>,
}

impl Image {
    /// Maps what [`Builder::finish`] made.
    ///
    /// # Errors
    /// If it cannot be mapped or makes no sense.
    pub fn open(file: BorrowedFd<'_>) -> Result<Self> {
        let nonsense = OsError { call: "mmap", subject: "a tape", errno: libc::EPROTO };
        let bytes = usize::try_from(memory::file_len(file)?).map_err(|_| nonsense)?;
        if bytes < PAGE {
            return Err(nonsense);
        }
        let words = Mapped::new(file, bytes)?;
        let read = |index: usize| {
            (index < bytes / 8).then(|| words.word(index).load(Ordering::Relaxed)).ok_or(nonsense)
        };
        if read(0)? != MAGIC {
            return Err(nonsense);
        }
        let within = |index| Ok::<_, OsError>(read(index)?.min(bytes as u64 / 8) as usize);
        let (region_count, thread_count) = (within(2)?, within(3)?);
        let pace = Pace { batch: read(4)?.max(1), lookahead: read(5)? };
        let mut regions = Vec::new();
        for index in 0..region_count {
            let at = HEADER + index * REGION;
            let (nth, first) = (read(at + 1)? as u32, read(at + 2)?);
            regions.push(Region { site: read(at)?, nth, first, count: read(at + 3)? });
        }
        let mut threads = Vec::new();
        for index in 0..thread_count {
            let at = HEADER + region_count * REGION + index * THREAD;
            let (start, count) = (within(at + 1)?, within(at + 2)?);
            if start + count > bytes / 8 {
                return Err(nonsense);
            }
            threads.push((read(at)? as u32, start, count));
        }
        Ok(Self { words, pace, regions, threads })
    }

    /// How it is to be followed.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Its regions.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Numbers of the threads that have steps.
    pub fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.threads.iter().map(|(number, ..)| *number)
    }

    /// Step `index` of a thread, by its place among [`threads`](Self::threads); `None` behind the last.
    pub fn step(&self, place: usize, index: usize) -> Option<Step> {
        let (_, start, count) = *self.threads.get(place)?;
        let word = (index < count).then(|| self.words.word(start + index).load(Ordering::Relaxed));
        word.map(Step::decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn action() -> impl Strategy<Value = Action> {
        prop::sample::select(vec![
            Action::Touch,
            Action::Fetch,
            Action::FetchToWrite,
            Action::Evict,
        ])
    }

    proptest! {
        #[test]
        fn an_image_says_what_was_put(
            threads in proptest::collection::vec(
                proptest::collection::vec((action(), 0..PAGES / 2, 1u64..20), 0..50), 0..4),
            regions in proptest::collection::vec((any::<u64>(), any::<u32>(), 0..PAGES, 0..PAGES), 0..9),
        ) {
            let pace = Pace { batch: 100, lookahead: 400 };
            let mut builder = Builder::default();
            for &(site, nth, first, count) in &regions {
                builder.region(Region { site, nth, first, count });
            }
            for (number, steps) in (5..).zip(&threads) {
                builder.thread(number);
                for &(action, first, count) in steps {
                    (first..first + count).for_each(|page| builder.push(action, page));
                }
            }
            let image = Image::open(builder.finish(pace).unwrap().as_fd()).unwrap();
            prop_assert_eq!(image.pace(), pace);
            prop_assert_eq!(image.regions().len(), regions.len());
            prop_assert!(image.threads().eq((5..).take(threads.len())));
            for (place, steps) in threads.iter().enumerate() {
                let pages = |step: Step| (step.first..step.first + step.count).map(move |p| (step.action, p));
                let found = (0..).map_while(|index| image.step(place, index)).flat_map(pages);
                let put = steps.iter().flat_map(|&(a, first, count)| (first..first + count).map(move |p| (a, p)));
                prop_assert!(found.eq(put));
            }
        }

        #[test]
        fn any_memory_is_an_image_or_none(words in proptest::collection::vec(any::<u64>(), 512)) {
            let file = memory::sealed_file(c"test", PAGE as u64).unwrap();
            let mapped = Mapped::new(file.as_fd(), PAGE).unwrap();
            for (index, word) in words.iter().enumerate() {
                mapped.word(index).store(if index == 0 { MAGIC } else { *word % 600 }, Ordering::Relaxed);
            }
            if let Ok(image) = Image::open(file.as_fd()) {
                for place in 0..image.threads().count() {
                    let _ = (0..1000).map_while(|index| image.step(place, index)).count();
                }
            }
        }
    }
}
