//! Plans by Belady's MIN: fetches and evictions with the whole trace in view (IBM Systems Journal, 1966).

use std::collections::VecDeque;
use std::ops::Range;

use farside_trace::tape::{Step, StepKind};

use super::foresight::Foresight;
use super::pages::Pages;
use crate::next_use::NEVER;
use crate::times::Times;

/// Dead pages that need not be counted.
const FEW: usize = 1 << 10;

/// One thread's memory under MIN, in the order of its records.
///
/// A page that misses is let in (forced insertion), in the place of a page whose content nobody needs any
/// more, or else of the one that is used last. What the current microset has used stays until the
/// microset is over, because the trace does not tell for how long it is used.
///
/// As in [`belady`](crate::belady) resident pages are bits, one for each time of a next use.
#[derive(Debug)]
pub(super) struct MinPlan {
    capacity: usize,
    microset: usize,
    /// After the last record of the current microset.
    microset_end: usize,
    resident: usize,
    /// Next uses of the resident pages that may be evicted.
    times: Times,
    /// Those of the pages that the current microset has used.
    held: Vec<u32>,
    dead: DeadPages,
    /// Discards that were taken in.
    discards: usize,
}

impl MinPlan {
    /// An empty memory of `capacity` pages, before `records` records. Microsets of which two do not fit are
    /// not regarded.
    pub fn new(capacity: usize, microset: usize, records: usize, pages: usize) -> Self {
        let microset = if microset.saturating_mul(2) <= capacity { microset.max(1) } else { 1 };
        Self {
            capacity,
            microset,
            microset_end: microset,
            resident: 0,
            times: Times::new(records),
            held: Vec::new(),
            dead: DeadPages::new(pages),
            discards: 0,
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
            (now..until).for_each(|now| self.record(now, foresight, pages, steps));
            now = now.max(until);
            if let Some(discard) = discard.filter(|discard| discard.at as usize == now) {
                self.discards += 1;
                let dead = &mut self.dead;
                let gone = pages.numbers_in(discard.range).filter(|page| dead.forget(*page));
                self.resident -= gone.count();
            }
        }
    }

    #[inline]
    fn record(&mut self, now: usize, foresight: &Foresight, pages: &Pages, steps: &mut Vec<Step>) {
        let record = foresight.record(now);
        if !self.times.take(now) {
            if self.resident == self.capacity {
                self.evict(foresight, pages, steps);
            }
            self.resident += 1;
            let kind = if record.first() { StepKind::Touch } else { StepKind::Fetch };
            steps.push(Step { kind, page: pages.page(record.page()) });
        }
        let next = record.next;
        if next == NEVER {
            self.dead.add(record.page(), now as u32);
        } else if (next as usize) < self.microset_end {
            self.times.put(next as usize);
        } else {
            self.held.push(next);
        }
        if now + 1 == self.microset_end {
            self.microset_end += self.microset;
            self.held.drain(..).for_each(|time| self.times.put(time as usize));
            self.dead.let_go();
        }
    }

    fn evict(&mut self, foresight: &Foresight, pages: &Pages, steps: &mut Vec<Step>) {
        let victim = self.dead.pop().or_else(|| {
            let last = self.times.last()?;
            self.times.take(last);
            Some(foresight.record(last).page())
        });
        if let Some(victim) = victim {
            self.resident -= 1;
            steps.push(Step { kind: StepKind::Evict, page: pages.page(victim) });
        }
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
    /// Those that the current microset has used.
    held: Vec<(u32, u32)>,
    count: usize,
}

impl DeadPages {
    fn new(pages: usize) -> Self {
        Self { since: vec![NEVER; pages], free: VecDeque::new(), held: Vec::new(), count: 0 }
    }

    fn add(&mut self, page: u32, now: u32) {
        self.since[page as usize] = now;
        self.count += 1;
        self.held.push((page, now));
    }

    /// The current microset is over.
    fn let_go(&mut self) {
        self.free.extend(self.held.drain(..));
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
