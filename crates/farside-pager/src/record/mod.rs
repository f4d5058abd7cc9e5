//! Recording which pages the program uses (3PO, section 3.1).
//!
//! While a program is recorded, only the current [microset](microset) of one thread is mapped; the frames
//! of all other pages stay local, unmapped. So every use of a page outside of it faults, and is noted. The
//! threads take turns: faults of others wait until the microset of the one whose turn it is has ended, or
//! until it does not fault any more. Nobody finds pages mapped because another thread uses them.

mod microset;
mod returns;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use farside_far::FarError;
use farside_policy::replacement::ReplacementPolicy;
use farside_wire::queue::Sender;
use farside_wire::recording::Told;

use crate::counters::Counters;
use crate::frames::Run;
use crate::names::{Names, Renamed};
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;
use crate::threads::Threads;
use crate::word::{State, Word};
use microset::{Microset, Step};

/// A thread that has not faulted for so long, in nanoseconds, may be waiting for another one.
const TURN_NS: u64 = 1_000_000;

/// As much longer for each page of its microset: that is what it costs to map these again.
const PAGE_NS: u64 = 10_000;

/// A microset of so many pages is of use to plans for most programs; a larger one is to be no large part of what the
/// program has, so that it is to plans for a fifth of that.
const FEW: usize = 8192;

/// How a program is recorded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Most pages in a microset, at least one.
    pub microset: usize,
    /// Whether each page is noted by a fault of its own. If not, streams of neighbouring pages are noted in runs of
    /// up to a sixteenth of a microset.
    pub exact: bool,
    /// Whether microsets of fewer pages than [usual](crate::settings::MICROSET) grow with the local memory; and those of
    /// a program with one thread further, where it comes back, again and again, to pages that have just been unmapped.
    pub grows: bool,
}

/// A fault of the program.
#[derive(Copy, Clone, Debug)]
pub struct Fault {
    /// Address of the access, or of its page where the kernel does not tell.
    pub addr: usize,
    /// Whether it was a write.
    pub write: bool,
    /// Whether the page is mapped, but write-protected.
    pub protected: bool,
    /// Kernel id of the thread.
    pub thread: u32,
}

/// What records a process.
pub struct Recorder {
    how: Recording,
    surroundings: Surroundings,
    off: AtomicBool,
    notes: Mutex<Notes>,
}

/// What a recorder asks about the process it is in.
pub struct Surroundings {
    /// Whether somebody still reads what is recorded.
    pub reader_lives: Box<dyn Fn() -> bool + Send + Sync>,
    /// A name for the place in the program from which the calling thread allocates; 0 if it is not known.
    pub site: fn() -> u64,
    /// The kernel's ids of the program's threads.
    pub threads: fn() -> Vec<u32>,
    /// The address of the instruction at which a thread waits for a page.
    pub instruction: fn(u32) -> Option<u64>,
}

struct Notes {
    queue: Sender,
    words: Vec<u64>,
    threads: Threads<Microset>,
    names: Names,
    /// Whose turn it is, when it last faulted.
    turn: Option<(usize, u64)>,
    /// The thread that was told of last.
    told: Option<usize>,
    /// Faults of threads whose turn it is not.
    held: VecDeque<Fault>,
}

impl Recorder {
    /// A recorder that tells through `queue`.
    pub fn new(how: Recording, queue: Sender, surroundings: Surroundings) -> Self {
        let notes = Notes {
            queue,
            words: Vec::new(),
            threads: Threads::default(),
            names: Names::default(),
            turn: None,
            told: None,
            held: VecDeque::new(),
        };
        Self { how, surroundings, off: AtomicBool::new(false), notes: Mutex::new(notes) }
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.off.load(Ordering::Acquire)
    }

    /// Records no more; the process goes on.
    pub(crate) fn stop(&self) {
        self.off.store(true, Ordering::Release);
    }

    /// The number of the thread that the kernel calls `id`.
    fn number(&self, notes: &mut Notes, id: u32) -> usize {
        let known = notes.threads.count();
        let new = || Microset::new(self.how);
        let number = notes.threads.number(id, self.surroundings.threads, new);
        if notes.threads.count() > known.max(1) {
            // Whose turn it is keeps the others waiting for the longer the larger its microset is.
            notes.threads.all().for_each(Microset::stay_usual);
        }
        number
    }

    /// Tells of names that are kept elsewhere; `kept` says that the pages have content from before.
    pub(crate) fn tell_names(&self, all: impl IntoIterator<Item = (Renamed, bool)>) {
        const AT_ONCE: usize = 1 << 12;
        let notes = &mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for (renamed, kept) in all {
            told(renamed, kept).encode(&mut notes.words);
            if notes.words.len() > AT_ONCE {
                self.send(notes);
            }
        }
        self.send(notes);
    }

    /// Sends what has been noted.
    fn send(&self, notes: &mut Notes) {
        if notes.queue.put(&notes.words, &self.surroundings.reader_lives).is_err() {
            self.stop();
        }
        notes.words.clear();
    }

    /// Notes that the thread used pages.
    fn note(&self, notes: &mut Notes, thread: usize, (first, count): (u64, u64), write: bool) {
        if notes.told.replace(thread) != Some(thread) {
            Told::Thread(thread as u32).encode(&mut notes.words);
        }
        Told::Pages { first, count, write }.encode(&mut notes.words);
        notes.threads[thread].add(first, count);
        self.send(notes);
    }
}

impl Notes {
    /// Whether the fault may be served now; else it is held. Whose turn it is is known afterwards.
    fn may_go_on(&mut self, fault: Fault, thread: usize, now: u64) -> bool {
        match &mut self.turn {
            Some((owner, last)) if *owner == thread => *last = now,
            Some(_) => {
                self.held.push_back(fault);
                return false;
            }
            None => self.turn = Some((thread, now)),
        }
        true
    }
}

impl Pager {
    /// The recorder, while there is one at work.
    fn recorder(&self) -> Option<Arc<Recorder>> {
        self.recorder.get().filter(|recorder| recorder.is_on())
    }

    /// Whether the program is recorded: what is mapped unasked is not noted.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorder().is_some()
    }

    /// Serves a fault, and notes it if the program is recorded. The caller is inside.
    pub fn serve(&self, w: &mut Worker, fault: Fault) -> Outcome {
        w.entry = self.contains(fault.addr).then_some(fault.addr as u64);
        match self.recorder() {
            Some(recorder) if !fault.protected && self.contains(fault.addr) => {
                self.serve_recorded(w, &recorder, fault)
            }
            _ => {
                self.finish_moved()?;
                if !fault.protected && self.contains(fault.addr) && self.meet(w, fault) {
                    self.catch_up_before(w, self.page_of(fault.addr))?;
                }
                let is_use = !fault.protected && self.contains(fault.addr);
                let tracked = is_use.then(|| self.track(w, self.page_of(fault.addr))).flatten();
                self.count_waiting(w, |w| {
                    self.logged(w, fault, |w| self.fault(w, fault.addr, fault.protected))
                })?;
                if let Some(since) = tracked {
                    self.pay_for_fault(since);
                }
                self.unmap_cooled(w);
                Ok(())
            }
        }
    }

    fn serve_recorded(&self, w: &mut Worker, recorder: &Recorder, fault: Fault) -> Outcome {
        let notes = &mut *self.lock(&recorder.notes);
        if !recorder.is_on() {
            return self.fault(w, fault.addr, fault.protected);
        }
        let thread = recorder.number(notes, fault.thread);
        if !notes.may_go_on(fault, thread, self.space.now_ns()) {
            self.flights.poke();
            return Ok(());
        }
        let page = self.page_of(fault.addr);
        let state = self.table.load(page).state();
        if matches!(state, State::Resident | State::Foreign) {
            return self.fault(w, fault.addr, false);
        }
        if state != State::Untouched && self.is_pressed() && notes.threads[thread].contains(page) {
            // It had to leave while it was in use, which is noted already.
            return self.map_run(w, page, Step { keep: None, run: 1, down: false }).map(drop);
        }
        let room = self.room_for_microsets(notes.threads.count());
        let most = room.min(self.touched() as usize / 8).max(FEW.min(room));
        if let Some(size) = notes.threads[thread].grow(page, room, most) {
            Told::Microset(size as u32).encode(&mut notes.words);
        }
        let step =
            notes.threads[thread].need(page, || (recorder.surroundings.instruction)(fault.thread));
        if let Some(keep) = step.keep {
            self.end_microset(w, notes, thread, keep);
            if keep == 0 && !notes.held.is_empty() {
                notes.held.push_back(fault);
                notes.turn = None;
                return self.take_turns(w, recorder, notes);
            }
            // What stays mapped may be used in the next microset, too.
            let kept = notes.threads[thread].take_kept();
            for page in kept {
                recorder.note(notes, thread, (page, 1), false);
            }
        }
        let mapped = self.map_run(w, page, step)?;
        recorder.note(notes, thread, mapped, fault.write);
        Ok(())
    }

    /// Pages of which two microsets of each of so many threads have room in the local memory, beside what a run that
    /// follows a tape has on its way.
    fn room_for_microsets(&self, threads: usize) -> usize {
        const ON_ITS_WAY: u64 = 512;
        let limit = self.budget.limit();
        let planned = limit.saturating_sub(ON_ITS_WAY).max(limit / 4);
        planned as usize / 2 / threads.max(1)
    }

    /// Whether pages may have been evicted, or unmapped by the replacement policy.
    fn is_pressed(&self) -> bool {
        self.counters.evicted_pages.load(Ordering::Relaxed) > 0
    }

    /// Unmaps all of a thread's microset but its last `keep` pages.
    fn end_microset(&self, w: &mut Worker, notes: &mut Notes, thread: usize, keep: usize) {
        let pages = notes.threads[thread].end(keep);
        self.unmap_to_watch(w, &pages);
    }

    /// Serves a fault that was held, and gives its thread the turn.
    fn take_turns(&self, w: &mut Worker, recorder: &Recorder, notes: &mut Notes) -> Outcome {
        let Some(fault) = notes.held.pop_front() else { return Ok(()) };
        let thread = recorder.number(notes, fault.thread);
        notes.turn = Some((thread, self.space.now_ns()));
        let page = self.page_of(fault.addr);
        if matches!(self.table.load(page).state(), State::Resident | State::Foreign) {
            return self.fault(w, fault.addr, false);
        }
        let step = notes.threads[thread].need(page, || None);
        let mapped = self.map_run(w, page, step)?;
        recorder.note(notes, thread, mapped, fault.write);
        Ok(())
    }

    /// Gives the turn to a thread that waits for it, if the one that has it has not faulted for long. The
    /// caller is inside.
    pub(crate) fn pass_turn(&self, w: &mut Worker) -> Outcome {
        let Some(recorder) = self.recorder.get() else { return Ok(()) };
        if !recorder.is_on() {
            return self.release_held(w, &recorder);
        }
        let notes = &mut *self.lock(&recorder.notes);
        if notes.held.is_empty() {
            return Ok(());
        }
        if let Some((owner, last)) = notes.turn {
            let patience = TURN_NS + PAGE_NS * notes.threads[owner].len() as u64;
            if self.space.now_ns().saturating_sub(last) < patience {
                return Ok(());
            }
            self.end_microset(w, notes, owner, 0);
        }
        self.take_turns(w, &recorder, notes)
    }

    /// Serves the faults that were held by a recorder that records no more. The caller is inside.
    pub(crate) fn release_held(&self, w: &mut Worker, recorder: &Recorder) -> Outcome {
        let notes = &mut *self.lock(&recorder.notes);
        while let Some(fault) = notes.held.pop_front() {
            self.fault(w, fault.addr, fault.protected)?;
        }
        Ok(())
    }

    /// In a forked child, which is not recorded.
    pub(crate) fn leave_recording_to_parent(&self) {
        if let Some(recorder) = self.recorder.get() {
            recorder.stop();
            // These are faults of the parent's threads.
            self.lock(&recorder.notes).held.clear();
        }
    }

    /// How long the completer may sleep at most, in nanoseconds.
    pub(crate) fn patience_ns(&self) -> u64 {
        const LONG_NS: u64 = 1_000_000_000;
        let Some(recorder) = self.recorder.get() else { return LONG_NS };
        if self.lock(&recorder.notes).held.is_empty() { LONG_NS } else { TURN_NS }
    }

    /// Maps a page, and those of its run that can be mapped with it; returns the lowest, and how many.
    fn map_run(&self, w: &mut Worker, page: u64, step: Step) -> Result<(u64, u64), FarError> {
        let run = (self.held_by_program(page, step.run, step.down), step.down);
        loop {
            let word = self.table.load(page);
            match word.state() {
                State::Untouched | State::Zero => {
                    let alone = word.state() == State::Zero;
                    if let Some(word) = self.table.claim(page, word, Word::new(State::Busy)) {
                        let run = if alone { (1, false) } else { run };
                        return self.first_touch(w, page, word, run);
                    }
                }
                State::Watched => {
                    if let Some(mapped) = self.rescue_run(page, run) {
                        return Ok(mapped);
                    }
                }
                State::Far if run.0 > 1 => {
                    if let Some(fetched) = self.fetch_far_run(w, page, run)? {
                        return Ok(fetched);
                    }
                }
                _ => return self.fault(w, self.address(page), false).map(|()| (page, 1)),
            }
        }
    }

    /// Fetches a page, and those of its run that are far, too; `None` if it is not far any more.
    fn fetch_far_run(
        &self,
        w: &mut Worker,
        page: u64,
        (run, down): (u64, bool),
    ) -> Result<Option<(u64, u64)>, FarError> {
        let far = |page| self.table.load(page).state() == State::Far;
        // What is in use must not be pushed out by what may be.
        let run = run.min(self.budget.limit() / 8).max(1);
        let below = if down { (1..run).take_while(|i| far(page - i)).count() as u64 } else { 0 };
        let (first, most) = (page - below, if down { below + 1 } else { run });
        let count = self.claim_far(first, most, Word::new(State::Busy));
        if !(first..first + count).contains(&page) {
            self.leave_far(first..first + count);
            return Ok(None);
        }
        Counters::add(&self.counters.demand_faults, 1);
        self.fetch_run(w, first, count, Purpose::page(page))?;
        self.wake(first, count);
        Ok(Some((first, count)))
    }

    /// Maps a page that was unmapped, and those of its run whose frames lie beside its own; `None` if it is not
    /// unmapped any more.
    fn rescue_run(&self, page: u64, (run, down): (u64, bool)) -> Option<(u64, u64)> {
        let policy = &mut self.lock_policy();
        let word = self.claim_watched(page, None)?;
        let mut words = vec![word];
        for i in 1..run {
            let (beside, position) = if down {
                (page - i, word.position().checked_sub(i as u32))
            } else {
                (page + i, word.position().checked_add(i as u32))
            };
            let Some(word) = position.and_then(|p| self.claim_watched(beside, Some(p))) else {
                break;
            };
            words.push(word);
        }
        if down {
            words.reverse();
        }
        let count = words.len() as u64;
        let first = if down { page + 1 - count } else { page };
        let start = words[0].position();
        self.map_frames(first, self.area.address(start), count);
        self.area.leave_empty(Run { start, count: count as u32 });
        for (page, word) in (first..).zip(words) {
            policy.access(word.slot());
            let mapped = word.in_state(State::Resident).with_position(0);
            self.publish_absent(page, mapped.with_writable().without_prefetched());
        }
        self.wake(first, count);
        Some((first, count))
    }

    /// Notes that pages were handed out, given back, or lost their content.
    pub(crate) fn rename(&self, change: impl FnOnce(&mut Names, u64, &mut dyn FnMut(Renamed))) {
        if let Some(kept) = &self.names {
            return self.rename_kept(kept, change);
        }
        let Some(recorder) = self.recorder() else { return self.rebind(change) };
        let site = (recorder.surroundings.site)();
        let notes = &mut *self.lock(&recorder.notes);
        let words = &mut notes.words;
        change(&mut notes.names, site, &mut |renamed| told(renamed, false).encode(words));
        recorder.send(notes);
    }
}

/// What the reader is told; `kept` says that the pages have content.
fn told(renamed: Renamed, kept: bool) -> Told {
    match renamed {
        Renamed::Appeared { first, count, name, offset } => {
            Told::Appeared { first, count, site: name.site, nth: name.nth, offset, kept }
        }
        Renamed::Vanished { first, count } => Told::Vanished { first, count },
    }
}
