//! Following a tape (3PO, section 3.3): where on it a thread is, what to fetch ahead of it, and what to evict
//! behind it.
//!
//! The thread tells its place by its faults. Of the pages that are fetched ahead, one in each batch, the *key
//! page*, is left unmapped, so that its use is a fault; the first use of new memory is one anyway. Pages that the
//! plan gives up are evicted once the thread has passed the place from which it does not need them.

mod leaving;

use std::collections::VecDeque;

use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind};
use leaving::Leaving;
use rustc_hash::{FxHashMap, FxHashSet};

/// How a tape is followed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FollowOptions {
    /// Pages fetched from one key page to the next.
    pub batch: usize,
    /// Pages that are to be here or on their way before the thread comes to them, those that it uses for the
    /// first time included.
    pub lookahead: usize,
    /// Steps from the thread's place on, among which the page of a fault is looked for.
    pub search: usize,
}

/// Faults in a row, but for a few, that are not on the tape, until it is taken to be wrong; or faults on pages that it
/// does not know, without any on the tape: most programs use some of these now and then.
const PATIENCE: u32 = 64;

/// So many times more steps are searched for a thread that has left the tape.
const LOST_SEARCH: usize = 32;

/// Faults in a row that are where the tape says, until it is taken to be right again.
const REGAINED: u32 = 8;

/// Faults in a row, each shortly after the one before on the tape, until a thread is taken to be far ahead
/// of where it was seen last. A single one may be a page that left too early.
const CONFIRMED: u32 = 4;

/// What a fault says of the thread's place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Met {
    /// The thread is there.
    Here,
    /// The page should have been resident: it left too early, or has not come in time, and says nothing of
    /// the place.
    Early,
    /// The tape does not expect it now.
    Unknown,
}

/// A page that will be needed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Which page.
    pub page: PageId,
    /// Whether it is a key page, which is to stay unmapped.
    pub key: bool,
    /// Whether the thread will write it.
    pub write: bool,
    /// Number of the step; greater than any if the thread has passed it, so that it is not taken back.
    pub number: u64,
}

/// What has happened on the way along a tape.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps that the thread has passed.
    pub steps: u64,
    /// Key pages that told by a fault where the thread is.
    pub keys_met: u64,
    /// Key pages that the thread passed without a fault.
    pub keys_missed: u64,
    /// How often the thread was taken to have left the tape.
    pub lost: u64,
}

/// A step that is not passed yet.
#[derive(Copy, Clone, Debug)]
struct Entry {
    step: Step,
    /// Number of the next step about the same page, if one is known.
    next: Option<u64>,
    /// An eviction that is not worth it: the page is fetched again before the thread is there.
    cancelled: bool,
    /// Whether the page was ordered as a key page.
    key: bool,
}

/// Follows the tape of one thread.
#[derive(Debug)]
pub struct Follower {
    options: FollowOptions,
    /// The steps from the thread's place on, as far as they are known.
    window: VecDeque<Entry>,
    /// Number of the first of them on the tape.
    place: u64,
    /// How many of them have been acted on: pages to fetch have been ordered.
    ordered: usize,
    /// Pages among these that are used for the first time, or again.
    ahead: usize,
    /// Numbers of the first and the last known step about a page.
    known: FxHashMap<PageId, (u64, u64)>,
    /// Pages that the thread has left behind.
    behind: Leaving,
    /// Pages that the plan has resident at the thread's place.
    planned: FxHashSet<PageId>,
    /// Pages that are here although the plan does not have them.
    strays: Leaving,
    /// Pages that should have been ordered before the thread came to where it is.
    owed: Leaving,
    /// A place further down where the thread may be, and for how many faults.
    sighted: (u64, u32),
    /// Pages ordered since the last key page.
    since_key: usize,
    /// Faults that the tape did not expect, less those that it did.
    strange: u32,
    /// Faults on pages that the tape does not know, since the thread was seen on it.
    elsewhere: u32,
    lost: bool,
    tally: Tally,
}

impl Follower {
    /// At the beginning of a tape.
    pub fn new(options: FollowOptions) -> Self {
        Self {
            options,
            window: VecDeque::new(),
            place: 0,
            ordered: 0,
            ahead: 0,
            known: FxHashMap::default(),
            behind: Leaving::default(),
            planned: FxHashSet::default(),
            strays: Leaving::default(),
            owed: Leaving::default(),
            sighted: (0, 0),
            since_key: 0,
            strange: 0,
            elsewhere: 0,
            lost: false,
            tally: Tally::default(),
        }
    }

    /// Whether the thread does what the tape says, as far as is known.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Number of the step that the thread comes to next.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// What has happened since this was called last.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Reads steps until the window is full or the tape ends.
    fn read(&mut self, tape: &mut impl Iterator<Item = Step>) {
        let search =
            if self.lost { LOST_SEARCH * self.options.search } else { self.options.search };
        while self.window.len() < search.max(self.ordered + 1) {
            let Some(step) = tape.next() else { return };
            let number = self.place + self.window.len() as u64;
            let (_, last) = self.known.entry(step.page).or_insert((number, number));
            if *last != number {
                let before = (*last - self.place) as usize;
                self.window[before].next = Some(number);
                *last = number;
            }
            self.window.push_back(Entry { step, next: None, cancelled: false, key: false });
        }
    }

    /// The thread faulted on a page; `tape` continues it.
    pub fn fault(&mut self, page: PageId, tape: &mut impl Iterator<Item = Step>) -> Met {
        self.read(tape);
        self.owed.cancel(page);
        let comes = self.known.get(&page).map(|(first, _)| *first).filter(|first| {
            self.window[(first - self.place) as usize].step.kind != StepKind::Evict
        });
        let met = match comes {
            Some(number) if self.is_there(number) => {
                let owes = self.is_near(number);
                self.pass(number, owes);
                Met::Here
            }
            _ if self.planned.contains(&page) => Met::Early,
            _ => {
                self.strays.push(page);
                Met::Unknown
            }
        };
        self.judge(met);
        met
    }

    /// Whether the thread, which uses the page of step `number`, is there: near where it was seen last, or
    /// seen again and again further down.
    fn is_there(&mut self, number: u64) -> bool {
        if self.is_near(number) {
            self.sighted = (0, 0);
            return true;
        }
        let (last, times) = self.sighted;
        // What is foreseen without the tape may be long stretches, and only one page in each tells of its use.
        let within = if self.lost { self.options.search as u64 } else { self.nearby() };
        let again = number > last && number - last <= within;
        self.sighted = (number, if again { times + 1 } else { 1 });
        self.sighted.1 >= if self.lost { REGAINED } else { CONFIRMED }
    }

    fn is_near(&self, number: u64) -> bool {
        !self.lost && number <= self.place + self.ordered as u64 + self.nearby()
    }

    /// So many steps are no distance.
    fn nearby(&self) -> u64 {
        (2 * (self.options.lookahead + self.options.batch)) as u64
    }

    /// The thread waited for a page of which the tape knows nothing.
    pub fn fault_elsewhere(&mut self) {
        self.elsewhere = (self.elsewhere + 1).min(PATIENCE);
        if self.elsewhere == PATIENCE {
            self.lose();
        }
    }

    fn judge(&mut self, met: Met) {
        match met {
            Met::Here => {
                self.strange = self.strange.saturating_sub(2);
                self.elsewhere = 0;
                if self.lost {
                    self.regain();
                }
            }
            Met::Early => {}
            Met::Unknown => {
                self.strange = (self.strange + 1).min(PATIENCE);
                if self.strange == PATIENCE {
                    self.lose();
                }
            }
        }
    }

    /// The thread is taken to have left the tape: what has been ordered need not be here when it comes back.
    fn lose(&mut self) {
        if self.lost {
            return;
        }
        self.take_back(self.place);
        self.lost = true;
        self.tally.lost += 1;
        self.behind.clear();
        self.strays.clear();
        self.owed.clear();
    }

    /// The thread is back on the tape: what the plan has here is to come again, as far as it has left.
    fn regain(&mut self) {
        self.lost = false;
        // Most programs use neighbours together.
        let mut planned: Vec<_> = self.planned.iter().copied().collect();
        planned.sort_unstable();
        planned.into_iter().for_each(|page| self.owed.push(page));
    }

    /// The thread is at step `number`: it has done all before, and that one. If it `owes`, what it has passed before it
    /// was ordered is still to come: the order of steps that are close together is not exact.
    fn pass(&mut self, number: u64, owes: bool) {
        while self.place <= number
            && let Some(entry) = self.window.pop_front()
        {
            let page = entry.step.page;
            self.tally.steps += 1;
            // Only a fault says that the thread is at a step that fetches.
            self.tally.keys_met += u64::from(entry.key && self.place == number);
            self.tally.keys_missed += u64::from(entry.key && self.place < number);
            match entry.next {
                Some(next) => {
                    if let Some((first, _)) = self.known.get_mut(&page) {
                        *first = next;
                    }
                }
                None => _ = self.known.remove(&page),
            }
            match entry.step.kind {
                StepKind::Evict => {
                    self.planned.remove(&page);
                    self.owed.cancel(page);
                    if !self.lost && !entry.cancelled {
                        self.behind.push(page);
                    }
                }
                StepKind::Touch | StepKind::Fetch | StepKind::FetchToWrite => {
                    self.planned.insert(page);
                    self.behind.cancel(page);
                    self.strays.cancel(page);
                    let is_owed = owes && self.ordered == 0 && self.place < number;
                    if is_owed && entry.step.kind.fetches() {
                        self.owed.push(page);
                    }
                    self.ahead -= usize::from(self.ordered > 0);
                }
            }
            self.ordered = self.ordered.saturating_sub(1);
            self.place += 1;
        }
    }

    /// Cancels the eviction before step `number`, which fetches the same page, if the thread has not passed it;
    /// whether that was so.
    fn cancel_eviction(&mut self, number: u64, page: PageId) -> bool {
        let Some(&(mut at, _)) = self.known.get(&page) else { return false };
        while at < number {
            let entry = &mut self.window[(at - self.place) as usize];
            match entry.next {
                Some(next) if next < number => at = next,
                _ => {
                    entry.cancelled = entry.step.kind == StepKind::Evict;
                    return entry.cancelled;
                }
            }
        }
        false
    }

    /// A page that is not needed for now.
    pub fn next_eviction(&mut self) -> Option<PageId> {
        self.behind.pop()
    }

    /// Whether the page is to be here: the plan has it at the thread's place, or it has been ordered for a place
    /// ahead. None is for a thread that has left the tape.
    pub fn expects(&self, page: PageId) -> bool {
        let ordered = |(first, _): &(u64, u64)| {
            let at = (first - self.place) as usize;
            at < self.ordered && self.window[at].step.kind != StepKind::Evict
        };
        !self.lost && (self.planned.contains(&page) || self.known.get(&page).is_some_and(ordered))
    }

    /// Whether the page, which is here, is to stay: it is [expected](Self::expects), or used for the first time soon.
    pub fn needs(&self, page: PageId) -> bool {
        let touched = |(first, _): &(u64, u64)| {
            self.window[(first - self.place) as usize].step.kind == StepKind::Touch
        };
        self.expects(page) || !self.lost && self.known.get(&page).is_some_and(touched)
    }

    /// How many pages the plan has resident at the thread's place, and on the way to what has been ordered.
    pub fn planned(&self) -> usize {
        if self.lost { 0 } else { self.planned.len() + self.ahead }
    }

    /// A page that is here although the plan has no room for it.
    pub fn next_stray(&mut self) -> Option<PageId> {
        self.strays.pop()
    }

    /// Whether the next batch is to be fetched, if the tape has one.
    pub fn is_due(&self) -> bool {
        let FollowOptions { batch, lookahead, .. } = self.options;
        let is_behind = self.ahead + batch.min(lookahead) <= lookahead;
        !self.lost && (is_behind && self.ordered < self.window.len() || !self.owed.is_empty())
    }

    /// A page to fetch, if one is to be fetched now; `tape` continues the tape.
    pub fn next_fetch(&mut self, tape: &mut impl Iterator<Item = Step>) -> Option<Fetch> {
        if let Some(page) = self.owed.pop() {
            return Some(Fetch { page, key: false, write: false, number: u64::MAX });
        }
        while !self.lost && self.ahead < self.options.lookahead {
            self.read(tape);
            let entry = self.window.get(self.ordered)?;
            let Step { kind, page } = entry.step;
            let number = self.place + self.ordered as u64;
            self.ordered += 1;
            self.ahead += usize::from(kind != StepKind::Evict);
            if kind.fetches() {
                let stays = self.behind.cancel(page) | self.strays.cancel(page);
                if self.cancel_eviction(number, page) || stays {
                    continue;
                }
                self.since_key += 1;
                let key = self.since_key >= self.options.batch;
                if key {
                    self.since_key = 0;
                    self.window[self.ordered - 1].key = true;
                }
                return Some(Fetch { page, key, write: kind == StepKind::FetchToWrite, number });
            }
        }
        None
    }

    /// There was no room for the page of step `number`, nor for those after it: they are to be fetched later.
    pub fn take_back(&mut self, number: u64) {
        let at = number.saturating_sub(self.place) as usize;
        while self.ordered > at {
            self.ordered -= 1;
            let entry = &mut self.window[self.ordered];
            entry.key = false;
            self.ahead -= usize::from(entry.step.kind != StepKind::Evict);
        }
    }

    /// A key page could not be left unmapped: the next page will be one.
    pub fn key_failed(&mut self) {
        self.since_key = self.options.batch;
        let ordered = self.window.iter_mut().take(self.ordered);
        if let Some(last) = ordered.rev().find(|entry| entry.key) {
            last.key = false;
        }
    }
}

#[cfg(test)]
mod tests;
