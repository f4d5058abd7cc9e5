//! A curve from so many pages at most.

use std::collections::BinaryHeap;

use farside_trace::{PageId, page_hash};
use farside_tracking::OrderedSlots;
use rustc_hash::FxHashMap;

use super::{PARTS, SampledCurve, mixed_salt, part, points};

/// Fewest slots: little samples need no compaction.
const LEAST_SLOTS: usize = 1 << 12;

/// LRU stack distances of at most so many pages (SHARDS, section 3.3).
///
/// All pages are in the sample until there are too many. Then the page with the largest hash leaves, for
/// good, and so do all pages with larger ones: the share of the pages that is sampled falls as pages come.
/// What was counted with a larger share counts for less accordingly. Memory depends on the size of the
/// sample alone: a hundred bytes a page, or so.
#[derive(Clone, Debug)]
pub struct FixedSizeDistances {
    most: usize,
    salt: u64,
    /// Pages whose hash is not above this are in the sample, if they were referenced.
    highest: u64,
    /// The pages in the sample, by hash.
    pages: BinaryHeap<(u64, u64)>,
    references: u64,
    sampled: u64,
    whole: Sampled,
    parts: Vec<Sampled>,
}

impl FixedSizeDistances {
    /// A sample of at most `most` pages, which is at least 1 and at most 2^30; another `salt` gives
    /// another sample.
    pub fn new(most: usize, salt: u64) -> Self {
        let most = most.clamp(1, 1 << 30);
        Self {
            most,
            salt: mixed_salt(salt),
            highest: u64::MAX,
            pages: BinaryHeap::new(),
            references: 0,
            sampled: 0,
            whole: Sampled::new(most),
            parts: vec![Sampled::new(most.div_ceil(PARTS)); PARTS],
        }
    }

    /// Share of the pages that is sampled by now.
    pub fn rate(&self) -> f64 {
        (self.highest as f64 + 1.0) / 2_f64.powi(64)
    }

    /// Pages in the sample by now.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Counts references, which come after all that were counted.
    pub fn references(&mut self, pages: &[PageId]) {
        self.references += pages.len() as u64;
        for page in pages {
            let hash = page_hash(*page, self.salt);
            if hash <= self.highest {
                self.reference(page.0, hash);
            }
        }
    }

    fn reference(&mut self, page: u64, hash: u64) {
        let rate = self.rate();
        self.sampled += 1;
        self.parts[part(hash)].reference(page, rate / PARTS as f64);
        if self.whole.reference(page, rate) {
            self.pages.push((hash, page));
            if self.pages.len() > self.most {
                self.lower();
            }
        }
    }

    /// Takes the page with the largest hash out of the sample.
    fn lower(&mut self) {
        if let Some((hash, page)) = self.pages.pop() {
            self.whole.remove(page);
            self.parts[part(hash)].remove(page);
            // Another page has a smaller one.
            self.highest = hash.saturating_sub(1);
        }
    }

    /// The curve at the given sizes in pages.
    pub fn curve(&self, sizes: &[usize]) -> SampledCurve {
        let whole = self.estimate(&self.whole, sizes);
        let parts: Vec<_> = self.parts.iter().map(|part| self.estimate(part, sizes)).collect();
        let rate = self.rate();
        let (points, mean_error) = points(sizes, rate, &whole, &parts);
        let (references, sampled, pages) = (self.references, self.sampled, self.pages.len() as u64);
        SampledCurve { points, references, sampled, rate, pages, mean_error }
    }

    /// Miss ratios by a sample or a part of it. What it lacks or has too much of references is taken for
    /// hits at any size (SHARDS-adj).
    fn estimate(&self, sample: &Sampled, sizes: &[usize]) -> Vec<f64> {
        let all = self.references as f64;
        let misses = sample.misses(sizes);
        let mut least: f64 = 1.0;
        let ratio = |(pages, misses): (&usize, f64)| {
            let ratio = if *pages == 0 || all <= 0.0 { 1.0 } else { misses / all };
            least = least.min(ratio.clamp(0.0, 1.0));
            least
        };
        sizes.iter().zip(misses).map(ratio).collect()
    }
}

/// The pages of a sample in the order of their last references, and how many references there were at
/// which distance, both of the whole trace as estimated.
///
/// A reference that is seen while a share R of the pages is sampled stands for 1/R references, and its
/// distance for one 1/R times as long. That is the paper's rescaling of counts, all at once.
#[derive(Clone, Debug)]
struct Sampled {
    slots: FxHashMap<u64, u32>,
    order: OrderedSlots,
    next: usize,
    /// References by distance: the first of `width` distances, and so on.
    counts: Vec<f64>,
    width: u64,
    most_counts: usize,
    cold: f64,
}

impl Sampled {
    /// Before the first reference, to about `most` pages at once.
    fn new(most: usize) -> Self {
        Self {
            slots: FxHashMap::default(),
            order: OrderedSlots::new(LEAST_SLOTS),
            next: 0,
            counts: Vec::new(),
            width: 1,
            most_counts: most.max(LEAST_SLOTS),
            cold: 0.0,
        }
    }

    /// Counts a reference to a page; whether it is the first one.
    fn reference(&mut self, page: u64, rate: f64) -> bool {
        if self.next == self.order.len() {
            self.compact();
        }
        let slot = self.next;
        self.next += 1;
        let before = self.slots.insert(page, slot as u32);
        if let Some(before) = before {
            let before = before as usize;
            let distance = self.order.live_behind(before) + 1;
            self.order.kill(before);
            self.count((distance as f64 / rate).ceil() as u64, 1.0 / rate);
        } else {
            self.cold += 1.0 / rate;
        }
        self.order.revive(slot);
        before.is_none()
    }

    fn remove(&mut self, page: u64) {
        if let Some(slot) = self.slots.remove(&page) {
            self.order.kill(slot as usize);
        }
    }

    /// Counts references at a distance, which is at least 1.
    fn count(&mut self, distance: u64, references: f64) {
        while (distance - 1) / self.width >= self.most_counts as u64 {
            self.widen();
        }
        let at = ((distance - 1) / self.width) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0.0);
        }
        self.counts[at] += references;
    }

    #[cold]
    fn widen(&mut self) {
        self.width *= 2;
        self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    /// Numbers the live slots anew, with as much room behind them as they take.
    #[cold]
    fn compact(&mut self) {
        let rank = self.order.ranks();
        for slot in self.slots.values_mut() {
            *slot = rank(*slot as usize) as u32;
        }
        drop(rank);
        self.next = self.slots.len();
        self.order = OrderedSlots::with_live(self.next, (2 * self.next).max(LEAST_SLOTS));
    }

    /// Misses at these sizes, in references of the whole trace.
    fn misses(&self, sizes: &[usize]) -> Vec<f64> {
        let mut left = self.cold;
        let mut behind: Vec<f64> = Vec::with_capacity(self.counts.len() + 1);
        behind.push(left);
        for count in self.counts.iter().rev() {
            left += count;
            behind.push(left);
        }
        let with = |pages: &usize| {
            let hits_up_to = (*pages as f64 / self.width as f64).round() as usize;
            behind[self.counts.len().saturating_sub(hits_up_to)]
        };
        sizes.iter().map(with).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The paper's description, word by word: a list for the stack, and counts that are multiplied
    /// whenever the share falls.
    #[derive(Default)]
    struct Described {
        stack: Vec<(u64, u64)>,
        counts: Vec<(f64, f64)>,
        cold: f64,
    }

    impl Described {
        fn reference(&mut self, page: u64, most: usize, threshold: &mut f64) {
            let hash = page_hash(PageId(page), mixed_salt(5));
            if hash as f64 >= *threshold {
                return;
            }
            let rate = *threshold / 2_f64.powi(64);
            match self.stack.iter().position(|(_, other)| *other == page) {
                Some(place) => {
                    self.counts.push(((place as f64 + 1.0) / rate, 1.0));
                    self.stack.remove(place);
                }
                None => self.cold += 1.0,
            }
            self.stack.insert(0, (hash, page));
            if self.stack.len() > most {
                let largest = self.stack.iter().max().copied().unwrap();
                self.stack.retain(|other| *other != largest);
                let factor = largest.0 as f64 / *threshold;
                *threshold = largest.0 as f64;
                self.cold *= factor;
                self.counts.iter_mut().for_each(|(_, count)| *count *= factor);
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_what_the_paper_describes(
            trace in prop::collection::vec((0..200_u64, 1..4_u64), 1..600),
            most in 1..60_usize,
        ) {
            let pages: Vec<_> = trace.iter().flat_map(|(first, n)| *first..first + n).collect();
            let mut sample = FixedSizeDistances::new(most, 5);
            let (mut described, mut threshold) = (Described::default(), 2_f64.powi(64));
            for page in &pages {
                sample.references(&[PageId(*page)]);
                described.reference(*page, most, &mut threshold);
                prop_assert!(sample.pages() <= most);
                prop_assert_eq!(sample.pages(), described.stack.len());
                prop_assert!((sample.rate() * 2_f64.powi(64) / threshold - 1.0).abs() < 1e-9);
            }
            let sizes: Vec<usize> = (0..40).map(|i| i * 13).collect();
            let rate = sample.rate();
            let misses = sample.whole.misses(&sizes);
            for (size, found) in sizes.iter().zip(misses) {
                // A float more or less must not decide.
                let at = |size: f64| described.cold
                    + described.counts.iter().filter(|(d, _)| *d > size).map(|(_, n)| n).sum::<f64>();
                let (most, least) = (at(*size as f64 - 1e-6) / rate, at(*size as f64 + 1e-6) / rate);
                prop_assert!(least * (1.0 - 1e-9) <= found && found <= most * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn few_counts_stand_for_many_distances() {
        let mut sampled = Sampled::new(1);
        for distance in 1..=1_000_000 {
            sampled.count(distance, 1.0);
        }
        assert!(sampled.counts.len() <= LEAST_SLOTS);
        let width = sampled.width as usize;
        for pages in [0, 10 * width, 100 * width, 999_424] {
            assert_eq!(sampled.misses(&[pages]), [1_000_000.0 - pages as f64], "{pages}");
        }
        assert_eq!(sampled.misses(&[1_100_000]), [0.0]);
    }
}
