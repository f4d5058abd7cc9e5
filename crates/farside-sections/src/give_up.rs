//! What ends: blocks that are freed, sections that are closed, and a process that forks.

use std::sync::Arc;

use farside_os::memory::PAGE;

use crate::bring::{Purpose, Step};
use crate::lines::{AHEAD, DIRTY, READY, STATE};
use crate::pointer::RemotePtr;
use crate::section::{Section, SectionError, pages_of};
use crate::space::Freed;

impl Section {
    /// Gives back what was allocated at a pointer. Nothing is fetched or stored for it.
    ///
    /// # Errors
    /// If nothing that was allocated starts there, a line of it is pinned, or the far store fails.
    pub fn free(&self, ptr: RemotePtr) -> Result<(), SectionError> {
        let (id, offset) = (self.id, ptr.offset());
        let freed = self.lock().space.free(offset);
        let freed = freed.ok_or(SectionError::NotAllocated { id, offset })?;
        if freed.len == 0 {
            return Ok(());
        }
        self.forget(freed)?;
        let end = freed.start + freed.len;
        self.recall(
            (freed.start >> self.geometry.shift) as u32..(end >> self.geometry.shift) as u32,
        );
        let pages = self.lock().space.pages(freed.start, freed.len);
        for (first, count) in pages {
            self.host.store().discard(first, count)?;
        }
        self.lock().space.release(&*self.host, freed);
        Ok(())
    }

    /// Drops the lines of a range, wherever they are.
    fn forget(&self, freed: Freed) -> Result<(), SectionError> {
        let first = (freed.start >> self.geometry.shift) as u32;
        let end = ((freed.start + freed.len) >> self.geometry.shift) as u32;
        loop {
            let seen = self.seen();
            self.drop_lines(first..end);
            let moving = {
                let inner = &mut *self.lock();
                let moving = inner.transit.lines().find(|line| (first..end).contains(line));
                let moving = moving.or_else(|| inner.lent.read_in(&(first..end)));
                if moving.is_none() && self.seen() != seen {
                    // What could not be stored is here again.
                    continue;
                }
                if moving.is_none() {
                    // Who fetches beyond what is its own finds zeros, and nothing that is about to go.
                    inner.space.set_stored(freed.start, freed.len, false);
                }
                moving
            };
            // What cannot come need not be dropped.
            match moving.map(|line| self.land_flight(line)) {
                None => break,
                Some(Ok(false)) => self.wait(seen),
                Some(_) => {}
            }
        }
        let slots = 0..self.lines.tags.len() as u32;
        let pinned =
            |slot| (first..end).contains(&self.lines.line(slot)) && self.lines.is_pinned(slot);
        if slots.into_iter().any(pinned) { Err(SectionError::Pinned(self.id)) } else { Ok(()) }
    }

    fn drop_lines(&self, range: std::ops::Range<u32>) {
        // Of few lines each is looked for; of many, those that are here.
        if range.len() < self.lines.tags.len() {
            return range.into_iter().for_each(|line| self.drop_line(line));
        }
        for slot in 0..self.lines.tags.len() as u32 {
            let line = self.lines.line(slot);
            if range.contains(&line) && self.lines.state(slot) & STATE == READY {
                self.drop_line(line);
            }
        }
    }

    /// Drops a line that is here and not pinned.
    fn drop_line(&self, line: u32) {
        let inner = &mut *self.lock();
        if let Some(slot) = self.find(inner, line)
            && let Some(state) = self.lines.claim(slot)
        {
            self.vacate(inner, slot, state & !DIRTY);
            self.leave_empty(inner, slot);
        }
    }

    /// Ends a fetch that nobody waits for; false if the line is on its way for another reason.
    pub(crate) fn land_flight(&self, line: u32) -> Result<bool, SectionError> {
        let step = self.take_flight(&mut self.lock(), line);
        let Step::Land(landing) = step else { return Ok(false) };
        self.land(landing, Purpose::Ahead, AHEAD)?;
        Ok(true)
    }

    /// Prepares for a fork of the process: afterwards both have the section as it is now. No other thread is in it.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn before_fork(&self) -> Result<(), SectionError> {
        self.land_all()?;
        self.all_copies().iter().try_for_each(|copy| copy.land_all())
    }

    /// Ends the section and all that was allocated in it. Nobody uses it any more.
    ///
    /// # Errors
    /// If the far store fails; the rest is done all the same.
    pub fn close(self: Arc<Self>) -> Result<(), SectionError> {
        let turn = self.group_turn();
        let mut result = self.land_all();
        let pages = {
            let space = &self.lock().space;
            space.pages(0, space.len())
        };
        for (first, count) in pages {
            if let Err(error) = self.host.store().discard(first, count) {
                result = result.and(Err(error.into()));
            }
        }
        let lent = {
            let inner = &mut *self.lock();
            inner.space.close(&*self.host);
            inner.extra_pages
        };
        let own = || pages_of(&self.geometry);
        let lent = lent + turn.as_ref().map_or_else(own, |turn| self.leave_group(turn));
        self.uncount(lent * PAGE as u64);
        drop(turn);
        // Nobody else has it any more, and its memory goes before others may have that.
        if let Some(Self { host, lines, .. }) = Arc::into_inner(self) {
            drop(lines);
            host.take_back(lent);
        }
        result
    }
}
