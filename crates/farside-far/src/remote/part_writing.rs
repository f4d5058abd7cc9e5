//! Writing parts of pages: all nodes that have a page take them, or have it no more.

use std::sync::Arc;

use farside_os::memory::PAGE;
use farside_wire::frame::{Code, Kind, MOST, Record, page_check};
use farside_wire::page_part::PagePart;
use smallvec::SmallVec;

use super::line::{CallId, Line, Silence};
use super::parts::OfPage;
use super::peer::{Peer, Weight};
use super::reading::bits;
use super::writing::{REST_NS, TRIES};
use super::{Remote, slot_of};
use crate::block_checks::Grain;
use crate::seals::{MOST_NODES, Seal};
use crate::slots::RAW_UNITS;
use crate::troubles::Troubles;
use crate::{FarError, Part};

/// What is stored of one page.
struct Writing<'a> {
    page: u64,
    slot: u64,
    version: u64,
    grain: Grain,
    /// One for each part.
    records: SmallVec<[Record; 2]>,
    contents: SmallVec<[&'a [u8]; 2]>,
    /// By bits: nodes that have it, and those that will not take it.
    stored: u16,
    refused: u16,
    /// By node: the epoch of the pool that has it.
    epochs: [u64; MOST_NODES],
    is_full: bool,
}

/// A request about some of the pages.
struct Sending {
    peer: usize,
    line: Arc<Line>,
    call: CallId,
    pages: SmallVec<[usize; 4]>,
}

impl Remote {
    /// Stores parts of pages, which are in `from`; nobody else stores parts of these meanwhile.
    pub(super) fn store_parts(
        &self,
        pages: &[OfPage],
        from: &[u8],
        grain: Grain,
    ) -> Result<(), FarError> {
        let mut writings: SmallVec<[Writing<'_>; 1]> = SmallVec::new();
        let mut others: SmallVec<[&OfPage; 4]> = SmallVec::new();
        for of_page in pages {
            match self.part_writing(of_page, from, grain) {
                Some(writing) => writings.push(writing),
                None => others.push(of_page),
            }
        }
        if !writings.is_empty() {
            let result = self.send_parts(&mut writings);
            writings.iter().filter(|writing| writing.stored != 0).for_each(|writing| {
                self.note_parts(writing);
            });
            result?;
        }
        others.chunks(MOST).try_for_each(|some| self.store_around(some, from, grain))
    }

    /// What is to be stored of a page; `None` if it has to be stored as a whole.
    fn part_writing<'a>(
        &self,
        (page, parts): &OfPage,
        from: &'a [u8],
        grain: Grain,
    ) -> Option<Writing<'a>> {
        let slot = slot_of(self.slots.writable_block(*page, RAW_UNITS)?);
        let (known, _) = self.seals.blocks(slot)?;
        let fits = |part: &Part| grain.around(part.within()) == part.within();
        if known != grain || parts.len() > MOST || !parts.iter().all(fits) {
            return None;
        }
        let before = self.seals.get(slot).version;
        let version = self.seals.take_versions(1);
        let contents: SmallVec<[&[u8]; 2]> = parts.iter().map(|part| &from[part.range()]).collect();
        let record = |(part, bytes): (&Part, &&[u8])| {
            PagePart::around(slot, part.within()).write(version, before, page_check(bytes))
        };
        let records = parts.iter().zip(&contents).map(record).collect::<Option<_>>()?;
        Some(Writing {
            page: *page,
            slot,
            version,
            grain,
            records,
            contents,
            stored: 0,
            refused: 0,
            epochs: [0; MOST_NODES],
            is_full: false,
        })
    }

    /// Stores pages as a whole, with parts of them changed.
    fn store_around(&self, pages: &[&OfPage], from: &[u8], grain: Grain) -> Result<(), FarError> {
        let mut contents = vec![0; pages.len() * PAGE];
        for ((page, parts), content) in pages.iter().zip(contents.chunks_exact_mut(PAGE)) {
            if self.slots.block(*page).is_some() {
                self.read_again(*page, content)?;
            }
            for part in parts {
                content[part.within()].copy_from_slice(&from[part.range()]);
            }
        }
        let runs: Vec<(u64, &[u8])> =
            pages.iter().map(|(page, _)| *page).zip(contents.chunks_exact(PAGE)).collect();
        self.store_runs(&runs, Some(grain))
    }

    /// Sends parts until each node that has their page, and is there, has them too, or refused: at least one has them.
    fn send_parts(&self, writings: &mut [Writing<'_>]) -> Result<(), FarError> {
        let give_up = self.now() + self.timing.patience_ns;
        let mut tries = 0;
        loop {
            self.check()?;
            for writing in writings.iter_mut() {
                writing.stored &= self.nodes_still(&writing.epochs);
                if writing.stored == 0 && self.seals.get(writing.slot).nodes == 0 {
                    return Err(FarError::Lost(writing.page));
                }
            }
            let sendings = self.send_parts_once(writings);
            if sendings.is_empty() {
                let back = self.nodes_that(Peer::may_come_back);
                let waits = writings.iter().any(|writing| self.open_nodes(writing) & back != 0);
                let lacks = writings.iter().any(|writing| writing.stored == 0);
                let is_over = self.now() > give_up;
                if !lacks && (!waits || is_over) {
                    return Ok(());
                }
                if is_over {
                    let is_full = writings.iter().any(|writing| writing.is_full);
                    return Err(if is_full { FarError::Full } else { FarError::NodeLost });
                }
                self.network.rest(REST_NS);
                if !waits {
                    // The program waits until there is room, or a node can be reached again.
                    writings.iter_mut().for_each(|writing| writing.refused = 0);
                    tries = 0;
                }
                continue;
            }
            tries += 1;
            for sending in sendings {
                self.finish_sending_parts(writings, &sending, tries >= TRIES);
            }
        }
    }

    /// By bits: nodes that have the page, of which it is not known whether they have taken the parts.
    fn open_nodes(&self, writing: &Writing<'_>) -> u16 {
        self.seals.get(writing.slot).nodes & !(writing.stored | writing.refused)
    }

    /// Sends parts to each node that may take them, and can be reached.
    fn send_parts_once(&self, writings: &[Writing<'_>]) -> SmallVec<[Sending; 2]> {
        let open: SmallVec<[u16; 4]> =
            writings.iter().map(|writing| self.open_nodes(writing)).collect();
        let mut sendings = SmallVec::new();
        for peer in bits(open.iter().fold(0, |all, nodes| all | u64::from(*nodes))) {
            let Some(line) = self.peers[peer].line(Weight::Heavy) else { continue };
            let mine = (0..writings.len()).filter(|at| open[*at] >> peer & 1 == 1);
            let mut mine = mine.peekable();
            while mine.peek().is_some() {
                let mut pages: SmallVec<[usize; 4]> = SmallVec::new();
                let mut records: SmallVec<[Record; 4]> = SmallVec::new();
                let mut contents: SmallVec<[&[u8]; 4]> = SmallVec::new();
                let fits = |count: usize, at: &usize| count + writings[*at].records.len() <= MOST;
                while let Some(at) = mine.next_if(|at| fits(records.len(), at)) {
                    pages.push(at);
                    records.extend_from_slice(&writings[at].records);
                    contents.extend_from_slice(&writings[at].contents);
                }
                // Where the connection has ended, there may be another one soon.
                let sent = line.send(Kind::WriteParts, &records, &contents);
                let sending = |call| Sending { peer, line: Arc::clone(&line), call, pages };
                sendings.extend(sent.ok().map(sending));
            }
        }
        sendings
    }

    fn finish_sending_parts(
        &self,
        writings: &mut [Writing<'_>],
        sending: &Sending,
        last_try: bool,
    ) {
        let Sending { peer: node, line, call, pages } = sending;
        let peer = &self.peers[*node];
        let until = self.now() + self.timing.deadline_ns;
        let reply = match line.wait(*call, &mut None, until) {
            Ok(reply) => reply,
            Err(silence) => {
                if silence == Silence::Late {
                    line.abandon(*call);
                    peer.note_slow(until);
                    peer.hang_up();
                }
                // They may have been stored, or not: they are sent again if there is another connection soon.
                return;
            }
        };
        peer.note(&reply, || self.now());
        let mut place = 0;
        for at in pages {
            let writing = &mut writings[*at];
            let outcome = reply.outcome(place);
            place += writing.records.len();
            match outcome {
                Code::Done => {
                    writing.stored |= 1 << node;
                    writing.epochs[*node] = line.epoch();
                }
                // They are sent again.
                Code::Damaged if !last_try => Troubles::add(&self.troubles.damaged, 1),
                outcome => {
                    writing.is_full |= outcome == Code::Full;
                    writing.refused |= 1 << node;
                    if matches!(outcome, Code::Missing | Code::OtherVersion) {
                        let seal = self.seals.get(writing.slot);
                        self.drop_copy(writing.slot, seal, *node);
                    }
                }
            }
        }
    }

    /// Takes note of parts that were stored. If nodes did not take them, others get the page at once.
    fn note_parts(&self, writing: &Writing<'_>) {
        let Writing { slot, version, grain, stored: nodes, .. } = *writing;
        let before = self.seals.get(slot).nodes;
        let seal = Seal { version, nodes };
        let places = writing.records.iter().filter_map(PagePart::of).map(|part| part.range().start);
        let parts = places.zip(writing.contents.iter().copied());
        self.seals.set_blocks(slot, seal, grain, parts);
        self.doubt_nodes(slot, seal, &writing.epochs);
        if before & !nodes == 0 {
            return;
        }
        self.forget_stale(&[(before & !nodes, Record { slot, version, check: 1, code: 0 })]);
        let lacking = |seal: Seal| (seal.nodes.count_ones() as usize) < self.copies;
        for _ in 0..self.copies {
            let seal = self.seals.get(slot);
            if !lacking(seal) || !self.copy(slot, seal) {
                break;
            }
        }
        if lacking(self.seals.get(slot)) {
            Troubles::add(&self.troubles.degraded, 1);
        }
    }
}
