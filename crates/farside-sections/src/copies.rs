//! Copies of a section: caches of the same data for threads that only read it, one for each (thesis 6.7).
//!
//! One thread, or several that pin lines, have the section itself, and all writing is theirs. A copy has slots of its own,
//! and takes lines from the section: what is here in it, or else in the far store, which is asked in such a way that no two
//! calls are about the same line at the same time. So nothing has to be stored for the sake of a copy. What is in a copy is
//! as new as the last [`renew`](Section::renew), or newer.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, PoisonError};

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_pager::counters::Counters;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::host::Host;
use crate::inner::{Inner, Turns};
use crate::section::{OpenError, Options, Section, SectionError};
use crate::shape::Shape;
use crate::transfer::{self, Reading};

/// What copies are at in the far store.
#[derive(Default)]
pub(crate) struct Lent {
    /// Lines for which one of them is calling it.
    lines: FxHashSet<u32>,
    /// Reads that nobody waits for, by line and by the copy that has sent for it. As long as they are here, what they are
    /// of has not been stored anew.
    flights: FxHashMap<u32, SmallVec<[(usize, Reading); 1]>>,
}

impl Lent {
    /// Whether a copy is calling the far store for a line.
    pub fn is_read(&self, line: u32) -> bool {
        self.lines.contains(&line)
    }

    /// A line of a range for which one is.
    pub fn read_in(&self, range: &Range<u32>) -> Option<u32> {
        self.lines.iter().copied().find(|line| range.contains(line))
    }

    fn flight(&self, copy: usize, line: u32) -> Option<&Reading> {
        self.flights.get(&line)?.iter().find(|(its, _)| *its == copy).map(|(_, reading)| reading)
    }

    fn take_flight(&mut self, copy: usize, line: u32) -> Option<Reading> {
        let Entry::Occupied(mut all) = self.flights.entry(line) else { return None };
        let at = all.get().iter().position(|(its, _)| *its == copy)?;
        let (_, reading) = all.get_mut().swap_remove(at);
        if all.get().is_empty() {
            all.remove();
        }
        Some(reading)
    }
}

/// What a copy has to do for a line.
enum Lending {
    /// Nothing: it was here.
    Copied,
    /// To let others end what they are at.
    Wait,
    /// To read; what it gets is the line, unless somebody has a newer one.
    Read { reading: Reading, begun: bool, turns: Turns, is_newest: bool },
}

impl Section {
    /// Makes an empty copy of a section, of another shape with lines of the same length.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_copy(
        host: Box<dyn Host>,
        shape: Shape,
        original: &Arc<Self>,
    ) -> Result<Arc<Self>, OpenError> {
        let options = Options { id: original.id, shape };
        let copy = Self::open_as(host, options, Some(Arc::clone(original)))?;
        original.is_copied.store(true, Release);
        Ok(copy)
    }

    /// Whether there is, or was, a copy of it.
    pub(crate) fn is_copied(&self) -> bool {
        self.is_copied.load(Acquire)
    }

    /// Has all lines of a copy leave, so that what is read from now on is as new as this call. What is no copy is that
    /// always.
    ///
    /// # Errors
    /// If the far store fails, or a line is pinned.
    pub fn renew(&self) -> Result<(), SectionError> {
        if self.original.is_some() { self.evict_all() } else { Ok(()) }
    }

    /// Offsets there are, of a copy those of its section.
    pub(crate) fn len(&self) -> u64 {
        self.original.as_deref().unwrap_or(self).lock().space.len()
    }

    /// By what a copy is known to its section.
    fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Sends for a line that a copy has taken a slot for.
    pub(crate) fn send_to(&self, original: &Self, line: u32) -> Result<(), FarError> {
        let store = original.host.store();
        if transfer::takes_turns(store, &original.geometry) {
            return Ok(());
        }
        let mut reading = {
            let inner = &mut *original.lock();
            // What cannot be sent for now is read when it is waited for.
            if original.is_moving(inner, line) || original.find(inner, line).is_some() {
                return Ok(());
            }
            let reading = transfer::reading(store, &inner.space, &original.geometry, None, line);
            if reading.parts.is_empty() {
                return Ok(());
            }
            inner.lent.lines.insert(line);
            reading
        };
        let begun = reading.begin(store, &original.geometry, original.host.now_ns());
        {
            let inner = &mut *original.lock();
            inner.lent.lines.remove(&line);
            if begun.is_ok() {
                inner.lent.flights.entry(line).or_default().push((self.key(), reading));
            }
        }
        original.notify();
        begun
    }

    /// Whether a line that was sent for need not be waited for.
    pub(crate) fn has_come(&self, line: u32, reading: &Reading) -> bool {
        let Some(original) = &self.original else { return reading.is_ready(self.host.store()) };
        let store = original.host.store();
        let inner = original.lock();
        inner.lent.flight(self.key(), line).is_none_or(|flight| flight.is_ready(store))
    }

    /// Reads a line for a copy.
    pub(crate) fn read_from(
        &self,
        original: &Self,
        line: u32,
        into: &mut [u8],
    ) -> Result<(), FarError> {
        loop {
            let seen = original.seen();
            match original.lend(self.key(), line, into) {
                Lending::Copied => return Ok(()),
                Lending::Wait => original.wait(seen),
                Lending::Read { reading, begun, turns, is_newest } => {
                    let read = original.read_lent(reading, begun, &turns, into);
                    {
                        let inner = &mut *original.lock();
                        inner.end_turns(&turns);
                        inner.lent.lines.remove(&line);
                    }
                    original.notify();
                    if is_newest || read.is_err() {
                        return read;
                    }
                }
            }
        }
    }

    /// Whether somebody moves a line, or reads it for a copy.
    fn is_moving(&self, inner: &Inner, line: u32) -> bool {
        inner.transit.is_busy(line) || inner.lent.is_read(line)
    }

    fn lend(&self, copy: usize, line: u32, into: &mut [u8]) -> Lending {
        let inner = &mut *self.lock();
        if self.is_moving(inner, line) {
            return Lending::Wait;
        }
        let here = self.find(inner, line);
        if let Some(reading) = inner.lent.take_flight(copy, line) {
            inner.lent.lines.insert(line);
            return Lending::Read {
                reading,
                begun: true,
                turns: Turns::new(),
                is_newest: here.is_none(),
            };
        }
        if let Some(slot) = here {
            // SAFETY: nobody takes the line out of its slot without the lock. Whoever writes to it meanwhile writes what
            // nobody may read before the copy is renewed.
            unsafe {
                let from = self.lines.address(slot) as *const u8;
                std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
            }
            return Lending::Copied;
        }
        let turns = self.turns(inner, [Some(line), None]);
        if !inner.take_turns(&turns) {
            return Lending::Wait;
        }
        let store = self.host.store();
        let reading = transfer::reading(store, &inner.space, &self.geometry, None, line);
        inner.lent.lines.insert(line);
        Lending::Read { reading, begun: false, turns, is_newest: true }
    }

    fn read_lent(
        &self,
        mut reading: Reading,
        begun: bool,
        turns: &Turns,
        into: &mut [u8],
    ) -> Result<(), FarError> {
        if !reading.parts.is_empty() {
            let bytes = match turns.is_empty() {
                true => transfer::bytes(&reading.parts),
                false => (reading.parts.len() * PAGE) as u64,
            };
            Counters::add(&self.counters().section_fetched, 1);
            Counters::add(&self.counters().section_fetched_bytes, bytes);
        }
        let store = self.host.store();
        let is_late = !begun || !reading.is_ready(store);
        if !begun {
            reading.begin(store, &self.geometry, self.host.now_ns())?;
        }
        let asked = reading.asked.filter(|_| is_late);
        reading.finish(store, into)?;
        self.note_arrival(asked);
        Ok(())
    }

    /// Ends what copies have sent for of lines that are about to be stored anew, or are gone; they read them again. These
    /// lines are here, on their way out, or free: no copy sends for them meanwhile.
    pub(crate) fn recall(&self, lines: Range<u32>) {
        if !self.is_copied() {
            return;
        }
        let mut scratch = Vec::new();
        loop {
            let seen = self.seen();
            let flight = {
                let inner = &mut *self.lock();
                if inner.lent.read_in(&lines).is_none() {
                    let of = |line: &u32| lines.contains(line);
                    let Some(line) = inner.lent.flights.keys().copied().find(of) else { return };
                    inner.lent.flights.remove(&line)
                } else {
                    None
                }
            };
            let Some(flight) = flight else {
                self.wait(seen);
                continue;
            };
            scratch.resize(self.geometry.line(), 0);
            for (_, reading) in flight {
                // Nobody is told of what fails: it is not used.
                let _ = reading.finish(self.host.store(), &mut scratch);
            }
        }
    }

    /// The copy of a thread, if it has one.
    ///
    /// # Safety
    /// Only that thread removes its copy, or puts another one there.
    pub(crate) unsafe fn copy_of(&self, thread: usize) -> Option<&Self> {
        let copies = self.copies.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the copy lives as long as it is there, as the caller says.
        copies.get(&thread).map(|copy| unsafe { &*Arc::as_ptr(copy) })
    }

    /// A thread has a copy, or none any more. What it had before is returned.
    pub(crate) fn set_copy(&self, thread: usize, copy: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let mut copies = self.copies.write().unwrap_or_else(PoisonError::into_inner);
        match copy {
            Some(copy) => copies.insert(thread, copy),
            None => copies.remove(&thread),
        }
    }

    /// All copies there are.
    pub(crate) fn all_copies(&self) -> Vec<Arc<Self>> {
        let copies = self.copies.read().unwrap_or_else(PoisonError::into_inner);
        copies.values().cloned().collect()
    }
}
