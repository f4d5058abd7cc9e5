//! Writing: a page is stored once as many nodes have it as there should be.

use std::sync::{Arc, PoisonError};

use farside_os::memory::PAGE;
use farside_wire::frame::{Code, Kind, MOST, Record, page_check};
use farside_wire::pool::Block;

use super::line::{CallId, Line, Silence};
use super::peer::{Peer, Weight};
use super::reading::bits;
use super::{Remote, placement, slot_of};
use crate::FarError;
use crate::block_checks::Grain;
use crate::seals::{MOST_NODES, Seal};
use crate::slots::RAW_UNITS;
use crate::troubles::Troubles;

/// How long a writer rests before it tries again to find a node that has room.
pub(super) const REST_NS: u64 = 2_000_000;

/// How often a page that was damaged on its way is sent again.
pub(super) const TRIES: u32 = 8;

/// Pages on their way to nodes.
struct Batch<'a> {
    /// What is to be stored of each page.
    pages: [&'a [u8]; MOST],
    count: usize,
    records: [Record; MOST],
    /// By what each is recognised.
    tags: [u128; MOST],
    /// By page: the nodes that have it, and those that will not take it.
    stored: [u16; MOST],
    refused: [u16; MOST],
    /// By node: the epoch of the pool that has them.
    epochs: [u64; MOST_NODES],
    is_full: bool,
    /// How long the blocks are by which the pages are to be recognised, if not as a whole.
    grain: Option<Grain>,
}

/// A request of a batch.
struct Sending {
    peer: usize,
    wanted: u64,
    line: Arc<Line>,
    call: CallId,
}

impl Remote {
    /// Stores runs of pages, each with its first page; they are recognised by blocks if it is said how long these are.
    pub(super) fn store_runs(
        &self,
        runs: &[(u64, &[u8])],
        grain: Option<Grain>,
    ) -> Result<(), FarError> {
        let mut pages = [(0, &[][..]); MOST];
        let mut count = 0;
        for (first, bytes) in runs {
            for page in (*first..).zip(bytes.chunks_exact(PAGE)) {
                pages[count] = page;
                count += 1;
                if count == MOST {
                    self.store_some(&pages, grain)?;
                    count = 0;
                }
            }
        }
        if count > 0 { self.store_some(&pages[..count], grain) } else { Ok(()) }
    }

    /// Stores up to [`MOST`] pages.
    fn store_some(&self, pages: &[(u64, &[u8])], grain: Option<Grain>) -> Result<(), FarError> {
        let mut blocks = [(Block { unit: 0, units: RAW_UNITS }, false); MOST];
        self.slots.find_room(pages, &mut blocks[..pages.len()])?;
        let mut buffer = self.sealing.changes_pages().then(|| self.take_buffer());
        let result = self
            .prepare(pages, &blocks, buffer.as_deref_mut())
            .and_then(|batch| self.store_batch(pages, &blocks, &mut Batch { grain, ..batch }));
        if let Some(buffer) = buffer {
            self.give_buffer(buffer);
        }
        result
    }

    /// Makes of pages what is stored of them, in `buffer` if that differs.
    fn prepare<'a>(
        &self,
        pages: &[(u64, &'a [u8])],
        blocks: &[(Block, bool)],
        buffer: Option<&'a mut [u8]>,
    ) -> Result<Batch<'a>, FarError> {
        let first_version = self.seals.take_versions(pages.len() as u64);
        let mut batch = Batch {
            pages: [&[]; MOST],
            count: pages.len(),
            records: [Record::default(); MOST],
            tags: [0; MOST],
            stored: [0; MOST],
            refused: [0; MOST],
            epochs: [0; MOST_NODES],
            is_full: false,
            grain: None,
        };
        let mut room = buffer.map(|buffer| buffer.chunks_exact_mut(PAGE));
        for (at, (_, page)) in pages.iter().enumerate() {
            let (slot, version) = (slot_of(blocks[at].0), first_version + at as u64);
            let check;
            match room.as_mut().and_then(Iterator::next) {
                Some(content) => {
                    content.copy_from_slice(page);
                    batch.tags[at] = self.sealing.seal(slot, version, content)?;
                    check = page_check(content);
                    batch.pages[at] = content;
                }
                None => {
                    check = page_check(page);
                    batch.tags[at] = check.into();
                    batch.pages[at] = page;
                }
            }
            batch.records[at] = Record { slot, version, check, code: 0 };
        }
        Ok(batch)
    }

    /// Sends what is stored of pages, and takes note of which nodes have it.
    fn store_batch(
        &self,
        pages: &[(u64, &[u8])],
        blocks: &[(Block, bool)],
        batch: &mut Batch<'_>,
    ) -> Result<(), FarError> {
        let result = self.send_copies(batch);
        let mut stale: Vec<(u16, Record)> = Vec::new();
        for (at, (page, _)) in pages.iter().enumerate() {
            let (block, fresh) = blocks[at];
            let Record { slot, version, .. } = batch.records[at];
            let nodes = batch.stored[at];
            if nodes == 0 {
                // What the page held before is still there, if it was stored.
                if fresh {
                    self.slots.give_back(&[block]);
                }
                continue;
            }
            let before = self.seals.get(slot).nodes;
            if before & !nodes != 0 && !fresh {
                let record = Record { slot, version, check: 1, code: 0 };
                stale.push((before & !nodes, record));
            }
            let seal = Seal { version, nodes };
            match batch.grain {
                Some(grain) => {
                    let all = [(0, batch.pages[at])].into_iter();
                    self.seals.set_blocks(slot, seal, grain, all);
                }
                None => self.seals.set(slot, seal, batch.tags[at]),
            }
            self.doubt_nodes(slot, seal, &batch.epochs);
            if fresh {
                self.slots.set(*page, block);
            }
        }
        self.forget_stale(&stale);
        result
    }

    /// Of nodes that were just said to have what is in a slot, those have not that have lost all since: whoever found that
    /// out could not know of it.
    pub(super) fn doubt_nodes(&self, slot: u64, seal: Seal, epochs: &[u64; MOST_NODES]) {
        for node in bits(seal.nodes.into()) {
            if self.seals.epoch(node) != epochs[node] {
                self.seals.change_node(slot, seal.version, node, false);
            }
        }
    }

    /// Tells nodes that have an older version of pages that they can forget it.
    pub(super) fn forget_stale(&self, stale: &[(u16, Record)]) {
        let nodes = stale.iter().fold(0, |all, (nodes, _)| all | nodes);
        for node in bits(nodes.into()) {
            let mine = stale.iter().filter(|(nodes, _)| nodes >> node & 1 == 1);
            let mine: Vec<Record> = mine.map(|(_, record)| *record).collect();
            self.peers[node].forget(&mine);
        }
    }

    /// Room for sealed pages.
    fn take_buffer(&self) -> Vec<u8> {
        let kept = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| vec![0; MOST * PAGE])
    }

    fn give_buffer(&self, buffer: Vec<u8>) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }

    /// Sends pages until enough nodes have each. If there are too few nodes, at least one has each.
    fn send_copies(&self, batch: &mut Batch<'_>) -> Result<(), FarError> {
        let give_up = self.now() + self.timing.patience_ns;
        let mut tries = 0;
        loop {
            self.check()?;
            self.discount_lost(batch);
            let mut sending = self.send_round(batch, Peer::takes_pages);
            if sending.is_empty() && self.may_find_more(batch) && self.now() <= give_up {
                self.network.rest(REST_NS);
                continue;
            }
            if sending.is_empty() && batch.stored[..batch.count].contains(&0) {
                // Better on a node that is about to end than nowhere.
                sending = self.send_round(batch, Peer::has_room);
            }
            if sending.is_empty() {
                let none = |at: &usize| batch.stored[*at] == 0;
                let Some(_) = (0..batch.count).find(none) else {
                    let few = |at: &usize| (batch.stored[*at].count_ones() as usize) < self.copies;
                    let degraded = (0..batch.count).filter(few).count();
                    Troubles::add(&self.troubles.degraded, degraded as u64);
                    return Ok(());
                };
                if self.now() > give_up {
                    return Err(if batch.is_full { FarError::Full } else { FarError::NodeLost });
                }
                // The program waits until there is room, or a node can be reached again.
                self.network.rest(REST_NS);
                batch.refused = [0; MOST];
                tries = 0;
                continue;
            }
            tries += 1;
            for sending in sending {
                self.finish_sending(batch, &sending, tries >= TRIES);
            }
        }
    }

    /// By bits: nodes that are there, and have not lost what they took in these epochs.
    pub(super) fn nodes_still(&self, epochs: &[u64; MOST_NODES]) -> u16 {
        let has = |(node, peer): (usize, &Peer)| {
            let is_there = peer.is_up() || peer.may_come_back();
            u16::from(is_there && self.seals.epoch(node) == epochs[node]) << node
        };
        self.peers.iter().enumerate().map(has).sum()
    }

    /// What was stored on nodes that are gone by now, or have lost it, is not stored there.
    fn discount_lost(&self, batch: &mut Batch<'_>) {
        let have = self.nodes_still(&batch.epochs);
        batch.stored[..batch.count].iter_mut().for_each(|stored| *stored &= have);
    }

    /// Whether pages that too few nodes have may soon find another one: one to which the connection has just ended.
    fn may_find_more(&self, batch: &Batch<'_>) -> bool {
        let back = |(node, peer): (usize, &Peer)| u16::from(peer.may_come_back()) << node;
        let back: u16 = self.peers.iter().enumerate().map(back).sum();
        (0..batch.count).any(|at| {
            let is_lacking = (batch.stored[at].count_ones() as usize) < self.copies;
            is_lacking && back & !(batch.stored[at] | batch.refused[at]) != 0
        })
    }

    /// Sends each page that too few nodes have to as many more, if there are such.
    fn send_round(
        &self,
        batch: &mut Batch<'_>,
        takes_pages: impl Fn(&Peer, u64) -> bool,
    ) -> Vec<Sending> {
        let now = self.now();
        let mut wanted = [0u64; MOST_NODES];
        for at in 0..batch.count {
            let slot = batch.records[at].slot;
            let lacking = self.copies.saturating_sub(batch.stored[at].count_ones() as usize);
            let tried = batch.stored[at] | batch.refused[at];
            let can = |node: &usize| {
                let peer = &self.peers[*node];
                let knows = batch.grain.is_none() || peer.knows_parts();
                tried >> node & 1 == 0 && knows && takes_pages(peer, now)
            };
            for node in placement::order(slot, self.peers.len()).filter(can).take(lacking) {
                wanted[node] |= 1 << at;
            }
        }
        let mut all = Vec::new();
        for (peer, wanted) in wanted.into_iter().enumerate().filter(|(_, wanted)| *wanted != 0) {
            let sent = self.peers[peer].line(Weight::Heavy).and_then(|line| {
                let mut records = [Record::default(); MOST];
                let mut pages = [&[][..]; MOST];
                let count = wanted.count_ones() as usize;
                for (place, at) in bits(wanted).enumerate() {
                    records[place] = batch.records[at];
                    pages[place] = batch.pages[at];
                }
                let call = line.send(Kind::Write, &records[..count], &pages[..count]).ok()?;
                Some(Sending { peer, wanted, line, call })
            });
            // Where the connection has ended, there may be another one soon.
            all.extend(sent);
        }
        all
    }

    fn finish_sending(&self, batch: &mut Batch<'_>, sending: &Sending, last_try: bool) {
        let Sending { peer: node, wanted, line, call } = sending;
        let peer = &self.peers[*node];
        let until = self.now() + self.timing.deadline_ns;
        let (failed, failure) = match line.wait(*call, &mut None, until) {
            Ok(reply) => {
                peer.note(&reply, || self.now());
                if reply.code == Code::Done {
                    (reply.failed, reply.failure)
                } else {
                    (u64::MAX, reply.code)
                }
            }
            Err(silence) => {
                if silence == Silence::Late {
                    line.abandon(*call);
                    peer.note_slow(until);
                    peer.hang_up();
                }
                // It may have been stored, or not: it is sent again if there is another connection soon.
                return;
            }
        };
        for (place, at) in bits(*wanted).enumerate() {
            let bit = 1 << node;
            match failed >> place & 1 == 1 {
                false => {
                    batch.stored[at] |= bit;
                    batch.epochs[*node] = line.epoch();
                }
                // It is sent again.
                true if failure == Code::Damaged && !last_try => {
                    Troubles::add(&self.troubles.damaged, 1);
                }
                true => {
                    batch.is_full |= failure == Code::Full;
                    batch.refused[at] |= bit;
                }
            }
        }
    }

    /// Gives a node a copy of a page, for a repair; whether it took it.
    pub(super) fn write_copy(&self, node: usize, (slot, version): (u64, u64), page: &[u8]) -> bool {
        let peer = &self.peers[node];
        let Some(line) = peer.line(Weight::Heavy) else { return false };
        let record = Record { slot, version, check: page_check(page), code: 0 };
        let Ok(call) = line.send(Kind::Write, &[record], &[page]) else { return false };
        match line.wait(call, &mut None, self.now() + self.timing.deadline_ns) {
            Ok(reply) => {
                peer.note(&reply, || self.now());
                reply.code == Code::Done && reply.failed == 0
            }
            Err(_) => {
                line.abandon(call);
                false
            }
        }
    }
}
