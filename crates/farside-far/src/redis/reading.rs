//! Reading: from the primary, and from a replica if that does not answer, or answers wrongly.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farside_os::memory::PAGE;

use super::extents::{self, PAGES, RECORD, place};
use super::line::{Call, Line, Silence};
use super::resp::{self, Reply};
use super::server::{Errand, Server};
use super::{Cluster, Redis, slot_of};
use crate::seals::Seal;
use crate::troubles::Troubles;
use crate::{FarError, Ticket};

/// Reads that can be under way at once; others are done when their end is waited for.
const READINGS: usize = 1024;

/// Pages of one command.
const MOST: usize = 64;

/// How often a page that comes back damaged is asked for.
const TRIES: u32 = 64;

/// A page that all its servers, so many times one after the other, do not have is lost; and the time between.
const SURE: u32 = 5;
const SURE_NS: u64 = 100_000_000;

/// Slots that lie side by side, and hold pages that do.
struct Run {
    /// The first page's place in what is read.
    at: usize,
    slot: u64,
    count: usize,
}

/// A run that was asked for.
struct Part {
    run: Run,
    server: Arc<Server>,
    line: Arc<Line>,
    call: Call,
}

/// What came for a page.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Judgement {
    /// What was stored.
    Right,
    /// What was stored, but damaged.
    Damaged,
    /// Another version, or nothing.
    Absent,
    /// No answer.
    Silent,
}

/// The reads under way.
pub struct Readings {
    parts: Box<[Mutex<Vec<Part>>]>,
    free: Mutex<Vec<u32>>,
}

impl Readings {
    /// None.
    pub fn new() -> Self {
        let parts = (0..READINGS).map(|_| Mutex::default()).collect();
        Self { parts, free: Mutex::new((1..=READINGS as u32).collect()) }
    }

    fn take(&self) -> Option<u32> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn parts(&self, number: u32) -> MutexGuard<'_, Vec<Part>> {
        self.parts[number as usize - 1].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, number: u32) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    }
}

/// Commands for one server.
struct Batch {
    server: Arc<Server>,
    line: Arc<Line>,
    commands: Vec<u8>,
    runs: Vec<Run>,
}

impl Redis {
    /// Where a page is stored, and how.
    fn place_of(&self, page: u64) -> Result<(u64, Seal), FarError> {
        let slot = slot_of(self.slots.block(page).ok_or(FarError::Missing(page))?);
        Ok((slot, self.seals.get(slot)))
    }

    /// The server to ask for what is in a slot: the primary, unless that is slow or gone.
    fn best(&self, cluster: &Cluster, extent: u64) -> Option<Arc<Server>> {
        let shard = cluster.shard(self.names.part(extent))?;
        let now = self.now();
        let is_good = |server: &&Arc<Server>| server.is_up() && !server.is_slow(now);
        let mut all = shard.all();
        all.find(is_good).or_else(|| shard.all().find(|server| server.is_up())).map(Arc::clone)
    }

    /// The runs of slots that `count` pages from `first` on lie in.
    fn runs(&self, first: u64, count: usize) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for at in 0..count {
            let Ok((slot, _)) = self.place_of(first + at as u64) else { continue };
            match runs.last_mut() {
                Some(run)
                    if run.slot + run.count as u64 == slot
                        && run.at + run.count == at
                        && !slot.is_multiple_of(PAGES)
                        && run.count < MOST =>
                {
                    run.count += 1;
                }
                _ => runs.push(Run { at, slot, count: 1 }),
            }
        }
        runs
    }

    /// Appends the command that asks for a run.
    fn ask_for(&self, commands: &mut Vec<u8>, run: &Run) {
        let (extent, at) = place(run.slot);
        let start = at * RECORD as u64;
        resp::begin(commands, 4);
        resp::word(commands, b"GETRANGE");
        self.names.word(commands, extent);
        resp::decimal(commands, start);
        resp::decimal(commands, start + (run.count * RECORD) as u64 - 1);
    }

    /// Sends for `count` pages; what cannot be sent for now is read later.
    pub(super) fn begin_reading(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        let Some(number) = self.readings.take() else {
            return Ok(Ticket { first, count, ready_at: 0, call: 0 });
        };
        let cluster = self.cluster();
        let errand = if count == 1 { Errand::Demand } else { Errand::Ahead };
        let mut batches: Vec<Batch> = Vec::new();
        for run in self.runs(first, count as usize) {
            let Some(server) = self.best(&cluster, run.slot / PAGES) else { continue };
            let known = batches.iter_mut().find(|batch| Arc::ptr_eq(&batch.server, &server));
            let batch = match known {
                Some(batch) => batch,
                None => {
                    // A replica has one connection for all.
                    let line = server.line(errand).or_else(|| server.line(Errand::Demand));
                    let Some(line) = line else { continue };
                    batches.push(Batch { server, line, commands: Vec::new(), runs: Vec::new() });
                    let Some(batch) = batches.last_mut() else { continue };
                    batch
                }
            };
            self.ask_for(&mut batch.commands, &run);
            batch.runs.push(run);
        }
        let parts = &mut *self.readings.parts(number);
        for Batch { server, line, commands, runs } in batches {
            if let Ok(call) = line.send(&mut [IoSlice::new(&commands)], runs.len()) {
                parts.extend((call..).zip(runs).map(|(call, run)| Part {
                    run,
                    server: Arc::clone(&server),
                    line: Arc::clone(&line),
                    call,
                }));
            }
        }
        Ok(Ticket { first, count, ready_at: 0, call: number })
    }

    /// Whether all replies about pages that were sent for have come.
    pub(super) fn is_read(&self, ticket: &Ticket) -> bool {
        ticket.call == 0
            || self.readings.parts(ticket.call).iter().all(|part| part.line.has_reply(part.call))
    }

    /// Waits for pages that were sent for, and sees to it that they are those that were stored.
    pub(super) fn finish_reading(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        let mut has = vec![false; ticket.count as usize];
        if ticket.call != 0 {
            let mut parts = self.readings.parts(ticket.call);
            for part in parts.drain(..) {
                self.finish_part(&part, ticket.first, into, &mut has);
            }
            drop(parts);
            self.readings.give(ticket.call);
        }
        for (at, page) in into.chunks_exact_mut(PAGE).enumerate().filter(|(at, _)| !has[*at]) {
            self.read_again(ticket.first + at as u64, page)?;
        }
        Ok(())
    }

    fn finish_part(&self, part: &Part, first: u64, into: &mut [u8], has: &mut [bool]) {
        let Part { run, server, line, call } = part;
        let cluster = self.cluster();
        let shard = cluster.shard(self.names.part(run.slot / PAGES));
        let others = shard.is_some_and(|shard| !shard.replicas.is_empty());
        let wait = if others { self.timing.hedge_ns } else { self.timing.deadline_ns };
        let reply = line.wait(*call, self.now() + wait);
        if reply == Err(Silence::Late) {
            line.abandon(*call, 1);
            Troubles::add(&self.troubles.hedged, u64::from(others));
            self.note_late(server, wait);
        }
        let Ok(Reply::Bulk(bytes)) = reply else {
            self.want_refresh();
            return;
        };
        for (at, record) in (run.at..).zip(bytes.chunks(RECORD)).take(run.count) {
            let page = &mut into[at * PAGE..(at + 1) * PAGE];
            let Ok(place) = self.place_of(first + at as u64) else { continue };
            has[at] = self.judge(place, record, page) == Judgement::Right;
        }
    }

    fn note_late(&self, server: &Server, waited: u64) {
        server.note_slow(self.now());
        if waited >= self.timing.deadline_ns {
            server.hang_up();
        }
    }

    /// Makes of a record the page that was stored.
    fn judge(&self, (slot, seal): (u64, Seal), record: &[u8], page: &mut [u8]) -> Judgement {
        if record.len() != RECORD {
            return Judgement::Absent;
        }
        page.copy_from_slice(&record[..PAGE]);
        let right = self.sealing.open(slot, seal.version, self.seals.check(slot), page);
        match (right, extents::version(record)) {
            (true, _) => Judgement::Right,
            // What lies behind the page may be damaged as well; the servers that have the page will have it the next
            // time.
            (false, Some(version)) if version == seal.version => {
                Troubles::add(&self.troubles.damaged, 1);
                Judgement::Damaged
            }
            _ => Judgement::Absent,
        }
    }

    /// Reads a page from whatever server has it.
    fn read_again(&self, page: u64, into: &mut [u8]) -> Result<(), FarError> {
        let give_up = self.now() + self.timing.patience_ns;
        let mut wait = self.timing.hedge_ns;
        let (mut damaged, mut absent) = (0, 0);
        loop {
            self.check()?;
            let (slot, seal) = self.place_of(page)?;
            let cluster = self.cluster();
            let part = self.names.part(slot / PAGES);
            let servers: Vec<_> =
                cluster.shard(part).iter().flat_map(|shard| shard.all()).cloned().collect();
            let mut here_absent = 0;
            for server in &servers {
                match self.read_from(server, (slot, seal), into, wait) {
                    Judgement::Right => return Ok(()),
                    Judgement::Damaged => damaged += 1,
                    Judgement::Absent => here_absent += 1,
                    Judgement::Silent => {}
                }
            }
            if damaged >= TRIES {
                return Err(FarError::Damaged(page));
            }
            absent = if here_absent > 0 && here_absent == servers.len() { absent + 1 } else { 0 };
            if absent >= SURE {
                return Err(FarError::Lost(page));
            }
            if self.now() > give_up {
                return Err(FarError::NodeLost);
            }
            wait = (wait * 2).min(self.timing.deadline_ns);
            self.want_refresh();
            self.network.rest(if absent > 0 { SURE_NS } else { 1_000_000 });
        }
    }

    /// Reads a page from one server.
    fn read_from(
        &self,
        server: &Server,
        (slot, seal): (u64, Seal),
        into: &mut [u8],
        wait: u64,
    ) -> Judgement {
        let Some(line) = server.line(Errand::Demand) else { return Judgement::Silent };
        let mut command = Vec::new();
        self.ask_for(&mut command, &Run { at: 0, slot, count: 1 });
        let Ok(call) = line.send(&mut [IoSlice::new(&command)], 1) else {
            return Judgement::Silent;
        };
        match line.wait(call, self.now() + wait) {
            Ok(Reply::Bulk(record)) => self.judge((slot, seal), &record, into),
            Ok(_) | Err(Silence::Broken) => Judgement::Silent,
            Err(Silence::Late) => {
                line.abandon(call, 1);
                self.note_late(server, wait);
                Judgement::Silent
            }
        }
    }
}
