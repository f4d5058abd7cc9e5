//! Bringing lines here that somebody waits for.

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_pager::counters::Counters;

use crate::inner::{Inner, Job, Landing, MOST_FLIGHTS, Old, Turns};
use crate::lines::{AHEAD, EXTRA};
use crate::room::Room;
use crate::section::{Section, SectionError};
use crate::transfer::{self, Reading};

/// So often it is tried again to take the structure's memory over, where lines are pinned and nothing is left beside it.
const PATIENCE: u32 = 100;

/// Why a line is wanted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Somebody waits for it.
    Use,
    /// Somebody waits for it, and it must not leave.
    Pin,
    /// It will be used.
    Ahead,
}

/// What is to be done next for a line; none of it with the lock in hand.
pub(crate) enum Step {
    /// Nothing: it is here.
    Here(u32),
    /// Nothing can be done for what is only wanted ahead.
    Nothing,
    /// To fetch it.
    Fetch(Job),
    /// To wait for what was asked for: it, or a line that is in its way.
    Land(Landing),
    /// To store a line beside the structure, which can be in it.
    Home(u32, Old, Turns),
    /// To get local memory for a line beside the structure.
    Borrow,
    /// To take the structure's memory over.
    TakeOver,
    /// To let others end what they are at.
    Wait,
}

impl Section {
    /// Sees to it that a line is here; returns its slot.
    pub(crate) fn bring(&self, line: u32, pin: bool) -> Result<u32, SectionError> {
        let purpose = if pin { Purpose::Pin } else { Purpose::Use };
        let (mut waited, mut beside, mut turn, mut patience) = (false, false, None, PATIENCE);
        loop {
            let seen = self.seen();
            let step = match self.next_step(line, purpose, std::mem::take(&mut beside)) {
                // Pins of other threads mostly end soon.
                Err(SectionError::Pinned(_)) if patience > 0 && !self.lock().holds => {
                    patience -= 1;
                    Step::Wait
                }
                step => step?,
            };
            // With a slot in hand, the memory can be taken over by others again.
            drop(turn.take());
            match step {
                Step::Here(slot) => return Ok(slot),
                Step::Fetch(job) => return self.fetch_job(job, purpose),
                Step::Land(landing) if landing.line == line => {
                    let asked = landing.reading.asked;
                    let is_late = !self.has_come(line, &landing.reading);
                    if is_late && !waited {
                        Counters::add(&self.counters().section_late, 1);
                    }
                    let slot = self.land(landing, purpose, AHEAD)?;
                    self.note_arrival(asked.filter(|_| is_late));
                    return Ok(slot);
                }
                Step::Land(landing) => _ = self.land(landing, Purpose::Ahead, AHEAD)?,
                Step::Home(slot, old, turns) => self.send_home(slot, old, turns)?,
                Step::Borrow => self.borrow(),
                Step::TakeOver => {
                    turn = self.take_over()?;
                    beside = turn.is_none();
                }
                Step::Wait => {
                    if !waited && self.lock().transit.has(line) {
                        Counters::add(&self.counters().section_late, 1);
                        waited = true;
                    }
                    self.wait(seen);
                }
                Step::Nothing => return Err(SectionError::Pinned(self.id)),
            }
        }
    }

    fn next_step(&self, line: u32, purpose: Purpose, beside: bool) -> Result<Step, SectionError> {
        self.step(&mut self.lock(), line, purpose, beside)
    }

    /// `beside`: if others hold the structure's memory, they cannot give it up.
    pub(crate) fn step(
        &self,
        inner: &mut Inner,
        line: u32,
        purpose: Purpose,
        beside: bool,
    ) -> Result<Step, SectionError> {
        if let Some(slot) = self.find(inner, line) {
            let may_move = purpose == Purpose::Use && slot >= self.geometry.slots();
            if may_move && !inner.holds && !beside && !self.lines.is_pinned(slot) {
                return Ok(Step::TakeOver);
            }
            return self.use_found(inner, line, slot, purpose);
        }
        let ahead = purpose == Purpose::Ahead;
        if inner.lent.is_read(line) {
            return Ok(if ahead { Step::Nothing } else { Step::Wait });
        }
        if inner.transit.has(line) {
            return Ok(if ahead { Step::Nothing } else { self.take_flight(inner, line) });
        }
        if ahead && inner.transit.len() >= MOST_FLIGHTS {
            return Ok(Step::Nothing);
        }
        Ok(match self.room(inner, line, ahead, beside) {
            Room::Slot(slot, old) => match self.job(inner, line, slot, old) {
                Some(job) => {
                    self.count_wanted(&job, purpose);
                    Step::Fetch(job)
                }
                None if ahead => Step::Nothing,
                None => Step::Wait,
            },
            Room::TakeOver => Step::TakeOver,
            _ if ahead => Step::Nothing,
            Room::Land(other) => self.take_flight(inner, other),
            Room::Wait => Step::Wait,
            Room::Borrow => Step::Borrow,
            Room::None => return Err(SectionError::Pinned(self.id)),
        })
    }

    /// A line is here.
    fn use_found(
        &self,
        inner: &mut Inner,
        line: u32,
        slot: u32,
        purpose: Purpose,
    ) -> Result<Step, SectionError> {
        if purpose == Purpose::Ahead {
            return Ok(Step::Here(slot));
        }
        if slot >= self.geometry.slots()
            && purpose == Purpose::Use
            && inner.holds
            && self.has_room(line)
            && let Some(state) = self.lines.claim(slot)
        {
            let old = self.vacate(inner, slot, state);
            let turns = self.turns(inner, [old.writing.is_some().then_some(line), None]);
            if inner.take_turns(&turns) {
                return Ok(Step::Home(slot, old, turns));
            }
            self.put_back(inner, slot, old);
            return Ok(Step::Wait);
        }
        if let Some(state) = self.lines.prove(slot, line) {
            self.count_proven(state);
        }
        if purpose == Purpose::Pin && !self.lines.pin(slot) {
            return Err(SectionError::Pinned(self.id));
        }
        Ok(Step::Here(slot))
    }

    /// Takes over a line that was asked for, if nobody else has.
    pub(crate) fn take_flight(&self, inner: &mut Inner, line: u32) -> Step {
        if inner.transit.flight(line).is_none() || inner.lent.is_read(line) {
            return Step::Wait;
        }
        let turns = self.turns(inner, [Some(line), None]);
        if !inner.take_turns(&turns) {
            return Step::Wait;
        }
        let flight = inner.transit.take_flight(line);
        flight.map_or(Step::Wait, |(slot, reading)| {
            Step::Land(Landing { line, slot, reading, turns })
        })
    }

    /// What has to be done to fetch a line into a slot; `None` if others have to end what they are at first.
    fn job(&self, inner: &mut Inner, line: u32, slot: u32, old: Option<Old>) -> Option<Job> {
        let (store, selection) = (self.host.store(), inner.selection.as_ref());
        let reading = match self.original {
            Some(_) => Reading::default(),
            None => transfer::reading(store, &inner.space, &self.geometry, selection, line),
        };
        let written = old.as_ref().filter(|old| old.writing.is_some()).map(|old| old.line);
        let turns = self.turns(inner, [Some(line), written]);
        if !inner.take_turns(&turns) {
            match old {
                Some(old) => self.put_back(inner, slot, old),
                None => self.leave_empty(inner, slot),
            }
            return None;
        }
        inner.transit.deal_with(line);
        Some(Job { line, slot, reading, old, turns })
    }

    fn count_wanted(&self, job: &Job, purpose: Purpose) {
        let counters = self.counters();
        let wanted = match purpose {
            Purpose::Ahead => &counters.section_ahead,
            _ => &counters.section_misses,
        };
        Counters::add(wanted, 1);
        if job.slot >= self.geometry.slots() {
            Counters::add(&counters.section_beside, 1);
        }
        if !job.reading.parts.is_empty() {
            Counters::add(&counters.section_fetched, 1);
            let bytes = if job.turns.is_empty() {
                transfer::bytes(&job.reading.parts)
            } else {
                (job.reading.parts.len() * PAGE) as u64
            };
            Counters::add(&counters.section_fetched_bytes, bytes);
        }
    }

    /// Asks for a line that somebody waits for, and stores what was in its slot meanwhile. Returns the slot.
    fn fetch_job(&self, mut job: Job, purpose: Purpose) -> Result<u32, SectionError> {
        if let Err(error) = self.start(&mut job) {
            self.undo(&mut self.lock(), job);
            return Err(error.into());
        }
        self.end_leaving(&mut self.lock(), &job);
        self.notify();
        let Job { line, slot, reading, turns, .. } = job;
        let asked = reading.asked;
        let slot = self.land(Landing { line, slot, reading, turns }, purpose, 0)?;
        self.note_arrival(asked);
        Ok(slot)
    }

    /// Asks for a line, and stores what was in its slot.
    fn start(&self, job: &mut Job) -> Result<(), FarError> {
        job.reading.begin(self.host.store(), &self.geometry, self.host.now_ns())?;
        self.store_old(job.slot, job.old.as_ref())
    }

    /// What was in the slot of a line that comes is stored.
    pub(crate) fn end_leaving(&self, inner: &mut Inner, job: &Job) {
        if let Some(old) = &job.old {
            self.count_evicted(old);
            self.end_writing(inner, old);
        }
    }

    /// Stores what was in a slot, if it was written.
    pub(crate) fn store_old(&self, slot: u32, old: Option<&Old>) -> Result<(), FarError> {
        let Some(writing) = old.and_then(|old| old.writing.as_ref()) else { return Ok(()) };
        if let Some(old) = old {
            self.recall(old.line..old.line + 1);
        }
        // SAFETY: the slot is busy on our behalf.
        let bytes = unsafe { self.lines.bytes(slot) };
        let sent = writing.write(self.host.store(), &self.geometry, bytes)?;
        let counters = self.counters();
        Counters::add(&counters.section_written, 1);
        Counters::add(&counters.section_written_bytes, sent);
        Ok(())
    }

    /// What was in a slot is stored.
    pub(crate) fn end_writing(&self, inner: &mut Inner, old: &Old) {
        let Some(writing) = &old.writing else { return };
        for part in &writing.parts {
            let start = self.offset(old.line) + u64::from(part.place);
            inner.space.set_stored(start, part.len.into(), true);
        }
        inner.transit.end(old.line);
    }

    /// A fetch failed: all is as before.
    pub(crate) fn undo(&self, inner: &mut Inner, job: Job) {
        inner.end_turns(&job.turns);
        inner.transit.end(job.line);
        match job.old {
            Some(old) => self.put_back(inner, job.slot, old),
            None => self.leave_empty(inner, job.slot),
        }
        self.notify();
    }

    /// Waits for a line that was asked for; it is `flags` unless somebody uses it at once.
    pub(crate) fn land(
        &self,
        landing: Landing,
        purpose: Purpose,
        flags: u16,
    ) -> Result<u32, FarError> {
        let Landing { line, slot, reading, turns } = landing;
        let read = self.read_into(slot, line, reading);
        let inner = &mut *self.lock();
        inner.end_turns(&turns);
        inner.transit.end(line);
        if let Err(error) = read {
            self.leave_empty(inner, slot);
            self.notify();
            return Err(error);
        }
        let used = purpose != Purpose::Ahead;
        if used {
            self.count_proven(flags);
        }
        self.publish(inner, line, slot, if used { 0 } else { flags }, used);
        if purpose == Purpose::Pin {
            // Nobody else has seen it yet.
            self.lines.pin(slot);
        }
        self.notify();
        Ok(slot)
    }

    /// Waits for a line, which is then in its slot.
    pub(crate) fn read_into(&self, slot: u32, line: u32, reading: Reading) -> Result<(), FarError> {
        // SAFETY: the slot is busy on our behalf.
        let into = unsafe { self.lines.bytes(slot) };
        match &self.original {
            Some(original) => self.read_from(original, line, into),
            None => reading.finish(self.host.store(), into),
        }
    }

    /// Stores a line that is beside the structure, and leaves its slot empty.
    fn send_home(&self, slot: u32, old: Old, turns: Turns) -> Result<(), SectionError> {
        let stored = self.store_old(slot, Some(&old));
        let inner = &mut *self.lock();
        inner.end_turns(&turns);
        let result = match stored {
            Ok(()) => {
                self.count_evicted(&old);
                self.end_writing(inner, &old);
                self.leave_empty(inner, slot);
                Ok(())
            }
            Err(error) => {
                self.put_back(inner, slot, old);
                Err(error.into())
            }
        };
        self.notify();
        result
    }

    /// Gets local memory for lines beside the structure. If there is none, one of those that are there has to leave.
    fn borrow(&self) {
        let line = self.geometry.line();
        let (pages, slots) = (line.div_ceil(PAGE) as u64, (PAGE / line).max(1) as u32);
        if self.host.lend(pages).is_err() {
            self.lock().refused = true;
            return;
        }
        let inner = &mut *self.lock();
        inner.extra_pages += pages;
        inner.extra_slots = (inner.extra_slots + slots).min(EXTRA);
        Counters::add(&self.counters().section_bytes, pages * PAGE as u64);
    }
}
