//! Plans by Belady's MIN: fetches and evictions with the whole trace in view (IBM Systems Journal, 1966).

use std::collections::VecDeque;
use std::ops::Range;

use farside_trace::tape::{Step, StepKind};

use super::foresight::{Foresight, Record};
use super::pages::Pages;
use super::written::Steps;
use crate::next_use::NEVER;
use crate::times::Times;

/// Dead pages that need not be counted.
const FEW: usize = 1 << 10;

/// One thread's memory under MIN, in the order of its records.
///
/// A page that misses is let in (forced insertion), in the place of a page whose content nobody needs any
/// more, or else of the one that is used last. Each record stands for all uses of its page in a microset, and
/// the trace tells neither when the last of these is nor where microsets end that ended early. So a page stays
/// until as many records have followed as a microset has: that is after its end in any case.
///
/// As in [`belady`](crate::belady) resident pages are bits, one for each time of a next use.
#[derive(Debug)]
pub(super) struct MinPlan {
    capacity: usize,
    microset: usize,
    resident: usize,
    /// Next uses of the resident pages that may be evicted, or are used again so soon that they are not.
    times: Times,
    /// Those of the pages that may still be in use, after the records that used them.
    held: VecDeque<(u32, u32)>,
    dead: DeadPages,
    /// Discards that were taken in.
    discards: usize,
    steps: Steps,
}

impl MinPlan {
    /// An empty memory of `capacity` pages, before `records` records. Microsets of which two do not fit are
    /// halved.
    pub fn new(capacity: usize, microset: usize, records: usize, pages: usize) -> Self {
        let mut microset = microset.max(1);
        while microset > 1 && microset.saturating_mul(2) > capacity {
            microset = microset.div_ceil(2);
        }
        Self {
            capacity,
            microset,
            resident: 0,
            times: Times::new(records),
            held: VecDeque::new(),
            dead: DeadPages::new(pages),
            discards: 0,
            steps: Steps::default(),
        }
    }

    /// The records of these numbers, which follow those of the last call and lie in one chunk; appends the
    /// steps that they take to `steps`.
    pub fn run(
        &mut self,
        numbers: Range<usize>,
        foresight: &Foresight,
        pages: &Pages,
        steps: &mut Vec<Step>,
    ) {
        let mut now = numbers.start;
        while now < numbers.end {
            let discard = foresight.discards().get(self.discards);
            let until = discard.map_or(numbers.end, |discard| numbers.end.min(discard.at as usize));
            for (now, record) in (now..until).zip(foresight.records(now..until)) {
                self.record(now, *record);
            }
            now = now.max(until);
            if let Some(discard) = discard.filter(|discard| discard.at as usize == now) {
                self.discards += 1;
                let dead = &mut self.dead;
                let gone = pages.numbers_in(discard.range).filter(|page| dead.forget(*page));
                self.resident -= gone.count();
            }
        }
        self.steps.resolve(foresight);
        self.steps.give(false, pages, steps);
    }

    /// Appends the steps that remain.
    pub fn finish(&mut self, pages: &Pages, steps: &mut Vec<Step>) {
        self.steps.give(true, pages, steps);
    }

    #[inline]
    fn record(&mut self, now: usize, record: Record) {
        self.let_go(now);
        if !self.times.take(now) {
            if self.resident == self.capacity {
                self.evict();
            }
            self.resident += 1;
            self.steps.push(record.kind(), record.page());
        } else if record.write() {
            self.steps.wrote(record.page());
        }
        let next = record.next;
        if next == NEVER {
            self.dead.add(record.page(), now as u32);
        } else if (next as usize) < now + self.microset || self.microset == 1 {
            self.times.put(next as usize);
        } else {
            self.held.push_back((now as u32, next));
        }
    }

    /// Pages that are not in use any more at record `now` may be evicted.
    #[inline]
    fn let_go(&mut self, now: usize) {
        let over = |since: u32| since as usize + self.microset <= now;
        while let Some((since, next)) = self.held.front().copied()
            && over(since)
        {
            self.held.pop_front();
            self.times.put(next as usize);
        }
        self.dead.let_go(over);
    }

    fn evict(&mut self) {
        if let Some(victim) = self.dead.pop() {
            self.steps.push(StepKind::Evict, victim);
        } else if let Some(last) = self.times.last() {
            self.times.take(last);
            self.steps.push_evicted_before(last as u32);
        } else {
            return;
        }
        self.resident -= 1;
    }
}

/// Resident pages whose content nobody uses again.
#[derive(Debug)]
struct DeadPages {
    /// By number of the page: the record that used it last, or [`NEVER`] if it is not among them.
    since: Vec<u32>,
    /// Those that may be evicted, longest dead first, and the record that used each last. Those that left are
    /// among them.
    free: VecDeque<(u32, u32)>,
    /// Those that may still be in use.
    held: VecDeque<(u32, u32)>,
    count: usize,
}

impl DeadPages {
    fn new(pages: usize) -> Self {
        Self { since: vec![NEVER; pages], free: VecDeque::new(), held: VecDeque::new(), count: 0 }
    }

    fn add(&mut self, page: u32, now: u32) {
        self.since[page as usize] = now;
        self.count += 1;
        self.held.push_back((page, now));
    }

    /// Those whose last use is `over` may be evicted.
    #[inline]
    fn let_go(&mut self, over: impl Fn(u32) -> bool) {
        if !self.held.front().is_some_and(|(_, since)| over(*since)) {
            return;
        }
        while let Some((page, since)) = self.held.front().copied()
            && over(since)
        {
            self.held.pop_front();
            self.free.push_back((page, since));
        }
        if self.free.len() > 2 * self.count + FEW {
            self.free.retain(|(page, since)| self.since[*page as usize] == *since);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        while let Some((page, since)) = self.free.pop_front() {
            if self.since[page as usize] == since {
                self.forget(page);
                return Some(page);
            }
        }
        None
    }

    /// Takes a page out; whether it was in.
    fn forget(&mut self, page: u32) -> bool {
        let was = std::mem::replace(&mut self.since[page as usize], NEVER) != NEVER;
        self.count -= usize::from(was);
        was
    }
}
