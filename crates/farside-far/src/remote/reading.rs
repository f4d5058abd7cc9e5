//! Reading: from one node that has the page, and from the next if that does not answer, or answers wrongly.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farside_os::memory::PAGE;
use farside_wire::frame::{Code, Kind, MOST, Record};
use smallvec::SmallVec;

use super::line::{CallId, Line, Places, Reply, Silence};
use super::peer::{Peer, Weight};
use super::{Remote, placement, slot_of};
use crate::seals::{MOST_NODES, Seal};
use crate::troubles::Troubles;
use crate::{FarError, Ticket};

/// Reads that can be under way at once; others are done when their end is waited for.
const READINGS: usize = 1024;

/// How often a node is asked for a page that comes back damaged, until its copy is given up.
const TRIES: u32 = 3;

/// The same if no other node that has the page can be reached.
const MOST_TRIES: u32 = 64;

/// How often nodes were asked for something in vain, and gave something else.
#[derive(Default)]
pub(super) struct Tries {
    asked: [u32; MOST_NODES],
    damaged: [u32; MOST_NODES],
}

/// A request of a read.
pub struct Part {
    /// Where in the run its pages begin to be counted.
    at: usize,
    /// By bits, from there on.
    wanted: u64,
    peer: usize,
    line: Arc<Line>,
    call: CallId,
}

/// The reads under way, each of which has some requests.
pub struct Readings<T> {
    parts: Box<[Mutex<Vec<T>>]>,
    free: Mutex<Vec<u32>>,
}

/// Reads of pages.
pub type PageReadings = Readings<Part>;

impl<T> Readings<T> {
    /// None; there is room for so many requests of each, and for more if need be.
    pub fn new(requests: usize) -> Self {
        let parts = (0..READINGS).map(|_| Mutex::new(Vec::with_capacity(requests))).collect();
        Self { parts, free: Mutex::new((1..=READINGS as u32).collect()) }
    }

    pub(super) fn take(&self) -> Option<u32> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn parts(&self, number: u32) -> MutexGuard<'_, Vec<T>> {
        self.parts[number as usize - 1].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn give(&self, number: u32) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    }
}

/// Bits for the first `count` pages.
fn first_bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The numbers of the bits that are set.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(lowest)
    })
}

impl Remote {
    /// Where a page is stored, and how.
    fn place_of(&self, page: u64) -> Result<(u64, Seal), FarError> {
        let slot = slot_of(self.slots.block(page).ok_or(FarError::Missing(page))?);
        Ok((slot, self.seals.get(slot)))
    }

    /// The node to ask for a page: the best of those that can be asked.
    pub(super) fn best(&self, slot: u64, seal: Seal) -> Option<usize> {
        let can = |node: &usize| seal.is_at(*node) && self.peers[*node].is_up();
        let mut nodes = placement::order(slot, self.peers.len()).filter(can);
        let first = nodes.next()?;
        let is_fast = |node: &usize| !self.peers[*node].is_slow(|| self.now());
        if is_fast(&first) { Some(first) } else { nodes.find(is_fast).or(Some(first)) }
    }

    /// Sends for `count` pages.
    pub(super) fn begin_reading(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        let Some(number) = self.readings.take() else {
            return Ok(Ticket { first, count, ready_at: 0, call: 0 });
        };
        let parts = &mut *self.readings.parts(number);
        let weight = if count == 1 { Weight::Light } else { Weight::Heavy };
        for at in (0..count as usize).step_by(MOST) {
            let some = MOST.min(count as usize - at);
            self.send_part(parts, first + at as u64, (at, some), weight);
        }
        Ok(Ticket { first, count, ready_at: 0, call: number })
    }

    /// Sends for pages from `first` on, which lie `at` the run; what cannot be sent for now is read later.
    fn send_part(
        &self,
        parts: &mut Vec<Part>,
        first: u64,
        (at, count): (usize, usize),
        weight: Weight,
    ) {
        let mut wanted = [0u64; MOST_NODES];
        let mut records: SmallVec<[Record; 2]> = SmallVec::with_capacity(count);
        for i in 0..count {
            let Ok((slot, seal)) = self.place_of(first + i as u64) else {
                records.push(Record::default());
                continue;
            };
            records.push(Record { slot, version: seal.version, ..Record::default() });
            // One that is moved by parts is read as such, later: of which version it is may not be known.
            let is_whole = self.seals.blocks(slot).is_none();
            if is_whole && let Some(node) = self.best(slot, seal) {
                wanted[node] |= 1 << i;
            }
        }
        for (peer, wanted) in wanted.into_iter().enumerate().filter(|(_, wanted)| *wanted != 0) {
            let Some(line) = self.peers[peer].line(weight) else { continue };
            let asked: SmallVec<[Record; 2]> = bits(wanted).map(|bit| records[bit]).collect();
            if let Ok(call) = line.send(Kind::Read, &asked, &[]) {
                parts.push(Part { at, wanted, peer, line, call });
            }
        }
    }

    /// Whether all replies about pages that were sent for have come.
    pub(super) fn is_read(&self, ticket: &Ticket) -> bool {
        ticket.call == 0
            || self.readings.parts(ticket.call).iter().all(|part| part.line.has_reply(part.call))
    }

    /// Waits for pages that were sent for, and sees to it that they are those that were stored.
    pub(super) fn finish_reading(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        let reading = (ticket.call != 0).then(|| self.readings.parts(ticket.call));
        let mut parts = reading.iter().flat_map(|parts| parts.iter()).peekable();
        let mut result = Ok(());
        for (chunk, run) in into.chunks_mut(MOST * PAGE).enumerate() {
            let first = ticket.first + (chunk * MOST) as u64;
            let mut missing = first_bits(run.len() / PAGE);
            while let Some(part) = parts.next_if(|part| part.at == chunk * MOST) {
                missing &= !self.finish_part(part, first, run);
            }
            for at in bits(missing) {
                let page = &mut run[at * PAGE..(at + 1) * PAGE];
                result = result.and_then(|()| self.read_again(first + at as u64, page));
            }
        }
        if let Some(mut parts) = reading {
            parts.clear();
            drop(parts);
            self.readings.give(ticket.call);
        }
        result
    }

    /// Waits for the reply to a request; returns, by bits, which of its pages have come as they were stored.
    fn finish_part(&self, part: &Part, first: u64, run: &mut [u8]) -> u64 {
        let peer = &self.peers[part.peer];
        let others = self.copies > 1;
        let wait = if others { self.timing.hedge_ns } else { self.timing.deadline_ns };
        let mut places = Some(Places { into: &mut run[..], wanted: part.wanted });
        let until = self.now() + wait;
        match part.line.wait(part.call, &mut places, until) {
            Ok(reply) => {
                peer.note(&reply, || self.now());
                if reply.code != Code::Done {
                    return 0;
                }
                let mut got = 0;
                for (place, bit) in bits(part.wanted).enumerate() {
                    let page = &mut run[bit * PAGE..(bit + 1) * PAGE];
                    if self.is_right(first + bit as u64, part.peer, (&reply, place), page) {
                        got |= 1 << bit;
                    }
                }
                got
            }
            Err(silence) => {
                if silence == Silence::Late {
                    part.line.abandon(part.call);
                    Troubles::add(&self.troubles.hedged, u64::from(others));
                    self.note_late(peer, wait);
                }
                0
            }
        }
    }

    pub(super) fn note_late(&self, peer: &Peer, waited: u64) {
        peer.note_slow(self.now());
        if waited >= self.timing.deadline_ns {
            peer.hang_up();
        }
    }

    /// Makes of a page, at `place` in a node's reply, what was stored; if it is something else, that is taken note of.
    fn is_right(
        &self,
        page: u64,
        node: usize,
        (reply, place): (&Reply, usize),
        bytes: &mut [u8],
    ) -> bool {
        let Ok((slot, seal)) = self.place_of(page) else { return false };
        if reply.failed >> place & 1 == 1 {
            // What is damaged may be whole the next time; what is not there will not be.
            if matches!(reply.failure, Code::Missing | Code::OtherVersion) {
                self.drop_copy(slot, seal, node);
            }
            return false;
        }
        let right = self.sealing.open(slot, seal.version, self.seals.check(slot), bytes);
        if !right {
            Troubles::add(&self.troubles.damaged, 1);
        }
        right
    }

    /// A node does not have a page any more that it should have.
    pub(super) fn drop_copy(&self, slot: u64, seal: Seal, node: usize) {
        if seal.is_at(node) && self.seals.change_node(slot, seal.version, node, false) {
            Troubles::add(&self.troubles.lost_copies, 1);
        }
    }

    /// Reads a page from whatever node has it.
    pub(super) fn read_again(&self, page: u64, into: &mut [u8]) -> Result<(), FarError> {
        let give_up = self.now() + self.timing.patience_ns;
        let mut tries = Tries::default();
        let mut wait = self.timing.hedge_ns;
        loop {
            self.check()?;
            let (slot, seal) = self.place_of(page)?;
            if self.seals.blocks(slot).is_some() {
                return self.read_by_parts(page, into);
            }
            if seal.nodes == 0 {
                return Err(FarError::Lost(page));
            }
            let Some(node) = self.next_node(slot, seal, &mut tries) else {
                if self.now() > give_up {
                    return Err(FarError::NodeLost);
                }
                self.network.rest(1_000_000);
                continue;
            };
            match self.read_from(node, page, (slot, seal), into, wait) {
                Some(true) => return Ok(()),
                Some(false) if self.is_hopeless(node, slot, seal, &mut tries) => {
                    return Err(FarError::Damaged(page));
                }
                _ => {}
            }
            wait = (wait * 2).min(self.timing.deadline_ns);
        }
    }

    /// The node to ask next for what is in a slot, of those that can be asked.
    pub(super) fn next_node(&self, slot: u64, seal: Seal, tries: &mut Tries) -> Option<usize> {
        let can = |node: &usize| seal.is_at(*node) && self.peers[*node].is_up();
        let nodes = placement::order(slot, self.peers.len()).filter(can);
        let now = self.now();
        let rank = |node: &usize| (tries.asked[*node], self.peers[*node].is_slow(|| now));
        let node = nodes.min_by_key(rank)?;
        tries.asked[node] += 1;
        Some(node)
    }

    /// What a node gave was damaged. If that happens again and again, it is damaged not on its way, but where it lies:
    /// that copy is given up, if there are others; if not, it is hopeless.
    pub(super) fn is_hopeless(
        &self,
        node: usize,
        slot: u64,
        seal: Seal,
        tries: &mut Tries,
    ) -> bool {
        tries.damaged[node] += 1;
        let damaged = tries.damaged[node];
        let others = self.nodes_that(Peer::is_up) & seal.nodes & !(1 << node);
        if (TRIES..MOST_TRIES).contains(&damaged) && others != 0 {
            self.drop_copy(slot, seal, node);
        }
        damaged >= MOST_TRIES
    }

    /// Reads a page from one node; whether it is what was stored, if it came.
    fn read_from(
        &self,
        node: usize,
        page: u64,
        (slot, seal): (u64, Seal),
        into: &mut [u8],
        wait: u64,
    ) -> Option<bool> {
        let peer = &self.peers[node];
        let line = peer.line(Weight::Light)?;
        let record = Record { slot, version: seal.version, ..Record::default() };
        let call = line.send(Kind::Read, &[record], &[]).ok()?;
        let mut places = Some(Places { into: &mut into[..], wanted: 1 });
        match line.wait(call, &mut places, self.now() + wait) {
            Ok(reply) => {
                peer.note(&reply, || self.now());
                let came = reply.code == Code::Done && reply.failed == 0;
                let right =
                    reply.code == Code::Done && self.is_right(page, node, (&reply, 0), into);
                came.then_some(right)
            }
            Err(Silence::Late) => {
                line.abandon(call);
                self.note_late(peer, wait);
                None
            }
            Err(_) => None,
        }
    }

    /// Reads what a node has in a slot, as it is stored, for a repair; its version if it is right.
    pub(super) fn read_copy(&self, node: usize, slot: u64, into: &mut [u8; PAGE]) -> Option<u64> {
        let peer = &self.peers[node];
        let (version, check) = (self.seals.get(slot).version, self.seals.check(slot));
        let line = peer.line(Weight::Heavy)?;
        let record = Record { slot, version, ..Record::default() };
        let call = line.send(Kind::Read, &[record], &[]).ok()?;
        let mut places = Some(Places { into: &mut into[..], wanted: 1 });
        match line.wait(call, &mut places, self.now() + self.timing.deadline_ns) {
            Ok(reply) if reply.code == Code::Done && reply.failed == 0 => {
                let right = match self.seals.blocks(slot) {
                    Some((grain, blocks)) => blocks.are_right(slot, grain, 0..PAGE, &into[..]),
                    None => self.sealing.open(slot, version, check, &mut into.clone()),
                };
                right.then_some(version)
            }
            Ok(_) => None,
            Err(_) => {
                line.abandon(call);
                None
            }
        }
    }
}
