//! Storing lines that were written, before they have to leave.

use std::ops::Range;

use farside_pager::counters::Counters;

use crate::inner::{Inner, Old};
use crate::lines::{AHEAD, DIRTY, EMPTY, PINS, READY, SOON, STATE};
use crate::pointer::RemotePtr;
use crate::section::{Section, SectionError};
use crate::transfer;

/// What became of storing a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// What was written of it is stored now.
    Stored,
    /// It is not here, or nothing of it was written that is not stored.
    Clean,
    /// Somebody has it pinned, and may be writing: it is left out.
    Pinned,
    /// Somebody else is storing it, or moving it.
    Moving,
}

/// What is to be done next to store a line.
enum Step {
    Done(Flushed),
    Store(u32, Old, crate::inner::Turns),
    Wait,
}

impl Section {
    /// Stores what was written of the lines of a range, which stay here. Lines that are pinned are left out: whoever
    /// pinned them may be writing.
    ///
    /// # Errors
    /// As [`address`](Self::address).
    pub fn flush(&self, ptr: RemotePtr, len: u64) -> Result<(), SectionError> {
        self.lines_of(ptr, len)?.try_for_each(|line| self.flush_line(line).map(drop))
    }

    /// The program will not use a range soon: what was written of it is stored, and its lines leave before others.
    ///
    /// # Errors
    /// As [`address`](Self::address).
    pub fn evict_soon(&self, ptr: RemotePtr, len: u64) -> Result<(), SectionError> {
        for line in self.lines_of(ptr, len)? {
            self.flush_line(line)?;
            self.let_leave(line);
        }
        Ok(())
    }

    /// As [`evict_soon`](Self::evict_soon), but nothing is stored before a line leaves: that is done while what takes its
    /// place is on its way (thesis 5.2).
    ///
    /// # Errors
    /// As [`address`](Self::address).
    pub fn done_with(&self, ptr: RemotePtr, len: u64) -> Result<(), SectionError> {
        self.lines_of(ptr, len)?.for_each(|line| self.let_leave(line));
        Ok(())
    }

    /// Stores what was written of a line.
    pub(crate) fn flush_line(&self, line: u32) -> Result<Flushed, SectionError> {
        loop {
            let seen = self.seen();
            match self.next_flush(line) {
                Step::Done(flushed) => return Ok(flushed),
                Step::Store(slot, old, turns) => {
                    let stored = self.store_old(slot, Some(&old));
                    let inner = &mut *self.lock();
                    inner.end_turns(&turns);
                    let dirty = if stored.is_ok() { 0 } else { DIRTY };
                    match stored {
                        Ok(()) => self.end_writing(inner, &old),
                        Err(_) => {
                            self.lines.put_written(slot, old.blocks);
                            inner.transit.end(line);
                        }
                    }
                    self.lines.set_state(slot, READY | old.state & (SOON | AHEAD) | dirty);
                    self.notify();
                    return stored.map(|()| Flushed::Stored).map_err(SectionError::from);
                }
                Step::Wait => self.wait(seen),
            }
        }
    }

    fn next_flush(&self, line: u32) -> Step {
        let inner = &mut *self.lock();
        let Some(slot) = self.find(inner, line) else { return Step::Done(Flushed::Clean) };
        let turns = self.turns(inner, [Some(line), None]);
        if self.lines.state(slot) & DIRTY == 0 {
            return Step::Done(Flushed::Clean);
        }
        if !inner.take_turns(&turns) {
            return Step::Wait;
        }
        let Some(state) = self.lines.claim(slot) else {
            inner.end_turns(&turns);
            let is_pinned = self.lines.state(slot) & PINS != 0;
            return Step::Done(if is_pinned { Flushed::Pinned } else { Flushed::Moving });
        };
        let blocks = self.lines.take_written(slot, state);
        let (store, selection) = (self.host.store(), inner.selection.as_ref());
        let of = (line, blocks);
        let writing = transfer::writing(store, &inner.space, &self.geometry, selection, of);
        inner.transit.deal_with(line);
        Step::Store(slot, Old { line, state, blocks, writing: Some(writing) }, turns)
    }

    /// A line may leave before others.
    fn let_leave(&self, line: u32) {
        use std::sync::atomic::Ordering::AcqRel;
        let inner = &mut *self.lock();
        let Some(slot) = self.find(inner, line) else { return };
        let before = self.lines.states[slot as usize].fetch_or(SOON, AcqRel);
        self.lines.doubt(slot);
        if self.index.is_some() && slot < self.geometry.slots() && before & SOON == 0 {
            self.queue(inner, slot);
        }
    }

    fn queue(&self, inner: &mut Inner, slot: u32) {
        if inner.soon.len() >= 2 * self.geometry.slots() as usize {
            inner.soon.retain(|slot| self.lines.state(*slot) & SOON != 0);
        }
        inner.soon.push_back(slot);
    }

    /// Stores all that was written, and has all lines leave.
    pub(crate) fn evict_all(&self) -> Result<(), SectionError> {
        self.land_all()?;
        let pinned = self.leave(0..self.lines.tags.len() as u32)?;
        pinned.map_or(Ok(()), |_| Err(SectionError::Pinned(self.id)))
    }

    /// Has the lines in some slots leave, to which nobody brings others meanwhile; what was written of them is stored.
    /// Ends at the first slot whose line is pinned, and returns it.
    pub(crate) fn leave(&self, slots: Range<u32>) -> Result<Option<u32>, SectionError> {
        for slot in slots {
            loop {
                let seen = self.seen();
                match self.lines.state(slot) {
                    state if state & STATE == EMPTY => break,
                    _ if self.lines.holds_pinned(slot) => return Ok(Some(slot)),
                    state if state & STATE != READY => self.land_in(slot, seen)?,
                    state if state & DIRTY != 0 => _ = self.flush_line(self.lines.line(slot))?,
                    _ => self.drop_clean(slot),
                }
            }
        }
        Ok(None)
    }

    /// Ends a fetch into a slot that nobody waits for, or waits for whoever else deals with what is in it.
    fn land_in(&self, slot: u32, seen: u32) -> Result<(), SectionError> {
        let flight = self.lock().transit.flights().find(|(_, into)| *into == slot);
        if !flight.map_or(Ok(false), |(line, _)| self.land_flight(line))? {
            self.wait(seen);
        }
        Ok(())
    }

    /// Has the line in a slot leave, unless somebody has pinned it or written to it.
    fn drop_clean(&self, slot: u32) {
        let inner = &mut *self.lock();
        let Some(state) = self.lines.claim(slot) else { return };
        if state & DIRTY != 0 {
            return self.lines.set_state(slot, READY | state & (DIRTY | SOON | AHEAD));
        }
        let old = self.vacate(inner, slot, state);
        self.count_evicted(&old);
        self.leave_empty(inner, slot);
    }

    /// Nothing is on its way any more.
    pub(crate) fn land_all(&self) -> Result<(), SectionError> {
        loop {
            let seen = self.seen();
            let Some(line) = self.lock().transit.lines().next() else { return Ok(()) };
            if !self.land_flight(line)? {
                self.wait(seen);
            }
        }
    }

    /// Counts how many lines were written and are here, for tests.
    pub fn unstored(&self) -> u64 {
        let dirty = |state: &std::sync::atomic::AtomicU16| {
            state.load(std::sync::atomic::Ordering::Relaxed) & (STATE | DIRTY) == READY | DIRTY
        };
        self.lines.states.iter().filter(|state| dirty(state)).count() as u64
    }

    /// What the section's lines have to do with what is counted.
    pub(crate) fn uncount(&self, bytes: u64) {
        Counters::add(&self.counters().section_bytes, bytes.wrapping_neg());
    }
}
