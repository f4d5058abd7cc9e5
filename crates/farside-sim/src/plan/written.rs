//! Which pages are fetched to be written: what is known only after the step that fetches them.

use std::collections::VecDeque;

use farside_trace::tape::{Step, StepKind};

use super::foresight::Foresight;
use super::pages::{MOST_PAGES, Pages};

/// Steps that are held back at most. A page that stays longer before it is written counts as one that is not.
const HELD: usize = 1 << 20;

/// The steps of a plan, held back until it is known which of the pages are written before they leave.
///
/// It needs 4 bytes and an eighth for each page of the trace, once one is fetched, and 4 for each step that is held back.
#[derive(Debug, Default)]
pub(super) struct Steps {
    held: VecDeque<Held>,
    /// Steps before the first of these.
    given: u64,
    /// By number of the page, a bit each: whether its fetch is held back, and may still be one to write.
    open: Vec<u64>,
    /// By number of the page: the lower half of the number of the step that fetched it.
    fetched: Vec<u32>,
    /// Numbers of evictions of pages that are known by the record that uses them next, and the numbers of these records.
    by_next: Vec<(u64, u32)>,
}

/// What happens, to the page of which number.
#[derive(Copy, Clone, Debug)]
struct Held(u32);

/// Bits of a page's number.
const PAGE_BITS: u32 = MOST_PAGES.trailing_zeros();

impl Held {
    #[inline]
    const fn new(kind: StepKind, page: u32) -> Self {
        Self((kind.number() as u32) << PAGE_BITS | page)
    }

    #[inline]
    const fn page(self) -> u32 {
        self.0 % MOST_PAGES
    }

    #[inline]
    const fn kind(self) -> StepKind {
        StepKind::ALL[(self.0 >> PAGE_BITS) as usize]
    }
}

impl Steps {
    /// Adds a step about the page of that number.
    #[inline]
    pub fn push(&mut self, kind: StepKind, page: u32) {
        match kind {
            StepKind::Fetch => self.begin(page),
            // A fetch that is held back is one of before the page left.
            _ => _ = self.close(page),
        }
        self.held.push_back(Held::new(kind, page));
    }

    /// Adds the eviction of the page that record `next` uses.
    #[inline]
    pub fn push_evicted_before(&mut self, next: u32) {
        self.by_next.push((self.next_number(), next));
        self.held.push_back(Held::new(StepKind::Evict, 0));
    }

    /// Notes that a page that is resident is written.
    #[inline]
    pub fn wrote(&mut self, page: u32) {
        if self.close(page) {
            let back = (self.next_number() as u32).wrapping_sub(self.fetched[page as usize]);
            let at = self.held.len() - back as usize;
            self.held[at] = Held::new(StepKind::FetchToWrite, page);
        }
    }

    /// Finds out of which pages the evictions are that were added since the last time. They are looked up together: a
    /// processor waits for many places in memory no longer than for one.
    pub fn resolve(&mut self, foresight: &Foresight) {
        let mut by_next = std::mem::take(&mut self.by_next);
        for (number, next) in &by_next {
            let page = foresight.record(*next as usize).page();
            self.held[(number - self.given) as usize] = Held::new(StepKind::Evict, page);
        }
        for (number, _) in by_next.drain(..) {
            let page = self.held[(number - self.given) as usize].page();
            // It may have come again meanwhile.
            if self.is_open(page) && self.age(page, number) > 0 {
                self.close(page);
            }
        }
        self.by_next = by_next;
    }

    /// Appends the steps of which everything is known, `all` at the end, to `steps`.
    pub fn give(&mut self, all: bool, pages: &Pages, steps: &mut Vec<Step>) {
        loop {
            let known = if all { self.held.len() } else { self.known() };
            self.given += known as u64;
            steps.reserve(known);
            let step = |held: Held| Step { kind: held.kind(), page: pages.page(held.page()) };
            self.held.iter().take(known).for_each(|held| steps.push(step(*held)));
            self.held.drain(..known);
            match self.held.front() {
                Some(held) if self.held.len() > HELD => _ = self.close(held.page()),
                _ => return,
            }
        }
    }

    /// How many steps come before the first fetch that may still be one to write.
    fn known(&self) -> usize {
        let waits = |(held, number): (&Held, u64)| {
            let page = held.page();
            held.kind() == StepKind::Fetch && self.is_open(page) && self.age(page, number) == 0
        };
        self.held.iter().zip(self.given..).position(waits).unwrap_or(self.held.len())
    }

    fn next_number(&self) -> u64 {
        self.given + self.held.len() as u64
    }

    /// How many steps before step `number` an open page was fetched; negative if it was after that.
    fn age(&self, page: u32, number: u64) -> i32 {
        (number as u32).wrapping_sub(self.fetched[page as usize]) as i32
    }

    #[inline]
    fn is_open(&self, page: u32) -> bool {
        self.open.get(page as usize / 64).is_some_and(|bits| bits >> (page % 64) & 1 == 1)
    }

    fn begin(&mut self, page: u32) {
        if self.fetched.len() <= page as usize {
            let pages = (page as usize + 1).next_power_of_two();
            self.fetched.resize(pages, 0);
            self.open.resize(pages.div_ceil(64), 0);
        }
        self.open[page as usize / 64] |= 1 << (page % 64);
        self.fetched[page as usize] = self.next_number() as u32;
    }

    /// Whether a page's fetch may have been one to write until now.
    #[inline]
    fn close(&mut self, page: u32) -> bool {
        let open = self.is_open(page);
        if open {
            self.open[page as usize / 64] &= !(1 << (page % 64));
        }
        open
    }
}
