//! Writing: a page is stored once all replicas of its shard say that they have it.

use std::collections::BTreeSet;
use std::io::IoSlice;
use std::sync::{Arc, PoisonError};

use farside_os::memory::PAGE;
use farside_wire::frame::page_check;
use farside_wire::pool::Block;

use super::extents::{PAGES, RECORD, TRAILER, place, trailer};
use super::line::{Call, Line, Silence};
use super::resp::{self, Reply};
use super::server::{Errand, Server};
use super::{Cluster, Redis, slot_of};
use crate::FarError;
use crate::seals::Seal;
use crate::slots::RAW_UNITS;

/// Most pages stored at a time.
const MOST: usize = 64;

/// How long a writer rests before it tries again.
const REST_NS: u64 = 2_000_000;

/// A page on its way.
struct Leaving<'a> {
    /// The page that it is.
    page: u64,
    block: Block,
    /// Whether nobody had the slot before.
    fresh: bool,
    version: u64,
    tag: u128,
    /// What is stored of it.
    content: &'a [u8],
    trailer: [u8; TRAILER],
    is_stored: bool,
}

impl Leaving<'_> {
    fn slot(&self) -> u64 {
        slot_of(self.block)
    }
}

/// Commands for one server.
struct Batch {
    server: Arc<Server>,
    line: Arc<Line>,
    first: Call,
    replies: usize,
    /// Replicas that have to have it all.
    replicas: usize,
    /// Of the leaving pages, which; and the extents they lie in.
    which: Vec<usize>,
    extents: BTreeSet<u64>,
}

/// Why a batch is not stored.
enum Refusal {
    /// There is no room.
    Full,
    /// It may be stored the next time.
    Other,
}

impl Redis {
    /// Stores runs of pages, each with its first page.
    pub(super) fn store_runs(&self, runs: &[(u64, &[u8])]) -> Result<(), FarError> {
        let all: Vec<(u64, &[u8])> = runs
            .iter()
            .flat_map(|(first, bytes)| (*first..).zip(bytes.chunks_exact(PAGE)))
            .collect();
        all.chunks(MOST).try_for_each(|some| self.store_some(some))
    }

    fn store_some(&self, pages: &[(u64, &[u8])]) -> Result<(), FarError> {
        let mut blocks = vec![(Block { unit: 0, units: RAW_UNITS }, false); pages.len()];
        self.slots.find_room(pages, &mut blocks)?;
        self.enter(&mut blocks)?;
        let mut buffer = self.sealing.changes_pages().then(|| self.take_buffer());
        let result = self.prepare(pages, &blocks, buffer.as_deref_mut()).and_then(|mut leaving| {
            let sent = self.send_all(&mut leaving);
            self.settle(&leaving);
            sent
        });
        if let Some(buffer) = buffer {
            self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
        result
    }

    fn take_buffer(&self) -> Vec<u8> {
        let kept = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| vec![0; MOST * PAGE])
    }

    /// Counts slots among those of their extents. One whose extent is about to be deleted, or may be, is not used.
    fn enter(&self, blocks: &mut [(Block, bool)]) -> Result<(), FarError> {
        for (block, fresh) in blocks.iter_mut().filter(|(_, fresh)| *fresh) {
            let until = self.now() + self.timing.deadline_ns;
            loop {
                let slot = slot_of(*block);
                // A slot that was given back by a process that is gone is still counted.
                let is_counted = self.seals.get(slot).nodes != 0;
                if is_counted || self.extents.enter(place(slot).0) {
                    break;
                }
                if self.now() < until {
                    self.network.rest(100_000);
                } else {
                    *block = self.slots.allocate_run(1, RAW_UNITS)?.0;
                }
            }
            *fresh = true;
        }
        Ok(())
    }

    /// Makes of pages what is stored of them, in `buffer` if that differs.
    fn prepare<'a>(
        &self,
        pages: &[(u64, &'a [u8])],
        blocks: &[(Block, bool)],
        buffer: Option<&'a mut [u8]>,
    ) -> Result<Vec<Leaving<'a>>, FarError> {
        let versions = self.seals.take_versions(pages.len() as u64)..;
        let mut room = buffer.map(|buffer| buffer.chunks_exact_mut(PAGE));
        let mut leaving = Vec::with_capacity(pages.len());
        for (((page, bytes), (block, fresh)), version) in pages.iter().zip(blocks).zip(versions) {
            let (content, tag): (&'a [u8], Option<u128>) =
                match room.as_mut().and_then(Iterator::next) {
                    Some(content) => {
                        content.copy_from_slice(bytes);
                        let tag = self.sealing.seal(slot_of(*block), version, content)?;
                        (content, Some(tag))
                    }
                    None => (bytes, None),
                };
            let check = page_check(content);
            leaving.push(Leaving {
                page: *page,
                block: *block,
                fresh: *fresh,
                version,
                tag: tag.unwrap_or(check.into()),
                content,
                trailer: trailer(version, check),
                is_stored: false,
            });
        }
        Ok(leaving)
    }

    /// Takes note of what is stored.
    fn settle(&self, leaving: &[Leaving<'_>]) {
        for each in leaving {
            let slot = each.slot();
            if each.is_stored {
                self.seals.set(slot, Seal { version: each.version, nodes: 1 }, each.tag);
                if each.fresh {
                    self.slots.set(each.page, each.block);
                }
            } else if each.fresh {
                self.leave(slot);
                self.slots.recycle(&[each.block]);
            }
        }
    }

    /// Sends pages until all are stored. While a shard lacks replicas, or there is no room, the program waits.
    fn send_all(&self, leaving: &mut [Leaving<'_>]) -> Result<(), FarError> {
        let give_up = self.now() + self.timing.patience_ns;
        let mut is_full = false;
        loop {
            self.check()?;
            let batches = self.send_round(leaving);
            for batch in &batches {
                match self.finish_batch(batch) {
                    Ok(()) => batch.which.iter().for_each(|at| leaving[*at].is_stored = true),
                    Err(refusal) => {
                        is_full |= matches!(refusal, Refusal::Full);
                        self.want_refresh();
                    }
                }
            }
            if leaving.iter().all(|each| each.is_stored) {
                return Ok(());
            }
            if self.now() > give_up {
                return Err(if is_full { FarError::Full } else { FarError::NodeLost });
            }
            self.network.rest(REST_NS);
        }
    }

    /// Sends what is not stored yet, to each server that it belongs to.
    fn send_round(&self, leaving: &[Leaving<'_>]) -> Vec<Batch> {
        let cluster = self.cluster();
        let mut which: Vec<usize> =
            (0..leaving.len()).filter(|at| !leaving[*at].is_stored).collect();
        which.sort_unstable_by_key(|at| leaving[*at].slot());
        let shard = |at: &usize| cluster.owner(self.names.part(leaving[*at].slot() / PAGES));
        which.sort_by_key(shard);
        let groups = which.chunk_by(|one, other| shard(one) == shard(other));
        groups.filter_map(|which| self.send_batch(&cluster, leaving, which)).collect()
    }

    /// Sends pages of one shard.
    fn send_batch(
        &self,
        cluster: &Cluster,
        leaving: &[Leaving<'_>],
        which: &[usize],
    ) -> Option<Batch> {
        let shard = cluster.shard(self.names.part(leaving[*which.first()?].slot() / PAGES))?;
        let replicas = shard.replicas.len().max(self.replicas);
        if shard.replicas.len() < self.replicas {
            self.want_refresh();
            return None;
        }
        let line = shard.primary.line(Errand::Store)?;
        let mut commands = Commands::default();
        let slots = || which.iter().map(|at| leaving[*at].slot());
        let extents: BTreeSet<u64> = slots().map(|slot| slot / PAGES).collect();
        for extent in extents.iter().filter(|extent| !self.extents.is_there(**extent)) {
            self.lay_out(&mut commands, *extent);
        }
        let follows = |one: &usize, other: &usize| {
            let (one, other) = (leaving[*one].slot(), leaving[*other].slot());
            one + 1 == other && !other.is_multiple_of(PAGES)
        };
        for run in which.chunk_by(follows) {
            self.put(&mut commands, leaving, run);
        }
        commands.wait(replicas, self.timing.deadline_ns);
        let mut parts = commands.parts(leaving);
        let first = line.send(&mut parts, commands.replies).ok()?;
        let server = Arc::clone(&shard.primary);
        let which = which.to_vec();
        Some(Batch { server, line, first, replies: commands.replies, replicas, which, extents })
    }

    /// Makes an extent, as long as it will ever be: one that grows is copied each time.
    fn lay_out(&self, commands: &mut Commands, extent: u64) {
        let bytes = &mut commands.bytes;
        resp::begin(bytes, 4);
        resp::word(bytes, b"SETRANGE");
        self.names.word(bytes, extent);
        resp::decimal(bytes, PAGES * RECORD as u64 - 1);
        resp::word(bytes, &[0]);
        self.renew(bytes, extent);
        commands.replies += 2;
    }

    /// Appends the command that says that an extent is in use.
    pub(super) fn renew(&self, bytes: &mut Vec<u8>, extent: u64) {
        resp::begin(bytes, 3);
        resp::word(bytes, b"PEXPIRE");
        self.names.word(bytes, extent);
        resp::decimal(bytes, self.timing.lease_ns / 1_000_000);
    }

    /// Stores pages whose slots lie side by side.
    fn put(&self, commands: &mut Commands, leaving: &[Leaving<'_>], run: &[usize]) {
        let Some(first) = run.first() else { return };
        let (extent, at) = place(leaving[*first].slot());
        let bytes = &mut commands.bytes;
        resp::begin(bytes, 4);
        resp::word(bytes, b"SETRANGE");
        self.names.word(bytes, extent);
        resp::decimal(bytes, at * RECORD as u64);
        resp::long_word(bytes, run.len() * RECORD);
        commands.inserts.push((bytes.len(), run.to_vec()));
        bytes.extend_from_slice(b"\r\n");
        commands.replies += 1;
    }

    fn finish_batch(&self, batch: &Batch) -> Result<(), Refusal> {
        // The server itself waits for its replicas no longer than one deadline.
        let until = self.now() + 2 * self.timing.deadline_ns;
        let mut result = Ok(());
        for at in 0..batch.replies {
            match batch.line.wait(batch.first + at as u64, until) {
                Ok(Reply::Error(why)) if why.starts_with("OOM") => result = Err(Refusal::Full),
                Ok(Reply::Error(_)) => result = result.and(Err(Refusal::Other)),
                Ok(Reply::Number(count)) => {
                    let is_last = at + 1 == batch.replies;
                    if is_last && count < batch.replicas as i64 {
                        result = result.and(Err(Refusal::Other));
                    }
                }
                Ok(_) => result = result.and(Err(Refusal::Other)),
                Err(silence) => {
                    if silence == Silence::Late {
                        batch.line.abandon(batch.first + at as u64, batch.replies - at);
                        batch.server.note_slow(until);
                        batch.server.hang_up();
                    }
                    return Err(Refusal::Other);
                }
            }
        }
        if result.is_ok() {
            batch.extents.iter().for_each(|extent| self.extents.note_there(*extent));
        }
        result
    }
}

/// Commands, with pages to be put between them.
#[derive(Default)]
struct Commands {
    bytes: Vec<u8>,
    replies: usize,
    /// Before which byte which pages belong.
    inserts: Vec<(usize, Vec<usize>)>,
}

impl Commands {
    /// Appends the command that waits for replicas.
    fn wait(&mut self, replicas: usize, ns: u64) {
        resp::begin(&mut self.bytes, 3);
        resp::word(&mut self.bytes, b"WAIT");
        resp::decimal(&mut self.bytes, replicas as u64);
        resp::decimal(&mut self.bytes, (ns / 1_000_000).max(1));
        self.replies += 1;
    }

    /// All of it, in order.
    fn parts<'a>(&'a self, leaving: &'a [Leaving<'_>]) -> Vec<IoSlice<'a>> {
        let mut parts = Vec::with_capacity(2 * leaving.len() + 2 * self.inserts.len() + 1);
        let mut start = 0;
        for (before, which) in &self.inserts {
            parts.push(IoSlice::new(&self.bytes[start..*before]));
            for at in which {
                parts.push(IoSlice::new(leaving[*at].content));
                parts.push(IoSlice::new(&leaving[*at].trailer));
            }
            start = *before;
        }
        parts.push(IoSlice::new(&self.bytes[start..]));
        parts
    }
}
