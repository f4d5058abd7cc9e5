//! Following a tape: pages come before they are used, and go when they are not needed (3PO, section 3.3).
//!
//! The fault path tells the [followers](farside_policy::follow), one for each thread that is on the tape, where
//! the program is, and carries out what they [order](orders).

mod aside;
mod binding;
mod orders;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use farside_policy::follow::{FollowOptions, Follower, Met, Tally};
use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind};
use farside_wire::tape_image::{Action, Image};

use crate::counters::Counters;
use crate::names::{Names, Renamed};
use crate::pager::{Pager, Worker};
use crate::record::Fault;
use crate::threads::Threads;
use crate::word::State;
pub(crate) use aside::Aside;
use binding::Binding;

/// Steps that a thread's place is looked for among.
const SEARCH: usize = 1 << 12;

/// What has a process follow a tape.
pub struct Replay {
    image: Image,
    site: fn() -> u64,
    threads: fn() -> Vec<u32>,
    /// Whether the memory node is to move the pages, if it can.
    aside: bool,
    off: AtomicBool,
    state: Mutex<Followed>,
}

struct Followed {
    names: Names,
    binding: Binding,
    threads: Threads<()>,
    /// By number of the thread.
    tracks: HashMap<usize, Track>,
    /// Pages of the far region that the tape does not know and nobody waited for, in the order in which they were sent
    /// for.
    strangers: VecDeque<u64>,
}

impl Followed {
    /// A page that one thread has left behind, and none needs.
    fn next_eviction(&mut self) -> Option<PageId> {
        self.next_unneeded(Follower::next_eviction)
    }

    /// A page that is here although no thread's plan has it.
    fn next_stray(&mut self) -> Option<PageId> {
        self.next_unneeded(Follower::next_stray)
    }

    /// Whether a page of the far region, which is here, is to stay for some thread.
    fn needs(&self, page: u64) -> bool {
        let on_tape = self.binding.on_tape(page).map(PageId);
        on_tape.is_some_and(|page| self.tracks.values().any(|track| track.follower.needs(page)))
    }

    /// How many pages are here because of the plans, or on their way.
    fn planned(&self) -> usize {
        self.tracks.values().map(|track| track.follower.planned()).sum()
    }

    fn next_unneeded(&mut self, next: impl Fn(&mut Follower) -> Option<PageId>) -> Option<PageId> {
        loop {
            let page = self.tracks.values_mut().find_map(|track| next(&mut track.follower))?;
            // Where threads share a page, each is planned by itself.
            if !self.tracks.values().any(|track| track.follower.expects(page)) {
                return Some(page);
            }
        }
    }
}

/// A thread on its part of the tape.
struct Track {
    /// Its place among the image's threads.
    place: usize,
    /// Where reading goes on: number of the step, and of the page in it.
    at: (usize, u64),
    follower: Follower,
}

/// Reads a thread's steps page by page.
struct Steps<'a> {
    image: &'a Image,
    place: usize,
    at: &'a mut (usize, u64),
}

impl Iterator for Steps<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (index, page) = *self.at;
        let step = self.image.step(self.place, index)?;
        *self.at = if page + 1 < step.count { (index, page + 1) } else { (index + 1, 0) };
        let kind = match step.action {
            Action::Touch => StepKind::Touch,
            Action::Fetch => StepKind::Fetch,
            Action::FetchToWrite => StepKind::FetchToWrite,
            Action::Evict => StepKind::Evict,
        };
        Some(Step { kind, page: PageId(step.first + page) })
    }
}

impl Replay {
    /// Follows the tape of that image. `site` names the place in the program from which the calling thread
    /// allocates, `threads` the kernel's ids of the program's threads. If there are several `processors`, the memory
    /// node moves the pages, if it can.
    pub fn new(
        image: Image,
        site: fn() -> u64,
        threads: fn() -> Vec<u32>,
        processors: usize,
    ) -> Self {
        let pace = image.pace();
        let options = FollowOptions {
            batch: pace.batch as usize,
            lookahead: pace.lookahead as usize,
            search: SEARCH,
        };
        let numbers: Vec<u32> = image.threads().collect();
        let track = |(place, number): (usize, u32)| {
            (number as usize, Track { place, at: (0, 0), follower: Follower::new(options) })
        };
        let state = Followed {
            names: Names::default(),
            binding: Binding::new(image.regions()),
            threads: Threads::default(),
            tracks: numbers.into_iter().enumerate().map(track).collect(),
            strangers: VecDeque::new(),
        };
        let aside = processors > 1;
        Self { image, site, threads, aside, off: AtomicBool::new(false), state: Mutex::new(state) }
    }

    /// Takes note of names that are kept elsewhere.
    pub(crate) fn bind(&self, all: impl IntoIterator<Item = Renamed>) {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        all.into_iter().for_each(|renamed| state.binding.apply(renamed));
    }

    /// The pages that are to be here before any has to leave, in order for each thread, and the number of pages
    /// from one that tells the thread's place to the next.
    pub(crate) fn beginning(&self) -> (Vec<Vec<u64>>, usize) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let of_thread = |place: usize| {
            let mut at = (0, 0);
            let steps = Steps { image: &self.image, place, at: &mut at };
            let first = steps.take_while(|step| step.kind != StepKind::Evict);
            let fetched = first.filter(|step| step.kind.fetches());
            fetched.filter_map(|step| state.binding.here(step.page.0)).collect()
        };
        let pages = (0..self.image.threads().count()).map(of_thread).collect();
        (pages, self.image.pace().batch as usize)
    }

    fn is_on(&self) -> bool {
        !self.off.load(Ordering::Acquire)
    }
}

impl Pager {
    pub(super) fn replay(&self) -> Option<Arc<Replay>> {
        self.replay.get().filter(|replay| replay.is_on())
    }

    /// Whether the program is on its tape, so that nothing else has to foresee what comes.
    pub(crate) fn follows_tape(&self) -> bool {
        self.replay().is_some_and(|replay| {
            self.lock(&replay.state).tracks.values().any(|track| !track.follower.is_lost())
        })
    }

    /// A thread faulted: its follower learns where it is, and the worker whether the tape says what comes after. Whether
    /// the follower may have orders to give.
    pub(crate) fn meet(&self, w: &mut Worker, fault: Fault) -> bool {
        w.on_tape = false;
        let Some(replay) = self.replay() else { return false };
        let page = self.page_of(fault.addr);
        let state = &mut *self.lock(&replay.state);
        let number = state.threads.number(fault.thread, replay.threads, || ());
        let track = state.tracks.get_mut(&number);
        let Some((track, on_tape)) = track.zip(state.binding.on_tape(page)) else {
            if self.is_awaited(page) {
                Counters::add(&self.counters.tape_missed, 1);
                Counters::add(&self.counters.tape_unknown, 1);
                if let Some(track) = state.tracks.get_mut(&number) {
                    track.follower.fault_elsewhere();
                    self.count_tally(track.follower.take_tally());
                }
            }
            return false;
        };
        let mut steps = Steps { image: &replay.image, place: track.place, at: &mut track.at };
        let met = track.follower.fault(PageId(on_tape), &mut steps);
        self.count_tally(track.follower.take_tally());
        let counter = match met {
            Met::Here => &self.counters.tape_met,
            Met::Early | Met::Unknown => &self.counters.tape_missed,
        };
        Counters::add(counter, 1);
        w.on_tape = !track.follower.is_lost();
        w.on_tape && (replay.aside || track.follower.is_due())
    }

    /// Whether who faults on a page has to wait for its content.
    fn is_awaited(&self, page: u64) -> bool {
        let word = self.table.load(page);
        word.state() == State::Far || word.state() == State::Busy && word.in_flight()
    }

    /// In a forked child, which is on no tape.
    pub(crate) fn leave_tape_to_parent(&self) {
        if let Some(replay) = self.replay.get() {
            replay.off.store(true, Ordering::Release);
        }
    }

    /// Notes that pages were handed out, given back, or lost their content.
    pub(crate) fn rebind(&self, change: impl FnOnce(&mut Names, u64, &mut dyn FnMut(Renamed))) {
        let Some(replay) = self.replay() else { return };
        let site = (replay.site)();
        let Followed { names, binding, .. } = &mut *self.lock(&replay.state);
        change(names, site, &mut |renamed| binding.apply(renamed));
    }

    fn count_tally(&self, tally: Tally) {
        let counters = self.counters;
        for (counter, count) in [
            (&counters.tape_steps, tally.steps),
            (&counters.tape_keys_met, tally.keys_met),
            (&counters.tape_keys_missed, tally.keys_missed),
            (&counters.tape_lost, tally.lost),
        ] {
            if count > 0 {
                Counters::add(counter, count);
            }
        }
    }
}
