//! Following a tape: pages come before they are used, and go when they are not needed (3PO, section 3.3).
//!
//! The fault path tells the [followers](farside_policy::follow), one for each thread that is on the tape, where
//! the program is; the completer carries out what they order.

mod binding;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use farside_far::FarError;
use farside_policy::batches::BATCH;
use farside_policy::follow::{FollowOptions, Follower, Met, Order};
use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind};
use farside_wire::tape_image::{Action, Image};

use crate::counters::Counters;
use crate::flight::Flight;
use crate::names::{Names, Renamed};
use crate::pager::{Outcome, Pager, Worker};
use crate::record::Fault;
use crate::threads::Threads;
use crate::word::{State, Word};
use binding::Binding;

/// Steps that a thread's place is looked for among.
const SEARCH: usize = 1 << 14;

/// Most pages of a flight: late hits wait for the whole flight.
const FLIGHT_PAGES: u64 = 32;

/// Pages evicted, and ordered to come, before the other is looked after again.
const AT_ONCE: usize = 128;

/// What has a process follow a tape.
pub struct Replay {
    image: Image,
    site: fn() -> u64,
    threads: fn() -> Vec<u32>,
    off: AtomicBool,
    state: Mutex<Followed>,
}

struct Followed {
    names: Names,
    binding: Binding,
    threads: Threads<()>,
    /// By number of the thread.
    tracks: HashMap<usize, Track>,
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
            Action::Evict => StepKind::Evict,
        };
        Some(Step { kind, page: PageId(step.first + page) })
    }
}

/// What is to be done next, in pages of the far region.
#[derive(Default)]
struct Orders {
    evict: Vec<u64>,
    /// Pages, with whether they are key pages, and the threads that ordered these.
    fetch: Vec<(u64, bool)>,
    /// Threads whose key page cannot be one.
    failed: Vec<usize>,
    thread_of_key: HashMap<u64, usize>,
}

impl Replay {
    /// Follows the tape of that image. `site` names the place in the program from which the calling thread
    /// allocates, `threads` the kernel's ids of the program's threads.
    pub fn new(image: Image, site: fn() -> u64, threads: fn() -> Vec<u32>) -> Self {
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
        };
        Self { image, site, threads, off: AtomicBool::new(false), state: Mutex::new(state) }
    }

    fn is_on(&self) -> bool {
        !self.off.load(Ordering::Acquire)
    }
}

impl Pager {
    fn replay(&self) -> Option<&Replay> {
        self.replay.as_ref().filter(|replay| replay.is_on())
    }

    /// Whether the program is on its tape, so that nothing else has to foresee what comes.
    pub(crate) fn follows_tape(&self) -> bool {
        self.replay().is_some_and(|replay| {
            self.lock(&replay.state).tracks.values().any(|track| !track.follower.is_lost())
        })
    }

    /// A thread faulted: its follower learns where it is.
    pub(crate) fn meet(&self, fault: Fault) {
        let Some(replay) = self.replay() else { return };
        let state = &mut *self.lock(&replay.state);
        let Some(page) = state.binding.on_tape(self.page_of(fault.addr)) else { return };
        let number = state.threads.number(fault.thread, replay.threads, || ());
        let Some(track) = state.tracks.get_mut(&number) else { return };
        let mut steps = Steps { image: &replay.image, place: track.place, at: &mut track.at };
        let met = track.follower.fault(PageId(page), &mut steps);
        let counter = match met {
            Met::Here => &self.counters.tape_met,
            Met::Early | Met::Unknown => &self.counters.tape_missed,
        };
        Counters::add(counter, 1);
        if met == Met::Here {
            self.flights.poke();
        }
    }

    /// In a forked child, which is on no tape.
    pub(crate) fn leave_tape_to_parent(&self) {
        if let Some(replay) = &self.replay {
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

    /// Carries out what followers order; whether anything was done. The caller is inside.
    pub(crate) fn follow_tape(&self, w: &mut Worker) -> Result<bool, FarError> {
        let Some(replay) = self.replay() else { return Ok(false) };
        let mut orders = Orders::default();
        self.collect(replay, &mut orders);
        if orders.evict.is_empty() && orders.fetch.is_empty() {
            return Ok(false);
        }
        for some in orders.evict.chunks(BATCH) {
            self.evict_pages(w, some)?;
        }
        self.send_for(w, &mut orders)?;
        if !orders.failed.is_empty() {
            let state = &mut *self.lock(&replay.state);
            for thread in orders.failed {
                if let Some(track) = state.tracks.get_mut(&thread) {
                    track.follower.key_failed();
                }
            }
        }
        Ok(true)
    }

    fn collect(&self, replay: &Replay, orders: &mut Orders) {
        let Followed { binding, tracks, .. } = &mut *self.lock(&replay.state);
        // What is ordered must find room.
        let free = self.area.spare_count() + self.budget.limit().saturating_sub(self.budget.used());
        for (number, track) in tracks {
            let mut steps = Steps { image: &replay.image, place: track.place, at: &mut track.at };
            while orders.evict.len() < AT_ONCE && orders.fetch.len() < AT_ONCE {
                let room = (orders.fetch.len() as u64) < free;
                match track.follower.next(&mut steps, room) {
                    Some(Order::Evict(page)) => orders.evict.extend(binding.here(page.0)),
                    Some(Order::Fetch { page, key }) => match binding.here(page.0) {
                        Some(page) => {
                            orders.fetch.push((page, key));
                            if key {
                                orders.thread_of_key.insert(page, *number);
                            }
                        }
                        None if key => orders.failed.push(*number),
                        None => {}
                    },
                    None => break,
                }
            }
        }
    }

    /// Sends for pages, neighbours together; key pages come last in what they come with.
    fn send_for(&self, w: &mut Worker, orders: &mut Orders) -> Outcome {
        let mut rest = &mut orders.fetch[..];
        while !rest.is_empty() {
            // All up to a key page are needed before it.
            let end = rest.iter().position(|(_, key)| *key).map_or(rest.len(), |key| key + 1);
            let (some, later) = rest.split_at_mut(end);
            some.sort_unstable();
            let mut at = 0;
            while at < some.len() {
                let mut count = 1;
                while at + count < some.len()
                    && some[at + count].0 == some[at].0 + count as u64
                    && !some[at + count - 1].1
                {
                    count += 1;
                }
                let key = some[at + count - 1].1;
                let kept = self.send_for_run(w, some[at].0, count as u64, key)?;
                if key && !kept {
                    orders.failed.extend(orders.thread_of_key.get(&some[at + count - 1].0));
                }
                at += count;
            }
            rest = later;
        }
        Ok(())
    }

    /// Sends for those of the pages that are far; whether the last one is, which is to stay unmapped if `key`.
    fn send_for_run(
        &self,
        w: &mut Worker,
        first: u64,
        count: u64,
        key: bool,
    ) -> Result<bool, FarError> {
        let end = first + count;
        let mut at = first;
        let mut last = false;
        while at < end {
            let most = (end - at).min(FLIGHT_PAGES);
            let claimed = self.claim_far(at, most, Word::new(State::Busy).with_flight());
            last = at + claimed == end;
            let mut sent = 0;
            while sent < claimed {
                let keep = u64::from(key && last);
                match self.send(w, at + sent, claimed - sent, keep)? {
                    0 => break,
                    some => sent += some,
                }
            }
            if sent < claimed {
                // No room: they are fetched when they are demanded.
                for page in at + sent..at + claimed {
                    self.publish_absent(page, Word::new(State::Far).with_stored());
                }
                return Ok(false);
            }
            at += claimed.max(1);
        }
        Ok(last)
    }

    /// Sends for some of the owned pages from `first` on; the last `keep` of all `count` are to stay unmapped.
    fn send(&self, w: &mut Worker, first: u64, count: u64, keep: u64) -> Result<u64, FarError> {
        let frames = self.area.take_spare(count as u32);
        let got = match frames {
            Some(run) => u64::from(run.count),
            None => self.budget.take(count),
        };
        if got == 0 {
            return Ok(0);
        }
        let keep = if got == count { keep } else { 0 };
        match self.store.begin_read(first, got as u32) {
            Ok(ticket) => {
                let flight = Flight { ticket, frames, keep: Some(keep) };
                if self.store.is_instant() {
                    self.complete(w, flight)?
                } else {
                    self.flights.start(flight)
                }
                Ok(got)
            }
            Err(error) => {
                match frames {
                    Some(run) => self.area.add_spare(run),
                    None => self.budget.give(got),
                }
                for page in first..first + count {
                    self.publish_absent(page, Word::new(State::Far).with_stored());
                }
                Err(error)
            }
        }
    }
}
