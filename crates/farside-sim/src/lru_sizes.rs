//! LRU with several sizes of memory in one pass.
//!
//! A smaller memory under LRU holds a part of what a larger one holds: the pages used last. So one list
//! of the pages in order of their last use serves all sizes, and each size is a mark in it: what was used
//! at the mark or later is resident. A reference costs one look at when its page was used last, and a
//! step of the mark of each size in which it is missing.

use farside_trace::Access;

use crate::page_map::{NONE, PageMap};

/// Fewest places in the list: little traces need no compaction.
const LEAST_PLACES: usize = 1 << 16;

/// Accesses that are looked at ahead.
const AHEAD: usize = 32;

/// What is known of a page.
#[derive(Copy, Clone, Debug)]
struct Page {
    /// Its place in the list, or [`NONE`].
    place: u32,
    /// The number of the smallest memory in which it is dirty, if it is resident there.
    dirty_from: u32,
}

/// Memories of several sizes that see the same accesses, each under LRU.
#[derive(Clone, Debug)]
pub struct LruSizes {
    /// In ascending order.
    marks: Vec<Mark>,
    pages: PageMap<Page>,
    live: LivePlaces,
    next: usize,
    known: usize,
    accesses: u64,
    first_touches: u64,
    /// By number of memories in which the page was missing, first touches left out.
    missing: Vec<u64>,
    /// By number of the memory: pages written back there and not in the one before, less those written
    /// back in that one and not here.
    written: Vec<i64>,
}

/// A size of memory.
#[derive(Clone, Debug)]
struct Mark {
    capacity: usize,
    resident: usize,
    /// What was used at this place or later is resident.
    from: usize,
}

/// What was counted with one size of memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LruCounts {
    /// Accesses that found their page missing, first touches included.
    pub misses: u64,
    /// First touches.
    pub first_touches: u64,
    /// Pages that left dirty. One that was never touched before is dirty whatever touches it.
    pub written: u64,
}

impl LruSizes {
    /// Empty memories of the given sizes in pages, each at least one.
    ///
    /// # Panics
    /// If a size is smaller than the one before.
    pub fn new(capacities: &[usize]) -> Self {
        assert!(capacities.is_sorted(), "sizes in ascending order");
        let mark = |capacity: &usize| Mark { capacity: (*capacity).max(1), resident: 0, from: 0 };
        Self {
            marks: capacities.iter().map(mark).collect(),
            pages: PageMap::filled(Page { place: NONE, dirty_from: 0 }),
            live: LivePlaces::new(LEAST_PLACES),
            next: 0,
            known: 0,
            accesses: 0,
            first_touches: 0,
            missing: vec![0; capacities.len() + 1],
            written: vec![0; capacities.len() + 1],
        }
    }

    /// Accesses in order.
    pub fn feed(&mut self, accesses: &[Access]) {
        self.accesses += accesses.len() as u64;
        for ahead in accesses.chunks(AHEAD) {
            // A processor waits for many places in memory no longer than for one.
            let seen =
                ahead.iter().fold(0, |seen, access| seen ^ self.pages.get(access.page).place);
            std::hint::black_box(seen);
            for access in ahead {
                self.access(*access);
            }
        }
    }

    #[inline]
    fn access(&mut self, access: Access) {
        if self.next == self.live.len() {
            self.compact();
        }
        let now = self.next;
        let page = self.pages.entry(access.page);
        if page.place as usize == now.wrapping_sub(1) {
            // The same page again: its place may stay.
            if access.write {
                page.dirty_from = 0;
            }
            return;
        }
        let Page { place, dirty_from } = *page;
        page.place = now as u32;
        self.next += 1;
        self.live.revive(now);
        if place == NONE {
            page.dirty_from = 0;
            self.first_touches += 1;
            self.known += 1;
            (0..self.marks.len()).for_each(|number| self.make_room(number));
            return;
        }
        self.live.kill(place as usize);
        let mut missing = 0;
        while self.marks.get(missing).is_some_and(|mark| mark.from > place as usize) {
            self.make_room(missing);
            missing += 1;
        }
        if missing > 0 {
            self.missing[missing] += 1;
            self.write_back(dirty_from as usize, missing);
        }
        if access.write {
            self.pages.entry(access.page).dirty_from = 0;
        } else if (dirty_from as usize) < missing {
            self.pages.entry(access.page).dirty_from = missing as u32;
        }
    }

    /// Moves a mark past the page used longest ago, if the memory is full.
    #[inline]
    fn make_room(&mut self, number: usize) {
        let mark = &mut self.marks[number];
        if mark.resident < mark.capacity {
            mark.resident += 1;
        } else {
            mark.from = self.live.first_from(mark.from) + 1;
        }
    }

    /// Counts a page that left, dirty, the memories from `from` on and before `to`.
    #[inline]
    fn write_back(&mut self, from: usize, to: usize) {
        if from < to {
            self.written[from] += 1;
            self.written[to] -= 1;
        }
    }

    /// What was counted, by size.
    pub fn counts(&self) -> Vec<LruCounts> {
        let mut written = self.written.clone();
        // Those that left and never came back.
        for page in self.pages.values().filter(|page| page.place != NONE) {
            let place = page.place as usize;
            let gone = self.marks.partition_point(|mark| mark.from > place);
            if (page.dirty_from as usize) < gone {
                written[page.dirty_from as usize] += 1;
                written[gone] -= 1;
            }
        }
        let mut misses: u64 = self.missing.iter().sum();
        let mut dirty = 0;
        let count = |number: usize| {
            misses -= self.missing[number];
            dirty += written[number];
            LruCounts {
                misses: misses + self.first_touches,
                first_touches: self.first_touches,
                written: dirty as u64,
            }
        };
        (0..self.marks.len()).map(count).collect()
    }

    /// Gives the pages places anew, with as much room behind them as they take.
    #[cold]
    fn compact(&mut self) {
        let rank = self.live.ranks();
        for page in self.pages.values_mut().filter(|page| page.place != NONE) {
            page.place = rank(page.place as usize) as u32;
        }
        for mark in &mut self.marks {
            mark.from = rank(mark.from);
        }
        drop(rank);
        self.live = LivePlaces::new((2 * self.known).max(LEAST_PLACES));
        (0..self.known).for_each(|place| self.live.revive(place));
        self.next = self.known;
    }
}

/// Places of which some are live: a bit for each.
#[derive(Clone, Debug)]
struct LivePlaces(Vec<u64>);

impl LivePlaces {
    fn new(places: usize) -> Self {
        Self(vec![0; places.div_ceil(64)])
    }

    fn len(&self) -> usize {
        self.0.len() * 64
    }

    #[inline]
    fn revive(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    #[inline]
    fn kill(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    /// The first live place from `place` on; the number of places if there is none.
    #[inline]
    fn first_from(&self, place: usize) -> usize {
        let mut index = place / 64;
        let mut word = self.0.get(index).map_or(0, |word| word >> (place % 64) << (place % 64));
        while word == 0 {
            index += 1;
            match self.0.get(index) {
                Some(next) => word = *next,
                None => return self.len(),
            }
        }
        index * 64 + word.trailing_zeros() as usize
    }

    /// The number of live places before a place.
    fn ranks(&self) -> impl Fn(usize) -> usize + '_ {
        let mut before = Vec::with_capacity(self.0.len() + 1);
        let mut sum = 0;
        for word in &self.0 {
            before.push(sum);
            sum += word.count_ones() as usize;
        }
        before.push(sum);
        move |place| {
            let below = (1_u64 << (place % 64)) - 1;
            let part = self.0.get(place / 64).map_or(0, |word| (word & below).count_ones());
            before[place / 64] + part as usize
        }
    }
}
