//! Reading parts of pages: from one node that has the page, and from the next if that does not answer, or answers
//! wrongly.

use std::sync::Arc;

use farside_os::memory::PAGE;
use farside_wire::frame::{Code, Kind, MOST, Record};
use farside_wire::page_part::PagePart;
use smallvec::{SmallVec, smallvec};

use super::line::{CallId, Line, Silence};
use super::peer::Weight;
use super::reading::{Readings, Tries, bits};
use super::{Remote, slot_of};
use crate::block_checks::Grain;
use crate::seals::Seal;
use crate::troubles::Troubles;
use crate::{FarError, Part, Ticket};

/// What a node is asked for.
#[derive(Copy, Clone)]
struct Ask {
    /// The place of what is wanted among the parts by page.
    at: usize,
    /// All blocks of which some bytes are wanted.
    part: PagePart,
    grain: Grain,
    version: u64,
}

/// A request of a read.
pub struct PartRequest {
    peer: usize,
    line: Arc<Line>,
    call: CallId,
    asks: SmallVec<[Ask; 2]>,
}

/// Reads of parts.
pub type PartReadings = Readings<PartRequest>;

/// Where a part can be found.
enum Found {
    /// It was never stored.
    Nowhere,
    /// In a page that is recognised as a whole.
    InPage,
    /// In blocks.
    InBlocks(Ask, Seal),
}

impl Remote {
    /// Where a part of one page can be found, which has the place `at` among others.
    fn find_part(&self, at: usize, part: &Part) -> Found {
        let Some(block) = self.slots.block(part.page()) else { return Found::Nowhere };
        let slot = slot_of(block);
        let seal = self.seals.get(slot);
        let Some((grain, _)) = self.seals.blocks(slot) else { return Found::InPage };
        let part = PagePart::around(slot, grain.around(part.within()));
        Found::InBlocks(Ask { at, part, grain, version: seal.version }, seal)
    }

    /// Sends for parts; what cannot be sent for now is read later.
    pub(super) fn begin_reading_parts(&self, parts: &[Part]) -> Ticket {
        let first = parts.first().map_or(0, Part::page);
        let later = Ticket { first, count: 0, ready_at: 0, call: 0 };
        let Some(number) = self.part_readings.take() else { return later };
        let mut asked: SmallVec<[(usize, Ask); 4]> = SmallVec::new();
        for (at, part) in parts.iter().flat_map(|part| part.by_page()).enumerate() {
            if let Found::InBlocks(ask, seal) = self.find_part(at, &part)
                && let Some(node) = self.best(ask.part.slot, seal)
            {
                asked.push((node, ask));
            }
        }
        let bytes: usize = asked.iter().map(|(_, ask)| ask.part.len()).sum();
        let weight = if bytes <= PAGE { Weight::Light } else { Weight::Heavy };
        let requests = &mut *self.part_readings.parts(number);
        for peer in bits(asked.iter().fold(0, |nodes, (node, _)| nodes | 1 << node)) {
            let Some(line) = self.peers[peer].line(weight) else { continue };
            let mut mine = asked.iter().filter(|(node, _)| *node == peer).map(|(_, ask)| *ask);
            loop {
                let asks: SmallVec<[Ask; 2]> = mine.by_ref().take(MOST).collect();
                let records: SmallVec<[Record; 2]> =
                    asks.iter().map(|ask| ask.part.read(ask.version)).collect();
                if records.is_empty() {
                    break;
                }
                if let Ok(call) = line.send(Kind::ReadParts, &records, &[]) {
                    requests.push(PartRequest { peer, line: Arc::clone(&line), call, asks });
                }
            }
        }
        Ticket { call: number, ..later }
    }

    /// Whether all replies about parts that were sent for have come.
    pub(super) fn are_parts_read(&self, ticket: &Ticket) -> bool {
        let is_over = |request: &PartRequest| request.line.has_reply(request.call);
        ticket.call == 0 || self.part_readings.parts(ticket.call).iter().all(is_over)
    }

    /// Waits for parts that were sent for, and sees to it that they are those that were stored.
    pub(super) fn finish_reading_parts(
        &self,
        ticket: Ticket,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<(), FarError> {
        let parts: SmallVec<[Part; 4]> = parts.iter().flat_map(|part| part.by_page()).collect();
        let mut got: SmallVec<[bool; 8]> = smallvec![false; parts.len()];
        if ticket.call != 0 {
            let mut requests = self.part_readings.parts(ticket.call);
            for request in requests.drain(..) {
                self.finish_request(&request, &parts, &mut got, into);
            }
            drop(requests);
            self.part_readings.give(ticket.call);
        }
        let missing = parts.iter().zip(got).filter(|(_, got)| !got);
        missing.map(|(part, _)| part).try_for_each(|part| self.read_part_again(part, into))
    }

    /// Waits for the reply to a request, and takes note of what has come as it was stored.
    fn finish_request(
        &self,
        request: &PartRequest,
        parts: &[Part],
        got: &mut [bool],
        into: &mut [u8],
    ) {
        let PartRequest { peer: node, line, call, asks } = request;
        let peer = &self.peers[*node];
        let others = self.copies > 1;
        let wait = if others { self.timing.hedge_ns } else { self.timing.deadline_ns };
        match line.wait(*call, &mut None, self.now() + wait) {
            Ok(reply) => {
                peer.note(&reply, || self.now());
                let mut content = reply.parts();
                for (place, ask) in asks.iter().enumerate() {
                    let outcome = reply.outcome(place);
                    let len = if outcome == Code::Done { ask.part.len() } else { 0 };
                    // What comes after less than it should be is nothing.
                    let (bytes, rest) = content.split_at_checked(len).unwrap_or_default();
                    content = rest;
                    let came = self.take_part(*node, ask, outcome, bytes, &parts[ask.at], into);
                    got[ask.at] = came == Some(true);
                }
            }
            Err(silence) => {
                if silence == Silence::Late {
                    line.abandon(*call);
                    Troubles::add(&self.troubles.hedged, u64::from(others));
                    self.note_late(peer, wait);
                }
            }
        }
    }

    /// Puts what came of a part into its place, if it is what was stored; whether it is. `None` if it did not come, or the
    /// page lies elsewhere by now, so that nobody can tell.
    fn take_part(
        &self,
        node: usize,
        ask: &Ask,
        outcome: Code,
        bytes: &[u8],
        part: &Part,
        into: &mut [u8],
    ) -> Option<bool> {
        let PagePart { slot, .. } = ask.part;
        // Another process may have the slot alone by now, and store something else there: it is looked at before whose
        // slot it is.
        let right = outcome == Code::Done
            && self.seals.blocks(slot).is_some_and(|(grain, blocks)| {
                grain == ask.grain && blocks.are_right(slot, grain, ask.part.range(), bytes)
            });
        let Found::InBlocks(now, seal) = self.find_part(ask.at, part) else { return None };
        if now.part != ask.part || now.grain != ask.grain {
            return None;
        }
        if outcome != Code::Done {
            // What is not there will not be, unless it was stored anew meanwhile.
            let is_gone = matches!(outcome, Code::Missing | Code::OtherVersion);
            if is_gone && now.version == ask.version {
                self.drop_copy(slot, seal, node);
            }
            return None;
        }
        if right {
            let start = part.within().start - ask.part.range().start;
            into[part.range()].copy_from_slice(&bytes[start..start + part.len as usize]);
        } else {
            Troubles::add(&self.troubles.damaged, 1);
        }
        Some(right)
    }

    /// Reads a whole page that is recognised by blocks.
    pub(super) fn read_by_parts(&self, page: u64, into: &mut [u8]) -> Result<(), FarError> {
        self.read_part_again(&Part { start: page * PAGE as u64, len: PAGE as u32, place: 0 }, into)
    }

    /// Reads a part of one page from whatever node has it.
    fn read_part_again(&self, part: &Part, into: &mut [u8]) -> Result<(), FarError> {
        let give_up = self.now() + self.timing.patience_ns;
        let mut tries = Tries::default();
        let mut wait = self.timing.hedge_ns;
        loop {
            self.check()?;
            let (ask, seal) = match self.find_part(0, part) {
                Found::InBlocks(ask, seal) => (ask, seal),
                Found::Nowhere => {
                    into[part.range()].fill(0);
                    return Ok(());
                }
                Found::InPage => {
                    let mut page = [0; PAGE];
                    self.read_again(part.page(), &mut page)?;
                    into[part.range()].copy_from_slice(&page[part.within()]);
                    return Ok(());
                }
            };
            let slot = ask.part.slot;
            if seal.nodes == 0 {
                return Err(FarError::Lost(part.page()));
            }
            let Some(node) = self.next_node(slot, seal, &mut tries) else {
                if self.now() > give_up {
                    return Err(FarError::NodeLost);
                }
                self.network.rest(1_000_000);
                continue;
            };
            match self.read_part_from(node, &ask, part, into, wait) {
                Some(true) => return Ok(()),
                Some(false) if self.is_hopeless(node, slot, seal, &mut tries) => {
                    return Err(FarError::Damaged(part.page()));
                }
                _ => {}
            }
            wait = (wait * 2).min(self.timing.deadline_ns);
        }
    }

    /// Reads a part from one node; whether it is what was stored, if it came.
    fn read_part_from(
        &self,
        node: usize,
        ask: &Ask,
        part: &Part,
        into: &mut [u8],
        wait: u64,
    ) -> Option<bool> {
        let peer = &self.peers[node];
        let line = peer.line(Weight::Light)?;
        let call = line.send(Kind::ReadParts, &[ask.part.read(ask.version)], &[]).ok()?;
        match line.wait(call, &mut None, self.now() + wait) {
            Ok(reply) => {
                peer.note(&reply, || self.now());
                self.take_part(node, ask, reply.outcome(0), reply.parts(), part, into)
            }
            Err(silence) => {
                if silence == Silence::Late {
                    line.abandon(call);
                    self.note_late(peer, wait);
                }
                None
            }
        }
    }
}
