//! The pages a thread uses, in small working sets (3PO, section 3.1.2).
//!
//! Only the pages of the thread's current *microset* are mapped. When a page that is not in it is used and
//! it is full, all of it is unmapped and a new one begins. Within a microset each page is noted once.

use super::Recording;
use super::returns::Returns;
use crate::settings::MICROSET;

/// Streams of consecutive pages that are followed at once.
const STREAMS: usize = 8;

/// Most pages of a stream that are taken to be used together.
const LONGEST_RUN: u64 = 64;

/// Microsets of fewer pages than this may be too small for one instruction: a gather may need 32 pages at
/// once.
const SMALL: usize = 64;

/// How often an instruction comes back to a page before it is taken to be stuck.
const PATIENCE: u32 = 32;

/// What is to be done before a page is mapped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether the microset is over: all its pages are to be unmapped but so many, the last ones.
    pub keep: Option<usize>,
    /// Pages that may be mapped together, the one that is used included.
    pub run: u64,
    /// Whether the others lie below it.
    pub down: bool,
}

/// The current microset of a thread, and what tells how to go on.
#[derive(Debug)]
pub struct Microset {
    size: usize,
    /// Most pages mapped together.
    most: u64,
    pages: Vec<u64>,
    streams: [Stream; STREAMS],
    next_stream: usize,
    /// The pages of small microsets that ended lately.
    recent: Vec<u64>,
    /// What comes back to pages that have just been unmapped.
    stuck: Stuck,
    /// Whether it grows with the local memory, up to the usual size.
    grows: bool,
    /// What tells whether it is too small even so, if it may grow further.
    returns: Option<Returns>,
}

/// An instruction that comes back to pages again and again. It may need more of them at once than it is
/// given, or it is part of a loop.
#[derive(Debug, Default)]
struct Stuck {
    instruction: Option<u64>,
    /// How often it came back to each page.
    returns: Vec<(u64, u32)>,
    /// Pages of the ended microset that it is given besides.
    keep: usize,
}

impl Stuck {
    /// An instruction faulted, perhaps because it came back to a page; returns how many pages to keep for it.
    fn faulted(&mut self, instruction: Option<u64>, back_to: Option<u64>) -> usize {
        if instruction != self.instruction {
            *self = Self { instruction, ..Self::default() };
        }
        let Some(page) = back_to else { return self.keep };
        match self.returns.iter_mut().find(|(other, _)| *other == page) {
            None => self.returns.push((page, 1)),
            Some((_, times)) if *times < PATIENCE => *times += 1,
            Some(_) => {
                self.returns.clear();
                self.keep = (2 * self.keep).clamp(1, SMALL);
            }
        }
        self.keep
    }
}

/// Pages used one after the other, upwards or downwards.
#[derive(Copy, Clone, Debug, Default)]
struct Stream {
    /// Lowest page, and the one after the highest; both 0 if unused.
    first: u64,
    end: u64,
    /// Pages mapped with the last one that was used.
    run: u64,
}

/// Pages of a stream that are taken to be used together, in microsets of `size` pages.
fn longest_run(size: usize) -> u64 {
    (size as u64 / 16).clamp(1, LONGEST_RUN)
}

impl Microset {
    /// A thread's first microset, of at most `size` pages, of which a sixteenth may be taken to be used because
    /// their neighbours are; if `exact`, none. If it `grows`, the size is only the first.
    pub fn new(Recording { microset: size, exact, grows }: Recording) -> Self {
        let most = if exact { 1 } else { longest_run(size) };
        Self {
            size,
            most,
            pages: Vec::with_capacity(size),
            streams: [Stream::default(); STREAMS],
            next_stream: 0,
            recent: Vec::new(),
            stuck: Stuck::default(),
            grows,
            returns: grows.then(Returns::new),
        }
    }

    /// Pages in it.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether a page is in it.
    pub fn contains(&self, page: u64) -> bool {
        match &self.returns {
            Some(returns) => returns.is_among_last(page, self.pages.len() as u64),
            None => self.pages.contains(&page),
        }
    }

    /// Its pages in the order of their first use.
    #[cfg(test)]
    fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// What to do, now that `page` is used, which is not mapped. `instruction` tells the address of the
    /// instruction that uses it, if that can be known.
    ///
    /// An instruction that comes back again and again to what has just been unmapped gets more pages at once
    /// than there are in a microset.
    pub fn need(&mut self, page: u64, instruction: impl FnOnce() -> Option<u64>) -> Step {
        let (run, down) = self.follow(page);
        let mut keep = 0;
        if self.size < SMALL {
            let back = self.recent.contains(&page);
            if back || self.stuck.keep > 0 {
                keep = self.stuck.faulted(instruction(), back.then_some(page));
            }
        }
        if self.pages.len() < self.size {
            let run = run.min((self.size - self.pages.len()) as u64);
            return Step { keep: None, run, down };
        }
        Step { keep: Some(keep.min(self.pages.len())), run: run.min(self.size as u64), down }
    }

    /// The length and direction of the run that may be mapped with `page`.
    fn follow(&mut self, page: u64) -> (u64, bool) {
        let most = self.most;
        for stream in &mut self.streams {
            let down = stream.first == page + 1;
            if stream.end > 0 && (down || stream.end == page) {
                stream.run = (stream.run * 2).min(most);
                return (stream.run, down);
            }
        }
        self.streams[self.next_stream] = Stream { first: page, end: page + 1, run: 1 };
        self.next_stream = (self.next_stream + 1) % STREAMS;
        (1, false)
    }

    /// The thread faulted on a page. There is room for microsets of `room` pages, of which those that are larger than
    /// usual may have `most`. The size of this one from now on, if it has become larger.
    pub fn grow(&mut self, page: u64, room: usize, most: usize) -> Option<usize> {
        let doubled = 2 * self.size;
        let size = if self.grows && doubled <= room.min(MICROSET) {
            doubled
        } else {
            let returns = self.returns.as_mut()?;
            returns.fault(page, self.size);
            returns.better_size(self.size, most)?
        };
        self.size = size;
        self.most = longest_run(size);
        Some(size)
    }

    /// It has no more pages than usual from the next one on, and does not grow further.
    pub fn stay_usual(&mut self) {
        self.size = self.size.min(MICROSET);
        self.returns = None;
    }

    /// Pages that were mapped: `count` of them from `first` on.
    pub fn add(&mut self, first: u64, count: u64) {
        if let Some(returns) = &mut self.returns {
            returns.note(first, count);
        }
        self.pages.extend(first..first + count);
        for stream in &mut self.streams {
            let belongs = stream.end > 0 && (stream.end == first || stream.first == first + count);
            if belongs || stream.first == first && stream.end == first + 1 {
                stream.first = stream.first.min(first);
                stream.end = stream.end.max(first + count);
            }
        }
    }

    /// The microset is over; returns its pages but for the last `keep`, which stay mapped, and are to be
    /// noted [again](Self::take_kept).
    pub fn end(&mut self, keep: usize) -> Vec<u64> {
        let ended: Vec<u64> = self.pages.drain(..self.pages.len() - keep).collect();
        if self.size < SMALL {
            self.recent.extend_from_slice(&ended);
            let old = self.recent.len().saturating_sub(SMALL);
            self.recent.drain(..old);
        }
        ended
    }

    /// The pages that stayed mapped when the last microset ended; the new one is empty then.
    pub fn take_kept(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn how(microset: usize, exact: bool) -> Recording {
        Recording { microset, exact, grows: false }
    }

    /// Uses `pages` in order; returns the microsets that came of it.
    fn trace(size: usize, exact: bool, pages: impl IntoIterator<Item = u64>) -> Vec<Vec<u64>> {
        let mut microset = Microset::new(how(size, exact));
        let mut ended = Vec::new();
        for (place, page) in pages.into_iter().enumerate() {
            if microset.pages().contains(&page) {
                continue;
            }
            let step = microset.need(page, || Some(place as u64));
            if let Some(keep) = step.keep {
                ended.push(microset.pages().to_vec());
                microset.end(keep);
            }
            let first = if step.down { page + 1 - step.run } else { page };
            microset.add(first, step.run);
        }
        ended.push(microset.pages().to_vec());
        ended
    }

    /// The example of the paper's figure 2.
    #[test]
    fn the_papers_example() {
        let [a, b, c, d, e] = [10, 20, 30, 40, 50];
        let accesses = [a, b, c, c, d, c, d, b, a, e, a, b, b];
        let each = [a, b, c, d, c, d, b, a, e, a, b].map(|page| vec![page]);
        assert_eq!(trace(1, true, accesses), each);
        let expected = [vec![a, b], vec![c, d], vec![b, a], vec![e, a], vec![b]];
        assert_eq!(trace(2, true, accesses), expected);
        assert_eq!(trace(4, true, accesses), [vec![a, b, c, d], vec![e, a, b]]);
    }

    #[test]
    fn an_instruction_that_needs_many_pages_gets_them() {
        for size in [1, 2, 7] {
            let mut microset = Microset::new(how(size, true));
            let needed: Vec<u64> = (0..32).map(|i| i * 100).collect();
            let mut faults = 0;
            // The instruction starts again after each fault, until all are mapped.
            while let Some(page) = needed.iter().find(|page| !microset.pages().contains(page)) {
                let step = microset.need(*page, || Some(0x40_1000));
                if let Some(keep) = step.keep {
                    microset.end(keep);
                }
                microset.add(*page, 1);
                faults += 1;
                assert!(faults < 20_000, "no progress with microsets of {size}");
            }
        }
    }

    #[test]
    fn streams_are_followed_in_growing_runs() {
        let mut microset = Microset::new(how(1024, false));
        let mut runs = Vec::new();
        let (mut up, mut down) = (1_000, 90_000);
        for _ in 0..9 {
            let step = microset.need(up, || None);
            assert!(!step.down || step.run == 1);
            microset.add(up, step.run);
            up += step.run;
            runs.push(step.run);
            let step = microset.need(down, || None);
            assert!(step.down || step.run == 1);
            microset.add(down + 1 - step.run, step.run);
            down -= step.run;
        }
        assert_eq!(runs, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert_eq!(Microset::new(how(1024, true)).need(5, || None).run, 1);
    }

    #[test]
    fn microsets_grow_with_the_local_memory() {
        let mut microset = Microset::new(Recording { microset: 16, exact: false, grows: true });
        let mut sizes = Vec::new();
        for (page, room) in [31, 32, 32, 100, 5000, 5000, 5000, 5000, 5000].into_iter().enumerate()
        {
            sizes.extend(microset.grow(page as u64 * 100, room, room));
        }
        assert_eq!(sizes, [32, 64, 128, 256, 512, 1024]);
        assert_eq!(microset.need(7, || None).run, 1);
        microset.add(7, 1);
        assert_eq!(microset.grow(8, 100_000, 100_000), None);
        let mut fixed = Microset::new(how(16, false));
        assert_eq!(fixed.grow(8, 100_000, 100_000), None);
    }

    #[test]
    fn each_page_is_noted_once_in_a_microset() {
        let strided = (0..40_000).map(|i| i * 7919 % 3000);
        for (size, exact) in [(1, true), (64, true), (64, false), (1024, false)] {
            for mut pages in trace(size, exact, strided.clone()) {
                let count = pages.len();
                assert!(count <= size.max(SMALL));
                pages.sort_unstable();
                pages.dedup();
                assert!(pages.len() == count || !exact);
            }
        }
    }
}
