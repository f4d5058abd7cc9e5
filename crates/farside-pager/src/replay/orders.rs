//! Carrying out what the followers of a tape order: evictions behind the program, fetches ahead of it.

use std::collections::BTreeMap;
use std::ops::Range;

use farside_far::FarError;
use farside_policy::batches::BATCH;
use farside_policy::prefetch::PrefetchPlan;
use farside_policy::replacement::{Arrival, ReplacementPolicy};
use farside_trace::PageId;

use super::{Followed, Replay, Steps};
use crate::counters::Counters;
use crate::flight::Flight;
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;
use crate::reclaim::Owned;
use crate::table::BLOCK_TOUCHED;
use crate::word::{State, Word};

/// Most pages of a flight: late hits wait for the whole flight.
const FLIGHT_PAGES: u64 = 32;

/// Pages evicted, and ordered to come, before the other is looked after again.
pub(super) const AT_ONCE: usize = 128;

/// Pages looked at to find some that no plan has.
const LOOKS: usize = 512;

/// A page to fetch, in the far region.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    page: u64,
    key: bool,
    /// Whether the program will write it.
    write: bool,
    /// The thread that wants it, and the number of its step.
    thread: usize,
    number: u64,
}

/// What is to be done next, in pages of the far region.
#[derive(Default)]
pub(super) struct Orders {
    evict: Vec<u64>,
    pub(super) fetch: Vec<Wanted>,
    /// Threads whose key page cannot be one.
    failed: Vec<usize>,
    /// By thread: the first step for whose page there was no room.
    no_room: BTreeMap<usize, u64>,
}

/// What became of pages that were sent for.
enum Sent {
    /// They are on their way or here; whether the last one is on its way, to stay unmapped if it is a key page.
    All(bool),
    /// There is no room for all.
    NoRoom,
}

impl Pager {
    /// Carries out what followers order, while the program waits; then ends the fetches of what it needs first.
    /// The caller is inside.
    ///
    /// If the node can move pages, it does while the program runs.
    pub(crate) fn catch_up(&self, w: &mut Worker) -> Outcome {
        let Some(replay) = self.replay() else { return Ok(()) };
        if self.mover().is_some() {
            return self.order_aside(w, &replay);
        }
        while self.follow_tape(w, &replay)? && self.is_due(&replay) {}
        let batch = replay.image.pace().batch;
        let mut landed = 0;
        while landed < batch
            && let Some(flight) = self.flights.take_oldest()
        {
            landed += u64::from(flight.ticket.count);
            self.complete(w, flight)?;
        }
        Ok(())
    }

    /// As [`catch_up`](Self::catch_up), before a page is served, unless it has to be fetched first.
    pub(crate) fn catch_up_before(&self, w: &mut Worker, page: u64) -> Outcome {
        if self.table.load(page).state() == State::Far { Ok(()) } else { self.catch_up(w) }
    }

    /// Evicts what is behind the program, and sends for what is ahead of it; whether anything was done.
    fn follow_tape(&self, w: &mut Worker, replay: &Replay) -> Result<bool, FarError> {
        let mut orders = Orders::default();
        self.collect_evictions(replay, &mut orders.evict);
        for some in orders.evict.chunks(BATCH) {
            self.evict_pages(w, some)?;
        }
        self.make_room(w, replay)?;
        self.collect_fetches(replay, &mut orders);
        let wanted = orders.fetch.len();
        self.send_for(w, &mut orders)?;
        let left = self.tell_followers(replay, &orders);
        Ok(!orders.evict.is_empty() || left < wanted)
    }

    fn is_due(&self, replay: &Replay) -> bool {
        self.lock(&replay.state).tracks.values().any(|track| track.follower.is_due())
    }

    /// Frames that nobody uses.
    fn room(&self) -> u64 {
        self.area.spare_count() + self.budget.limit().saturating_sub(self.budget.used())
    }

    /// Frames that are left to pages that the program waits for.
    fn kept_free(&self) -> u64 {
        (self.budget.limit() / 64).clamp(1, 32)
    }

    /// If there is little room for what is ahead of the program, evicts pages that are here although no plan has
    /// them: those that were not on the tape, or came with others.
    pub(super) fn make_room(&self, w: &mut Worker, replay: &Replay) -> Outcome {
        let is_short = self.room() < self.kept_free() + AT_ONCE as u64;
        if is_short && self.is_due(replay) { self.evict_unplanned(w) } else { Ok(()) }
    }

    /// Takes ownership of pages that no plan has, as many as there are too many pages here, and `most`, among those
    /// that the policy would part with first. The others it will part with last.
    pub(crate) fn choose_unplanned(
        &self,
        policy: &mut dyn ReplacementPolicy,
        most: usize,
        victims: &mut Vec<Owned>,
    ) {
        let Some(replay) = self.replay() else { return };
        let state = &*self.lock(&replay.state);
        let most = policy.len().saturating_sub(state.planned()).min(most);
        for _ in 0..LOOKS {
            if victims.len() >= most {
                return;
            }
            let found = victims.len();
            self.ask_policy(policy, 1, victims);
            // None is left, or this one is pinned.
            let Some(&Owned { page, word }) = victims.get(found) else { continue };
            if state.needs(page) {
                victims.pop();
                let slot = policy.restore(PageId(page));
                self.publish_absent(page, word.with_slot(slot));
            }
        }
    }

    /// Pages behind the program that it does not need, until there are [`AT_ONCE`].
    pub(super) fn collect_evictions(&self, replay: &Replay, evict: &mut Vec<u64>) {
        let state = &mut *self.lock(&replay.state);
        while evict.len() < AT_ONCE
            && let Some(page) = state.next_eviction()
        {
            evict.extend(state.binding.here(page.0));
        }
    }

    /// The pages to evict, at most `most`, when there is no room: those that the plan has no room for come
    /// first, then those that were foreseen without it.
    pub(crate) fn planned_victims(&self, most: usize) -> Vec<u64> {
        let mut victims = Vec::new();
        let Some(replay) = self.replay() else { return victims };
        let state = &mut *self.lock(&replay.state);
        while victims.len() < most
            && let Some(page) = state.next_eviction().or_else(|| state.next_stray())
        {
            victims.extend(state.binding.here(page.0));
        }
        let strangers = (most - victims.len()).min(state.strangers.len());
        victims.extend(state.strangers.drain(..strangers));
        victims
    }

    /// Takes note of pages that will be sent for although the tape, if there is one, does not know them.
    pub(crate) fn note_strangers(&self, plan: &PrefetchPlan) {
        let Some(replay) = self.replay() else { return };
        let Followed { binding, strangers, .. } = &mut *self.lock(&replay.state);
        let pages = plan.runs().flat_map(|run| run.first.0..run.end().min(self.table.pages()));
        let unknown = |page: &u64| {
            self.table.load(*page).state() == State::Far && binding.on_tape(*page).is_none()
        };
        let before = strangers.len();
        strangers.extend(pages.filter(unknown));
        Counters::add(&self.counters.tape_unknown, (strangers.len() - before) as u64);
        // More cannot be here.
        let most = self.budget.limit() as usize;
        strangers.drain(..strangers.len().saturating_sub(most));
    }

    /// Pages ahead of the program that are to come, as many as there is room for.
    pub(super) fn collect_fetches(&self, replay: &Replay, orders: &mut Orders) {
        let most = self.room().saturating_sub(self.kept_free()).min(AT_ONCE as u64) as usize;
        let state = &mut *self.lock(&replay.state);
        for (number, track) in &mut state.tracks {
            let mut steps = Steps { image: &replay.image, place: track.place, at: &mut track.at };
            while orders.fetch.len() < most
                && let Some(fetch) = track.follower.next_fetch(&mut steps)
            {
                match state.binding.here(fetch.page.0) {
                    Some(page) => orders.fetch.push(Wanted {
                        page,
                        key: fetch.key,
                        write: fetch.write,
                        thread: *number,
                        number: fetch.number,
                    }),
                    None if fetch.key => orders.failed.push(*number),
                    None => {}
                }
            }
        }
    }

    /// Tells the followers which orders could not be carried out; returns how many there were of these.
    pub(super) fn tell_followers(&self, replay: &Replay, orders: &Orders) -> usize {
        if orders.failed.is_empty() && orders.no_room.is_empty() {
            return 0;
        }
        let state = &mut *self.lock(&replay.state);
        for (thread, number) in &orders.no_room {
            if let Some(track) = state.tracks.get_mut(thread) {
                track.follower.take_back(*number);
            }
        }
        for thread in &orders.failed {
            if let Some(track) = state.tracks.get_mut(thread) {
                track.follower.key_failed();
            }
        }
        let left = |wanted: &&Wanted| {
            orders.no_room.get(&wanted.thread).is_some_and(|number| wanted.number >= *number)
        };
        orders.fetch.iter().filter(left).count()
    }

    /// Sends for pages, neighbours together; key pages come last in what they come with.
    pub(super) fn send_for(&self, w: &mut Worker, orders: &mut Orders) -> Outcome {
        let Orders { fetch, failed, no_room, .. } = orders;
        let mut rest = &mut fetch[..];
        while !rest.is_empty() {
            // All up to a key page are needed before it.
            let end = rest.iter().position(|wanted| wanted.key).map_or(rest.len(), |key| key + 1);
            let (some, later) = rest.split_at_mut(end);
            some.sort_unstable();
            let mut at = 0;
            while at < some.len() {
                let count = neighbours(&some[at..]);
                let run = &some[at..at + count];
                let last = run[count - 1];
                match self.send_for_run(w, run)? {
                    Sent::All(kept) if last.key && !kept => failed.push(last.thread),
                    Sent::All(_) => {}
                    Sent::NoRoom => {
                        for wanted in some[at..].iter().chain(&*later) {
                            let first = no_room.entry(wanted.thread).or_insert(wanted.number);
                            *first = wanted.number.min(*first);
                        }
                        return Ok(());
                    }
                }
                at += count;
            }
            rest = later;
        }
        Ok(())
    }

    /// Sends for those of the pages, which lie side by side, that are far, and makes those that are all zero; the last
    /// one is to stay unmapped if it is a key page.
    fn send_for_run(&self, w: &mut Worker, run: &[Wanted]) -> Result<Sent, FarError> {
        let Some(Wanted { page: first, .. }) = run.first() else { return Ok(Sent::All(true)) };
        let (first, key) = (*first, run[run.len() - 1].key);
        let end = first + run.len() as u64;
        let mut at = first;
        let mut kept = false;
        while at < end {
            let zeros = self.make_zeros(w, at, end - at - u64::from(key));
            if zeros > 0 {
                at += zeros;
                continue;
            }
            if key && at + 1 == end && self.table.load(at).state() == State::Zero {
                // Its use is a fault anyway.
                return Ok(Sent::All(true));
            }
            let most = (end - at).min(FLIGHT_PAGES);
            let claimed = self.claim_far(at, most, Word::new(State::Busy).with_flight());
            kept = claimed > 0 && at + claimed == end;
            let claimed_run = &run[(at - first) as usize..][..claimed as usize];
            claimed_run.iter().for_each(|page| self.table.set_to_write(page.page, page.write));
            let mut sent = 0;
            while sent < claimed {
                match self.send(w, at + sent, claimed - sent, u64::from(key && kept))? {
                    0 => break,
                    some => sent += some,
                }
            }
            for page in at + sent..at + claimed {
                self.publish_absent(page, Word::new(State::Far).with_stored());
            }
            self.end_awaited(w, at..at + sent)?;
            if sent < claimed {
                return Ok(Sent::NoRoom);
            }
            at += claimed.max(1);
        }
        Ok(Sent::All(kept))
    }

    /// Ends the way of those of the pages that somebody came to before they were under way, and so found nothing to end:
    /// there may be no later fault, if all threads wait for this one.
    fn end_awaited(&self, w: &mut Worker, pages: Range<u64>) -> Outcome {
        for page in pages {
            let word = self.table.load(page);
            if word.state() == State::Busy && word.in_flight() && word.waiters() {
                self.end_way(w, page, None)?;
            }
        }
        Ok(())
    }

    /// Maps pages from `first` on, at most `most`, that are known to be zero, if there is room; returns how
    /// many.
    fn make_zeros(&self, w: &mut Worker, first: u64, most: u64) -> u64 {
        let is_zero = |page: &u64| self.table.load(*page).state() == State::Zero;
        let most = (first..first + most.min(BATCH as u64)).take_while(is_zero).count() as u64;
        let room = self.budget.take(most);
        let busy = Word::new(State::Busy);
        let claim = |page: &u64| {
            let word = self.table.load(*page);
            word.state() == State::Zero && self.table.claim(*page, word, busy).is_some()
        };
        let count = (first..first + room).take_while(claim).count() as u64;
        self.budget.give(room - count);
        if count == 0 {
            return 0;
        }
        self.table.mark_blocks(first, first + count, BLOCK_TOUCHED);
        self.map_zeroed(w, first, count);
        Counters::add(&self.counters.populated_pages, count);
        let word = Word::new(State::Resident).with_writable();
        self.publish_resident(first, count, word, 0, |_| Arrival::FirstTouch);
        self.wake(first, count);
        count
    }

    /// Sends for some of the owned pages from `first` on; the last `keep` of all `count` are to stay unmapped.
    fn send(&self, w: &mut Worker, first: u64, count: u64, keep: u64) -> Result<u64, FarError> {
        if let Some(mover) = self.mover() {
            return self.order_in(mover, (first, count), keep);
        }
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
                let flight = Flight {
                    ticket,
                    frames,
                    keep: Some(keep),
                    purpose: Purpose::NONE,
                    walk: None,
                    held: None,
                };
                if self.store.is_instant() {
                    self.complete(w, flight)?
                } else {
                    self.flights.add(flight)
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

/// How many of the pages lie side by side, from the first on, up to a key page.
fn neighbours(wanted: &[Wanted]) -> usize {
    let beside = |pair: &&[Wanted]| !pair[0].key && pair[1].page == pair[0].page + 1;
    1 + wanted.windows(2).take_while(beside).count()
}
