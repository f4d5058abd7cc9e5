//! Following a tape (3PO, section 3.3): where on it a thread is, what to fetch ahead of it, and what to evict
//! behind it.
//!
//! The thread tells its place by its faults. Of the pages that are fetched ahead, one in each batch, the *key
//! page*, is left unmapped, so that its use is a fault; the first use of new memory is one anyway. Pages that the
//! plan gives up are evicted once the thread has passed the place from which it does not need them.

use std::collections::{HashMap, VecDeque};

use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind};

/// How a tape is followed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FollowOptions {
    /// Pages fetched from one key page to the next.
    pub batch: usize,
    /// Pages that are to be here or on their way before the thread comes to them.
    pub lookahead: usize,
    /// Steps from the thread's place on, among which the page of a fault is looked for.
    pub search: usize,
}

/// Faults in a row, but for a few, that are not on the tape, until it is taken to be wrong.
const PATIENCE: u32 = 64;

/// Faults in a row that are where the tape says, until it is taken to be right again.
const REGAINED: u32 = 8;

/// What a fault says of the thread's place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Met {
    /// The thread is there.
    Here,
    /// The page should have been resident: it left too early, and says nothing of the place.
    Early,
    /// The tape does not expect it.
    Unknown,
}

/// What to do next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// The page is not needed for now.
    Evict(PageId),
    /// The page will be needed; a key page is to stay unmapped.
    Fetch {
        /// Which page.
        page: PageId,
        /// Whether it is a key page.
        key: bool,
    },
}

/// A step that is not passed yet.
#[derive(Copy, Clone, Debug)]
struct Entry {
    step: Step,
    /// Number of the next step about the same page, if one is known.
    next: Option<u64>,
    /// An eviction that is not worth it: the page is fetched again before the thread is there.
    cancelled: bool,
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
    /// Pages to fetch among these.
    ahead: usize,
    /// Numbers of the first and the last known step about a page.
    known: HashMap<PageId, (u64, u64)>,
    /// Pages that the thread has left behind.
    behind: VecDeque<PageId>,
    /// Pages ordered since the last key page.
    since_key: usize,
    /// Faults that the tape did not expect, less those that it did.
    strange: u32,
    lost: bool,
    /// While lost: faults in a row where the tape says.
    regained: u32,
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
            known: HashMap::new(),
            behind: VecDeque::new(),
            since_key: 0,
            strange: 0,
            lost: false,
            regained: 0,
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

    /// Reads steps until the window is full or the tape ends.
    fn read(&mut self, tape: &mut impl Iterator<Item = Step>) {
        while self.window.len() < self.options.search.max(self.ordered + 1) {
            let Some(step) = tape.next() else { return };
            let number = self.place + self.window.len() as u64;
            let (_, last) = self.known.entry(step.page).or_insert((number, number));
            if *last != number {
                let before = (*last - self.place) as usize;
                self.window[before].next = Some(number);
                *last = number;
            }
            self.window.push_back(Entry { step, next: None, cancelled: false });
        }
    }

    /// The thread faulted on a page; `tape` continues it.
    pub fn fault(&mut self, page: PageId, tape: &mut impl Iterator<Item = Step>) -> Met {
        self.read(tape);
        let met = match self.known.get(&page) {
            None => Met::Unknown,
            Some(&(first, _)) => match self.window[(first - self.place) as usize].step.kind {
                StepKind::Evict => Met::Early,
                StepKind::Touch | StepKind::Fetch => {
                    self.pass(first);
                    Met::Here
                }
            },
        };
        self.judge(met);
        met
    }

    fn judge(&mut self, met: Met) {
        match met {
            Met::Here => {
                self.strange = self.strange.saturating_sub(2);
                self.regained += 1;
                self.lost &= self.regained < REGAINED;
            }
            Met::Early => {}
            Met::Unknown => {
                self.regained = 0;
                self.strange = (self.strange + 1).min(PATIENCE);
                if self.strange == PATIENCE && !self.lost {
                    self.lost = true;
                    self.behind.clear();
                }
            }
        }
    }

    /// The thread is at step `number`: it has done all before, and that one.
    fn pass(&mut self, number: u64) {
        while self.place <= number
            && let Some(entry) = self.window.pop_front()
        {
            let page = entry.step.page;
            match entry.next {
                Some(next) => {
                    if let Some((first, _)) = self.known.get_mut(&page) {
                        *first = next;
                    }
                }
                None => _ = self.known.remove(&page),
            }
            match entry.step.kind {
                StepKind::Evict if !self.lost && !entry.cancelled => self.behind.push_back(page),
                StepKind::Fetch if self.ordered > 0 => self.ahead -= 1,
                _ => {}
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

    /// What to do next, if anything is to be done now; `tape` continues it. `room` says whether there is any for
    /// another page.
    ///
    /// What the plan gives up right behind the thread's place may still be in use, until the thread is seen
    /// further down: the uses of pages that are here are not on the tape. It goes only if there is no room.
    pub fn next(&mut self, tape: &mut impl Iterator<Item = Step>, room: bool) -> Option<Order> {
        if self.lost {
            return None;
        }
        let given_up = |entry: &Entry| entry.step.kind == StepKind::Evict;
        while self.behind.is_empty() && !room {
            self.read(tape);
            if !self.window.front().is_some_and(given_up) {
                break;
            }
            self.pass(self.place);
        }
        if let Some(page) = self.behind.pop_front() {
            return Some(Order::Evict(page));
        }
        if !room {
            return None;
        }
        while self.ahead < self.options.lookahead {
            self.read(tape);
            let entry = self.window.get(self.ordered)?;
            let Step { kind, page } = entry.step;
            let number = self.place + self.ordered as u64;
            self.ordered += 1;
            if kind == StepKind::Fetch {
                self.ahead += 1;
                if self.cancel_eviction(number, page) {
                    continue;
                }
                self.since_key += 1;
                let key = self.since_key >= self.options.batch;
                if key {
                    self.since_key = 0;
                }
                return Some(Order::Fetch { page, key });
            }
        }
        None
    }

    /// A key page could not be left unmapped: the next page will be one.
    pub fn key_failed(&mut self) {
        self.since_key = self.options.batch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: FollowOptions = FollowOptions { batch: 3, lookahead: 5, search: 64 };

    fn step(kind: StepKind, page: u64) -> Step {
        Step { kind, page: PageId(page) }
    }

    fn fetch(page: u64, key: bool) -> Order {
        Order::Fetch { page: PageId(page), key }
    }

    /// Pages 0 to 19 are touched; then each is fetched again, and evicted three steps later.
    fn tape() -> Vec<Step> {
        let mut steps: Vec<Step> = (0..20).map(|page| step(StepKind::Touch, page)).collect();
        steps.extend((0..20).map(|page| step(StepKind::Evict, page)));
        for page in 0..20 {
            steps.push(step(StepKind::Fetch, page));
            if page >= 3 {
                steps.push(step(StepKind::Evict, page - 3));
            }
        }
        steps
    }

    fn orders(follower: &mut Follower, tape: &mut impl Iterator<Item = Step>) -> Vec<Order> {
        std::iter::from_fn(|| follower.next(tape, true)).collect()
    }

    #[test]
    fn pages_are_ordered_ahead_and_evicted_behind() {
        let mut tape = tape().into_iter();
        let mut follower = Follower::new(OPTIONS);
        // They are still here: there is nothing to evict, and nothing to fetch.
        assert_eq!(orders(&mut follower, &mut tape), []);
        for page in 0..20 {
            assert_eq!(follower.fault(PageId(page), &mut tape), Met::Here);
        }
        // What comes after the last use that was seen goes only if there is no room.
        assert_eq!(orders(&mut follower, &mut tape), []);
        assert_eq!(follower.next(&mut tape, false), Some(Order::Evict(PageId(5))));
        assert_eq!(follower.fault(PageId(5), &mut tape), Met::Here);
        let mut expected: Vec<Order> = (6..20).map(|page| Order::Evict(PageId(page))).collect();
        expected.push(Order::Evict(PageId(0)));
        expected.push(Order::Evict(PageId(1)));
        let ahead = [(6, false), (7, false), (8, true), (9, false), (10, false)];
        expected.extend(ahead.map(|(page, key)| fetch(page, key)));
        assert_eq!(orders(&mut follower, &mut tape), expected);
        // The key page tells that all before it was used.
        assert_eq!(follower.fault(PageId(8), &mut tape), Met::Here);
        expected = (2..5).map(|page| Order::Evict(PageId(page))).collect();
        expected.extend([fetch(11, true), fetch(12, false), fetch(13, false)]);
        assert_eq!(orders(&mut follower, &mut tape), expected);
    }

    #[test]
    fn a_page_that_left_early_says_nothing_of_the_place() {
        let mut tape = tape().into_iter();
        let mut follower = Follower::new(OPTIONS);
        for page in 0..10 {
            follower.fault(PageId(page), &mut tape);
        }
        let place = follower.place();
        assert_eq!(follower.fault(PageId(7), &mut tape), Met::Early);
        assert_eq!(follower.place(), place);
    }

    #[test]
    fn a_program_that_does_something_else_is_left_alone_until_it_comes_back() {
        let steps: Vec<Step> = (0..1000).map(|page| step(StepKind::Touch, page)).collect();
        let mut tape = steps.into_iter();
        let mut follower = Follower::new(OPTIONS);
        for page in 5000..5000 + u64::from(PATIENCE) {
            assert!(!follower.is_lost());
            assert_eq!(follower.fault(PageId(page), &mut tape), Met::Unknown);
        }
        assert!(follower.is_lost());
        assert_eq!(follower.next(&mut tape, true), None);
        for page in 20..20 + u64::from(REGAINED) {
            assert!(follower.is_lost());
            follower.fault(PageId(page), &mut tape);
        }
        assert!(!follower.is_lost());
    }
}
