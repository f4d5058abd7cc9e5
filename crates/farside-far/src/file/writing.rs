//! Writing: pages are sorted by where they belong, so that those side by side go as one, and several batches are under
//! way at once.

use std::collections::VecDeque;

use farside_os::memory::PAGE;
use farside_os::uring::{Buffer, Direction};
use farside_wire::pool::Block;

use super::ring::{MOST, Plan, Way};
use super::{File, offset_of, slot_of};
use crate::FarError;
use crate::seals::Seal;
use crate::slots::RAW_UNITS;

/// Most batches of one caller under way.
const UNDER_WAY: usize = 4;

/// What is said of a slot that is not empty: there is one place only where its page can be.
const HERE: u16 = 1;

/// A page of a batch, and the block it goes to.
#[derive(Copy, Clone)]
struct Place {
    page: u64,
    block: Block,
    /// Whether nobody has the block yet, rather than the page itself.
    fresh: bool,
    tag: u128,
}

/// A batch under way.
struct Writing {
    way: Way,
    /// In the order of the blocks.
    places: [Place; MOST],
    count: usize,
    /// The version of the first.
    version: u64,
}

const NOWHERE: Place =
    Place { page: 0, block: Block { unit: 0, units: RAW_UNITS }, fresh: false, tag: 0 };

impl File {
    /// Stores runs of pages, each with its first page.
    pub(super) fn store_runs(&self, runs: &[(u64, &[u8])]) -> Result<(), FarError> {
        let mut under_way = VecDeque::with_capacity(UNDER_WAY);
        let mut pages = [(0, &[][..]); MOST];
        let mut count = 0;
        let mut result = Ok(());
        let all = runs.iter().flat_map(|(first, bytes)| (*first..).zip(bytes.chunks_exact(PAGE)));
        let mut all = all.peekable();
        while let Some(page) = all.next() {
            pages[count] = page;
            count += 1;
            if count < MOST && all.peek().is_some() {
                continue;
            }
            if under_way.len() == UNDER_WAY {
                result = under_way.pop_front().map_or(Ok(()), |writing| self.settle(writing));
            }
            result = result.and_then(|()| {
                under_way.push_back(self.send(&pages[..count])?);
                Ok(())
            });
            if result.is_err() {
                break;
            }
            count = 0;
        }
        under_way.into_iter().fold(result, |all, writing| all.and(self.settle(writing)))
    }

    /// Sends up to [`MOST`] pages on their way.
    fn send(&self, pages: &[(u64, &[u8])]) -> Result<Writing, FarError> {
        let mut places = [NOWHERE; MOST];
        let places_used = &mut places[..pages.len()];
        self.find_room(pages, places_used)?;
        let buffer = match self.disk.take_buffer() {
            Ok(buffer) => buffer,
            Err(error) => {
                self.leave(places_used.iter());
                return Err(error);
            }
        };
        let mut order: [usize; MOST] = std::array::from_fn(|at| at);
        let order = &mut order[..pages.len()];
        order.sort_unstable_by_key(|at| places_used[*at].block.unit);
        let contents = order.iter().map(|at| (places_used[*at], pages[*at].1));
        let version = self.seals.take_versions(pages.len() as u64);
        let (way, places) = self.seal_and_send(buffer, contents, version)?;
        Ok(Writing { way, places, count: pages.len(), version })
    }

    /// Sends pages on their way, in the order of their blocks, as they are stored from `version` on.
    fn seal_and_send<'a>(
        &self,
        mut buffer: Buffer,
        contents: impl Iterator<Item = (Place, &'a [u8])>,
        version: u64,
    ) -> Result<(Way, [Place; MOST]), FarError> {
        let mut places = [NOWHERE; MOST];
        let mut plan = Plan::new();
        let room = buffer.bytes_mut().chunks_exact_mut(PAGE);
        for (at, ((place, content), stored)) in contents.zip(room).enumerate() {
            let slot = slot_of(place.block);
            stored.copy_from_slice(content);
            let tag = self.sealing.seal(slot, version + at as u64, stored)?;
            places[at] = Place { tag, ..place };
            plan.add(at, offset_of(slot));
        }
        Ok((self.disk.begin(Direction::Write, buffer, plan), places))
    }

    /// Waits for a batch, and takes note of where its pages are.
    fn settle(&self, writing: Writing) -> Result<(), FarError> {
        let arrived = self.disk.finish(writing.way);
        let places = writing.places[..writing.count].iter();
        for (at, (place, version)) in places.zip(writing.version..).enumerate() {
            if arrived.has(at) {
                let seal = Seal { version, nodes: HERE };
                self.seals.set(slot_of(place.block), seal, place.tag);
                if place.fresh {
                    self.slots.set(place.page, place.block);
                }
            } else {
                // What the page held before is still there, if it was stored elsewhere.
                self.leave(std::iter::once(place));
            }
        }
        self.disk.give_buffer(arrived.buffer);
        arrived.result
    }

    /// Gives back blocks that no page will lie in.
    fn leave<'a>(&self, places: impl Iterator<Item = &'a Place>) {
        places.filter(|place| place.fresh).for_each(|place| self.slots.give_back(&[place.block]));
    }

    /// Finds blocks for pages: their own, if nobody else uses these, or new ones side by side.
    fn find_room(&self, pages: &[(u64, &[u8])], places: &mut [Place]) -> Result<(), FarError> {
        let own = |at: usize| self.slots.writable_block(pages[at].0, RAW_UNITS);
        let mut at = 0;
        while at < places.len() {
            let page = pages[at].0;
            if let Some(block) = own(at) {
                places[at] = Place { page, block, ..NOWHERE };
                at += 1;
                continue;
            }
            let run = 1 + (at + 1..places.len()).take_while(|at| own(*at).is_none()).count();
            let (first, run) = match self.slots.allocate_run(run as u32, RAW_UNITS) {
                Ok(found) => found,
                Err(error) => {
                    self.leave(places[..at].iter());
                    return Err(error);
                }
            };
            for i in 0..run {
                let block = Block { unit: first.unit + i * RAW_UNITS, ..first };
                places[at] = Place { page: pages[at].0, block, fresh: true, tag: 0 };
                at += 1;
            }
        }
        Ok(())
    }
}
