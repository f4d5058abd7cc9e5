//! Which pages are fetched to be written: what is known only after the step that fetches them.

use std::collections::VecDeque;

use farside_trace::tape::{Step, StepKind};

use super::foresight::Foresight;
use super::pages::Pages;

/// Steps that are held back at most. A page that stays longer before it is written counts as one that is not.
const HELD: usize = 1 << 20;

/// The steps of a plan, held back until it is known which of the pages are written before they leave.
///
/// It needs an eighth of a byte for each page of the trace and 4 bytes more if any is fetched, and 8 for each step that is
/// held back.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// What happens, to the page of which number.
    held: VecDeque<(StepKind, u32)>,
    /// Steps before the first of these.
    given: u64,
    /// By number of the page, a bit each: whether its fetch is held back, and may still be one to write.
    open: Vec<u64>,
    /// By number of the page: the lower half of the number of the step that fetched it.
    fetched: Vec<u32>,
    /// Numbers of evictions of pages that are known by the record that uses them next.
    by_next: Vec<u64>,
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
        self.held.push_back((kind, page));
    }

    /// Adds the eviction of the page that record `next` uses.
    #[inline]
    pub fn push_evicted_before(&mut self, next: u32) {
        self.by_next.push(self.next_number());
        self.held.push_back((StepKind::Evict, next));
    }

    /// Notes that a page that is resident is written.
    #[inline]
    pub fn wrote(&mut self, page: u32) {
        if self.close(page) {
            let back = (self.next_number() as u32).wrapping_sub(self.fetched[page as usize]);
            let at = self.held.len() - back as usize;
            self.held[at].0 = StepKind::FetchToWrite;
        }
    }

    /// Finds out of which pages the evictions are that were added since the last time. They are looked up together: a
    /// processor waits for many places in memory no longer than for one.
    pub fn resolve(&mut self, foresight: &Foresight) {
        let mut by_next = std::mem::take(&mut self.by_next);
        for number in &by_next {
            let page = &mut self.held[(number - self.given) as usize].1;
            *page = foresight.record(*page as usize).page();
        }
        for number in by_next.drain(..) {
            let page = self.held[(number - self.given) as usize].1;
            // It may have come again meanwhile.
            if self.is_open(page) && self.age(page, number) > 0 {
                self.close(page);
            }
        }
        self.by_next = by_next;
    }

    /// Appends the steps of which everything is known, `all` at the end, to `steps`.
    pub fn give(&mut self, all: bool, pages: &Pages, steps: &mut Vec<Step>) {
        while let Some(&(kind, page)) = self.held.front() {
            let waits =
                kind == StepKind::Fetch && self.is_open(page) && self.age(page, self.given) == 0;
            if waits {
                if !all && self.held.len() <= HELD {
                    return;
                }
                self.close(page);
            }
            self.held.pop_front();
            self.given += 1;
            steps.push(Step { kind, page: pages.page(page) });
        }
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
