//! Lines that are sent for ahead, many at a time (Mira, sections 5.1 and 5.4).

use farside_far::FarError;
use smallvec::SmallVec;

use crate::bring::{Purpose, Step};
use crate::inner::{Inner, Job, Landing, MOST_FLIGHTS};
use crate::lines::AHEAD;
use crate::pointer::RemotePtr;
use crate::section::{Section, SectionError};
use crate::transfer;

/// So many lines are asked for in one go.
const BATCH: usize = 16;

/// So many lines that have arrived are put in place for each that is asked for.
const RIPE: usize = 2;

impl Section {
    /// Asks for lines of a range that are not here, without waiting.
    ///
    /// # Errors
    /// As [`address`](Self::address).
    pub fn fetch(&self, ptr: RemotePtr, len: u64) -> Result<(), SectionError> {
        let mut lines = self.lines_of(ptr, len)?;
        loop {
            let batch: SmallVec<[u32; BATCH]> = lines.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(());
            }
            self.fetch_ahead(&batch)?;
        }
    }

    /// Asks for the lines of pointers, which may be ones that nobody follows: outside of the section nothing is done.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn want(&self, pointers: &[RemotePtr]) -> Result<(), SectionError> {
        let end = self.len();
        let is_inside = |ptr: &&RemotePtr| ptr.id() == self.id && ptr.offset() < end;
        for some in pointers.chunks(BATCH) {
            let lines: SmallVec<[u32; BATCH]> = some
                .iter()
                .filter(is_inside)
                .map(|ptr| (ptr.offset() >> self.geometry.shift) as u32)
                .collect();
            self.fetch_ahead(&lines)?;
        }
        Ok(())
    }

    /// The lines of a range, which is cut at the end of the section.
    pub(crate) fn lines_of(
        &self,
        ptr: RemotePtr,
        len: u64,
    ) -> Result<std::ops::RangeInclusive<u32>, SectionError> {
        let first = self.line_of(ptr)?;
        let end = ptr.offset().saturating_add(len.max(1)).min(self.len());
        Ok(first..=((end - 1) >> self.geometry.shift) as u32)
    }

    fn fetch_ahead(&self, lines: &[u32]) -> Result<(), SectionError> {
        if lines.is_empty() {
            return Ok(());
        }
        lines.iter().for_each(|line| self.expect(*line));
        self.land_ripe(RIPE * lines.len())?;
        let mut jobs = SmallVec::new();
        let mut homeless = SmallVec::<[u32; BATCH]>::new();
        {
            let inner = &mut *self.lock();
            for line in lines {
                match self.step(inner, *line, Purpose::Ahead, false) {
                    Ok(Step::Fetch(job)) => jobs.push(job),
                    Ok(Step::TakeOver) => homeless.push(*line),
                    // What is only wanted ahead is not worth an error of its own.
                    _ => {}
                }
            }
        }
        self.send_for(jobs)?;
        homeless.into_iter().try_for_each(|line| self.fetch_into_memory_of_others(line))
    }

    /// Has the processor load what says whether a line is here, of a section where that is known.
    fn expect(&self, line: u32) {
        if self.index.is_none() {
            self.lines.expect_state(self.geometry.first_slot(line));
        }
    }

    /// The same for what was in a slot, and for where it is stored.
    fn expect_store(&self, job: &Job) {
        if let Some(writing) = job.old.as_ref().and_then(|old| old.writing.as_ref())
            && let Some(by_part) = self.host.store().parts()
        {
            self.lines.expect_bytes(job.slot);
            by_part.expect_write(&writing.parts);
        }
    }

    /// The same as [`fetch_ahead`](Self::fetch_ahead) for a line whose section has to take its memory over first.
    fn fetch_into_memory_of_others(&self, line: u32) -> Result<(), SectionError> {
        let turn = self.take_over()?;
        let step = self.step(&mut self.lock(), line, Purpose::Ahead, turn.is_none())?;
        if let Step::Fetch(job) = step {
            self.send_for(SmallVec::from_iter([job]))?;
        }
        Ok(())
    }

    /// Asks for lines that slots were taken for. What was in the slots is stored while they are on their way.
    fn send_for(&self, mut jobs: SmallVec<[Job; BATCH]>) -> Result<(), SectionError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let (store, now, mut failed) = (self.host.store(), self.host.now_ns(), None);
        let begun = count_done(&mut jobs, &mut failed, |job| {
            self.expect_store(job);
            match &self.original {
                Some(original) => self.send_to(original, job.line),
                None => job.reading.begin(store, &self.geometry, now),
            }
        });
        let stored = count_done(&mut jobs[..begun], &mut failed, |job| {
            self.store_old(job.slot, job.old.as_ref())
        });
        let inner = &mut *self.lock();
        for (at, job) in jobs.into_iter().enumerate() {
            if at < stored {
                self.end_leaving(inner, &job);
                self.let_fly(inner, job);
            } else {
                self.undo(inner, job);
            }
        }
        self.notify();
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// A line is on its way, and nobody waits for it.
    fn let_fly(&self, inner: &mut Inner, job: Job) {
        let Job { line, slot, reading, turns, .. } = job;
        inner.end_turns(&turns);
        inner.transit.let_fly(line, slot, reading);
        if inner.asked.len() >= 4 * MOST_FLIGHTS {
            let transit = &inner.transit;
            inner.asked.retain(|line| transit.has(*line));
        }
        inner.asked.push_back(line);
    }

    /// Puts lines in place that were asked for first and have arrived, so many at most: who uses one then finds it without
    /// coming here for longer than a moment.
    fn land_ripe(&self, most: usize) -> Result<(), SectionError> {
        let mut landings = SmallVec::<[Landing; RIPE * BATCH]>::new();
        {
            let inner = &mut *self.lock();
            while landings.len() < most
                && let Some(landing) = self.next_ripe(inner)
            {
                landings.push(landing);
            }
        }
        if landings.is_empty() {
            return Ok(());
        }
        let read: SmallVec<[_; RIPE * BATCH]> = landings
            .iter_mut()
            .map(|landing| {
                let reading = std::mem::take(&mut landing.reading);
                self.read_into(landing.slot, landing.line, reading)
            })
            .collect();
        let (inner, mut failed) = (&mut *self.lock(), None);
        for (Landing { line, slot, turns, .. }, read) in landings.into_iter().zip(read) {
            inner.end_turns(&turns);
            inner.transit.end(line);
            match read {
                Ok(()) => self.publish(inner, line, slot, AHEAD, false),
                Err(error) => {
                    self.leave_empty(inner, slot);
                    failed = Some(error);
                }
            }
        }
        self.notify();
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// The line that was asked for first, if it has arrived.
    fn next_ripe(&self, inner: &mut Inner) -> Option<Landing> {
        let store = self.host.store();
        if transfer::takes_turns(store, &self.geometry) {
            // They arrive only when they are waited for.
            return None;
        }
        loop {
            let line = inner.asked.pop_front()?;
            let Some(reading) = inner.transit.flight(line) else { continue };
            if !self.has_come(line, reading) {
                inner.asked.push_front(line);
                return None;
            }
            if let Step::Land(landing) = self.take_flight(inner, line) {
                return Some(landing);
            }
        }
    }
}

/// Does something for one after the other until that fails; how often it did not.
fn count_done(
    jobs: &mut [Job],
    failed: &mut Option<FarError>,
    mut each: impl FnMut(&mut Job) -> Result<(), FarError>,
) -> usize {
    for (at, job) in jobs.iter_mut().enumerate() {
        if let Err(error) = each(job) {
            *failed = Some(error);
            return at;
        }
    }
    jobs.len()
}
