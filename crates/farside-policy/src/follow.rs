//! Following a tape (3PO, section 3.3): where on it a thread is, what to fetch ahead of it, and what to evict
//! behind it.
//!
//! The thread tells its place by its faults. Of the pages that are fetched ahead, one in each batch, the *key
//! page*, is left unmapped, so that its use is a fault; the first use of new memory is one anyway. Pages that the
//! plan gives up are evicted once the thread has passed the place from which it does not need them.

use std::collections::{HashMap, HashSet, VecDeque};

use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind};

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

/// Faults in a row, but for a few, that are not on the tape, until it is taken to be wrong.
const PATIENCE: u32 = 64;

/// So many times more steps are searched for a thread that has left the tape.
const LOST_SEARCH: usize = 8;

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
    /// Number of the step.
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

/// Pages that are to leave, in this order.
#[derive(Debug, Default)]
struct Leaving {
    order: VecDeque<PageId>,
    pages: HashSet<PageId>,
}

impl Leaving {
    fn push(&mut self, page: PageId) {
        if self.pages.insert(page) {
            self.order.push_back(page);
        }
    }

    /// The page stays; whether it was to leave.
    fn cancel(&mut self, page: PageId) -> bool {
        self.pages.remove(&page)
    }

    fn pop(&mut self) -> Option<PageId> {
        while let Some(page) = self.order.pop_front() {
            if self.pages.remove(&page) {
                return Some(page);
            }
        }
        None
    }

    fn clear(&mut self) {
        self.order.clear();
        self.pages.clear();
    }
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
    known: HashMap<PageId, (u64, u64)>,
    /// Pages that the thread has left behind.
    behind: Leaving,
    /// Pages that the plan has resident at the thread's place.
    planned: HashSet<PageId>,
    /// Pages that are here although the plan does not have them.
    strays: Leaving,
    /// A place further down where the thread may be, and for how many faults.
    sighted: (u64, u32),
    /// Pages ordered since the last key page.
    since_key: usize,
    /// Faults that the tape did not expect, less those that it did.
    strange: u32,
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
            known: HashMap::new(),
            behind: Leaving::default(),
            planned: HashSet::new(),
            strays: Leaving::default(),
            sighted: (0, 0),
            since_key: 0,
            strange: 0,
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
        let comes = self.known.get(&page).map(|(first, _)| *first).filter(|first| {
            self.window[(first - self.place) as usize].step.kind != StepKind::Evict
        });
        let met = match comes {
            Some(number) if self.is_there(number) => {
                self.pass(number);
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
        let near = (2 * (self.options.lookahead + self.options.batch)) as u64;
        if !self.lost && number <= self.place + self.ordered as u64 + near {
            self.sighted = (0, 0);
            return true;
        }
        let (last, times) = self.sighted;
        let again = number > last && number - last <= near;
        self.sighted = (number, if again { times + 1 } else { 1 });
        self.sighted.1 >= if self.lost { REGAINED } else { CONFIRMED }
    }

    fn judge(&mut self, met: Met) {
        match met {
            Met::Here => {
                self.strange = self.strange.saturating_sub(2);
                self.lost = false;
            }
            Met::Early => {}
            Met::Unknown => {
                self.strange = (self.strange + 1).min(PATIENCE);
                if self.strange == PATIENCE && !self.lost {
                    self.lost = true;
                    self.tally.lost += 1;
                    self.behind.clear();
                    self.strays.clear();
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
                    if !self.lost && !entry.cancelled {
                        self.behind.push(page);
                    }
                }
                StepKind::Touch | StepKind::Fetch => {
                    self.planned.insert(page);
                    self.behind.cancel(page);
                    self.strays.cancel(page);
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
    /// ahead.
    pub fn expects(&self, page: PageId) -> bool {
        let ordered = |(first, _): &(u64, u64)| {
            let at = (first - self.place) as usize;
            at < self.ordered && self.window[at].step.kind != StepKind::Evict
        };
        self.planned.contains(&page) || self.known.get(&page).is_some_and(ordered)
    }

    /// A page that is here although the plan has no room for it.
    pub fn next_stray(&mut self) -> Option<PageId> {
        self.strays.pop()
    }

    /// Whether the next batch is to be fetched, if the tape has one.
    pub fn is_due(&self) -> bool {
        let FollowOptions { batch, lookahead, .. } = self.options;
        !self.lost
            && self.ahead + batch.min(lookahead) <= lookahead
            && self.ordered < self.window.len()
    }

    /// A page to fetch, if one is to be fetched now; `tape` continues the tape.
    pub fn next_fetch(&mut self, tape: &mut impl Iterator<Item = Step>) -> Option<Fetch> {
        while !self.lost && self.ahead < self.options.lookahead {
            self.read(tape);
            let entry = self.window.get(self.ordered)?;
            let Step { kind, page } = entry.step;
            let number = self.place + self.ordered as u64;
            self.ordered += 1;
            self.ahead += usize::from(kind != StepKind::Evict);
            if kind == StepKind::Fetch {
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
                return Some(Fetch { page, key, number });
            }
        }
        None
    }

    /// There was no room for the page of step `number`, nor for those after it: they are to be fetched later.
    pub fn take_back(&mut self, number: u64) {
        let at = number.saturating_sub(self.place) as usize;
        while self.ordered > at {
            self.ordered -= 1;
            let gives_up = self.window[self.ordered].step.kind == StepKind::Evict;
            self.ahead -= usize::from(!gives_up);
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
mod tests {
    use super::*;

    const OPTIONS: FollowOptions = FollowOptions { batch: 3, lookahead: 5, search: 64 };

    fn step(kind: StepKind, page: u64) -> Step {
        Step { kind, page: PageId(page) }
    }

    const fn page(page: u64) -> PageId {
        PageId(page)
    }

    /// Pages 0 to 19 are touched, and then used once more, with room for ten of them.
    fn tape() -> Vec<Step> {
        let uses = (0..20).map(|page| (StepKind::Touch, page));
        let uses = uses.chain((0..20).map(|page| (StepKind::Fetch, page)));
        let mut steps = Vec::new();
        for (number, (kind, page)) in uses.enumerate() {
            if number >= 10 {
                steps.push(step(StepKind::Evict, (page + 10) % 20));
            }
            steps.push(step(kind, page));
        }
        steps
    }

    /// What is to be fetched now: pages, and whether each is a key page.
    fn fetches(follower: &mut Follower, tape: &mut impl Iterator<Item = Step>) -> Vec<(u64, bool)> {
        let next = || follower.next_fetch(tape).map(|fetch| (fetch.page.0, fetch.key));
        std::iter::from_fn(next).collect()
    }

    fn evictions(follower: &mut Follower) -> Vec<u64> {
        std::iter::from_fn(|| follower.next_eviction()).map(|page| page.0).collect()
    }

    #[test]
    fn pages_are_ordered_ahead_and_evicted_behind() {
        let mut tape = tape().into_iter();
        let mut follower = Follower::new(OPTIONS);
        for page in 0..20 {
            assert_eq!(follower.fault(PageId(page), &mut tape), Met::Here);
        }
        assert_eq!(evictions(&mut follower), (0..10).collect::<Vec<_>>());
        let ahead = [(0, false), (1, false), (2, true), (3, false), (4, false)];
        assert_eq!(fetches(&mut follower, &mut tape), ahead);
        // What comes after the last use that was seen may still be in use.
        assert!(evictions(&mut follower).is_empty());
        assert_eq!([19, 4, 5, 0].map(|p| follower.expects(page(p))), [true, true, false, true]);
        // The key page tells that all before it was used.
        assert_eq!(follower.fault(page(2), &mut tape), Met::Here);
        assert_eq!(evictions(&mut follower), [10, 11, 12]);
        assert_eq!(fetches(&mut follower, &mut tape), [(5, true), (6, false), (7, false)]);
    }

    #[test]
    fn a_page_that_comes_again_soon_does_not_go() {
        let mut tape = tape().into_iter();
        let mut follower = Follower::new(OPTIONS);
        for page in 0..20 {
            follower.fault(PageId(page), &mut tape);
        }
        // They have not been evicted yet.
        assert_eq!(fetches(&mut follower, &mut tape), []);
        assert_eq!(evictions(&mut follower), [5, 6, 7, 8, 9]);
    }

    #[test]
    fn what_finds_no_room_is_fetched_later() {
        let mut tape = (0..20).map(|page| step(StepKind::Fetch, page));
        let mut follower = Follower::new(OPTIONS);
        let pages = |fetches: Vec<(u64, bool)>| fetches.into_iter().map(|(page, _)| page);
        assert!(pages(fetches(&mut follower, &mut tape)).eq(0..5));
        follower.take_back(3);
        assert!(pages(fetches(&mut follower, &mut tape)).eq(3..5));
        follower.fault(page(2), &mut tape);
        follower.take_back(0);
        assert!(pages(fetches(&mut follower, &mut tape)).eq(3..8));
    }

    #[test]
    fn what_happens_on_the_way_is_counted() {
        let mut tape = tape().into_iter();
        let mut follower = Follower::new(OPTIONS);
        for page in 0..20 {
            follower.fault(PageId(page), &mut tape);
            evictions(&mut follower);
        }
        let passed = Tally { steps: 30, ..Tally::default() };
        assert_eq!((follower.take_tally(), follower.place()), (passed, 30));
        assert_eq!(follower.take_tally(), Tally::default());
        // Pages 2, 5, 8 and 11 are key pages; the thread is seen at 2, and then beyond the others.
        fetches(&mut follower, &mut tape);
        follower.fault(page(2), &mut tape);
        fetches(&mut follower, &mut tape);
        follower.fault(page(6), &mut tape);
        let tally = follower.take_tally();
        assert_eq!((tally.keys_met, tally.keys_missed), (1, 1));
        evictions(&mut follower);
        fetches(&mut follower, &mut tape);
        // Page 11 cannot be one, and is not missed.
        follower.key_failed();
        follower.fault(page(12), &mut tape);
        let tally = follower.take_tally();
        assert_eq!((tally.keys_met, tally.keys_missed, tally.lost), (0, 1, 0));
    }

    #[test]
    fn a_page_that_left_early_says_nothing_of_the_place() {
        let mut tape = tape().into_iter();
        let mut follower = Follower::new(OPTIONS);
        for page in 0..10 {
            follower.fault(PageId(page), &mut tape);
        }
        let place = follower.place();
        // Steps 10 and following say when it goes.
        assert_eq!(follower.fault(page(7), &mut tape), Met::Early);
        assert_eq!(follower.place(), place);
        assert_eq!(follower.next_stray(), None);
    }

    #[test]
    fn a_page_that_is_not_planned_goes_when_room_is_needed_or_stays_if_it_is_fetched_soon() {
        let mut tape = (0..200).map(|page| step(StepKind::Fetch, page));
        let mut follower = Follower::new(OPTIONS);
        assert_eq!(follower.fault(page(9_000), &mut tape), Met::Unknown);
        // Far ahead: a single fault is no reason to leave out all that lies between.
        assert_eq!(follower.fault(page(60), &mut tape), Met::Unknown);
        assert_eq!(follower.place(), 0);
        assert_eq!(follower.next_stray(), Some(page(9_000)));
        assert_eq!(follower.fault(page(58), &mut tape), Met::Unknown);
        assert_eq!(follower.fault(page(16), &mut tape), Met::Here);
        assert!(fetches(&mut follower, &mut tape).into_iter().map(|(page, _)| page).eq(17..22));
        assert_eq!(follower.fault(page(19), &mut tape), Met::Here);
        for place in [25, 36, 47] {
            assert_eq!(follower.fault(page(place), &mut tape), Met::Here);
            fetches(&mut follower, &mut tape);
        }
        assert_eq!(follower.fault(page(55), &mut tape), Met::Here);
        // Page 58 stays, since it comes soon; and so did page 60.
        let soon = fetches(&mut follower, &mut tape).into_iter().map(|(page, _)| page);
        assert!(soon.eq([56, 57, 59]));
        assert_eq!(follower.next_stray(), None);
    }

    #[test]
    fn a_thread_that_is_seen_further_down_again_and_again_is_there() {
        let mut tape = (0..200).map(|page| step(StepKind::Fetch, page));
        let mut follower = Follower::new(OPTIONS);
        for (seen, place) in [(50, 0), (52, 0), (55, 0), (56, 57)] {
            follower.fault(page(seen), &mut tape);
            assert_eq!(follower.place(), place);
        }
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
        assert_eq!(follower.take_tally(), Tally { lost: 1, ..Tally::default() });
        assert_eq!(follower.next_fetch(&mut tape), None);
        for page in 20..20 + u64::from(REGAINED) {
            assert!(follower.is_lost());
            follower.fault(PageId(page), &mut tape);
        }
        assert!(!follower.is_lost());
    }

    #[test]
    fn a_lost_thread_is_looked_for_far_down_the_tape() {
        let mut tape = (0..1000).map(|page| step(StepKind::Touch, page));
        let mut follower = Follower::new(OPTIONS);
        for page in 5000..5000 + u64::from(PATIENCE) {
            follower.fault(PageId(page), &mut tape);
        }
        for page in 400..400 + u64::from(REGAINED) {
            assert!(follower.is_lost());
            follower.fault(PageId(page), &mut tape);
        }
        assert_eq!((follower.is_lost(), follower.place()), (false, 400 + u64::from(REGAINED)));
    }
}
