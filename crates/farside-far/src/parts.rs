//! Parts of pages in the embedded node.

use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use farside_os::memory::{self, PAGE};
use farside_wire::pool::Block;
use smallvec::SmallVec;

use crate::embedded::{Embedded, NODE};
use crate::slots::RAW_UNITS;
use crate::window::Window;
use crate::{FarError, Part, PartStore, Ticket};

/// Locks over which pages are spread.
const STRIPES: usize = 64;

/// Keeps those who use a page's block apart from the one who gives the page another.
pub(crate) struct Settling {
    stripes: [RwLock<()>; STRIPES],
}

impl Default for Settling {
    fn default() -> Self {
        Self { stripes: std::array::from_fn(|_| RwLock::new(())) }
    }
}

impl Settling {
    fn stay(&self, page: u64) -> RwLockReadGuard<'_, ()> {
        self.stripes[page as usize % STRIPES].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, page: u64) -> RwLockWriteGuard<'_, ()> {
        self.stripes[page as usize % STRIPES].write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The page that holds the start of a part, and where in it that is.
fn place_of(part: &Part) -> (u64, u64) {
    (part.start / PAGE as u64, part.start % PAGE as u64)
}

/// Does something for the parts in each page, those that follow one another together.
fn by_page(
    parts: &[Part],
    mut each: impl FnMut(u64, &[Part]) -> Result<(), FarError>,
) -> Result<(), FarError> {
    if let [part] = parts
        && place_of(part).1 + u64::from(part.len) <= PAGE as u64
    {
        // Most lines are that.
        return each(place_of(part).0, parts);
    }
    let mut same: SmallVec<[Part; 8]> = SmallVec::new();
    for part in parts.iter().flat_map(|part| part.by_page()) {
        if let Some(last) = same.last()
            && place_of(last).0 != place_of(&part).0
        {
            each(place_of(last).0, &same)?;
            same.clear();
        }
        same.push(part);
    }
    same.first().map_or(Ok(()), |first| each(place_of(first).0, &same))
}

/// The bytes of a page from the first of its parts to the last.
fn span_of(parts: &[Part]) -> Range<usize> {
    let from = parts.iter().map(|part| place_of(part).1).min().unwrap_or(0);
    let end = parts.iter().map(|part| place_of(part).1 + u64::from(part.len)).max().unwrap_or(0);
    from as usize..end as usize
}

impl PartStore for Embedded {
    fn begin_read_parts(&self, parts: &[Part]) -> Result<Ticket, FarError> {
        self.check()?;
        let bytes = parts.iter().map(|part| part.len as usize).sum();
        let first = parts.first().map_or(0, |part| place_of(part).0);
        parts.iter().take(FEW).for_each(|part| _ = self.expect_part(part));
        Ok(Ticket { first, count: 0, ready_at: self.link.request(bytes), call: 0 })
    }

    fn finish_read_parts(
        &self,
        ticket: Ticket,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<(), FarError> {
        self.link.wait(ticket.ready_at);
        self.check()?;
        by_page(parts, |page, parts| self.read_in_page(page, parts, into))
    }

    fn expect_write(&self, parts: &[Part]) {
        for part in parts.iter().take(FEW) {
            if let Some(block) = self.expect_part(part) {
                self.slots.expect_users(block);
            }
        }
    }

    fn write_parts(&self, parts: &[Part], from: &[u8], _line: usize) -> Result<(), FarError> {
        self.check()?;
        by_page(parts, |page, parts| self.write_in_page(page, parts, from))?;
        self.link.send(parts.iter().map(|part| part.len as usize).sum());
        Ok(())
    }
}

/// Fewer parts than that are stored one by one by system calls: a page is then not read before.
const FEW: usize = 4;

/// Pages that get blocks side by side when one of them is stored: as many as a section hands out at once.
const NEIGHBOURS: u64 = 16;

impl Embedded {
    /// Gives a page that is not stored a block of zeros, and those of its neighbours that are not stored either blocks
    /// beside it, so that functions that run at the node find them in one piece. `None` if no blocks lie side by side any
    /// more.
    fn settle_together(&self, page: u64) -> Result<Option<Block>, FarError> {
        let first = page / NEIGHBOURS * NEIGHBOURS;
        let (start, run) = self.allocate(NEIGHBOURS as u32)?;
        let block_of = |other: u64| {
            let unit = start.unit + (other - first) as u32 * RAW_UNITS;
            Block { unit, units: RAW_UNITS }
        };
        let blocks: Vec<(u64, Block)> =
            (first..first + u64::from(run)).map(|other| (other, block_of(other))).collect();
        // What was used before is no zeros.
        if u64::from(run) < NEIGHBOURS {
            self.slots.give_back(&blocks.iter().map(|(_, block)| *block).collect::<Vec<_>>());
            return Ok(None);
        }
        // Whoever settles a neighbour meanwhile gives it another block, and nobody can have used this one.
        let taken: Vec<Block> = blocks
            .into_iter()
            .filter(|(other, block)| !self.slots.set_if_absent(*other, *block))
            .map(|(_, block)| block)
            .collect();
        self.slots.give_back(&taken);
        Ok(self.slots.writable_block(page, RAW_UNITS))
    }

    /// Blocks for uncompressed pages, see [`Slots::allocate_run`](crate::slots::Slots::allocate_run).
    pub(crate) fn allocate(&self, count: u32) -> Result<(Block, u32), FarError> {
        let (first, run) = self.slots.allocate_run(count, RAW_UNITS)?;
        if let Some(Some(window)) = self.window.get() {
            window.forget(first, run);
        }
        Ok((first, run))
    }

    /// The node's memory as memory, if there are addresses for it.
    fn window(&self) -> Option<&Window> {
        self.window.get_or_init(|| Window::open(self.data.as_fd()).ok()).as_ref()
    }

    /// A part will be read or stored in a moment. Returns its block.
    fn expect_part(&self, part: &Part) -> Option<Block> {
        let (page, offset) = place_of(part);
        let block = self.slots.block(page)?;
        if let Some(window) = self.window() {
            window.expect(block.offset() + offset, part.len as usize);
        }
        Some(block)
    }

    fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<(), FarError> {
        if self.window().is_some_and(|window| window.read(offset, into)) {
            return Ok(());
        }
        Ok(memory::read_at(self.data.as_fd(), offset, into, NODE)?)
    }

    fn write_bytes(&self, offset: u64, from: &[u8]) -> Result<(), FarError> {
        let window = self.window();
        if window.is_some_and(|window| window.write(offset, from)) {
            return Ok(());
        }
        memory::write_at(self.data.as_fd(), offset, from, NODE)?;
        if let Some(window) = window {
            window.wrote(offset);
        }
        Ok(())
    }

    /// Whether parts of a page are copied one by one, rather than all from the first to the last by one system call.
    fn is_near(&self, block: Option<Block>) -> bool {
        let window = self.window();
        block.is_none_or(|block| window.is_some_and(|window| window.has(block.offset())))
    }

    /// Gathers parts of a page: if the kernel has to be asked, it is read once, since that takes longer than to copy all of
    /// it.
    fn read_in_page(&self, page: u64, parts: &[Part], into: &mut [u8]) -> Result<(), FarError> {
        let _stays = self.settling.stay(page);
        let block = self.slots.block(page);
        if parts.len() == 1 || self.is_near(block) {
            return parts.iter().try_for_each(|part| {
                let into = &mut into[part.range()];
                let Some(block) = block else {
                    into.fill(0);
                    return Ok(());
                };
                self.read_bytes(block.offset() + place_of(part).1, into)
            });
        }
        let span = span_of(parts);
        let mut bytes = [0; PAGE];
        if let Some(block) = block {
            let at = block.offset() + span.start as u64;
            memory::read_at(self.data.as_fd(), at, &mut bytes[span], NODE)?;
        }
        for part in parts {
            into[part.range()].copy_from_slice(&bytes[part.within()]);
        }
        Ok(())
    }

    /// Scatters parts over a page.
    fn write_in_page(&self, page: u64, parts: &[Part], from: &[u8]) -> Result<(), FarError> {
        {
            let _stays = self.settling.stay(page);
            let block = self.slots.writable_block(page, RAW_UNITS);
            if let Some(block) = block
                && (parts.len() < FEW || self.is_near(Some(block)))
            {
                return self.write_each(block, parts, from);
            }
        }
        // Nobody else uses it meanwhile, since what lies between the parts may be stored anew.
        let _changes = self.settling.change(page);
        let block = match self.slots.writable_block(page, RAW_UNITS) {
            // Somebody else may have been quicker.
            Some(block) => block,
            None => self.settle(page)?,
        };
        if parts.len() < FEW || self.is_near(Some(block)) {
            return self.write_each(block, parts, from);
        }
        let span = span_of(parts);
        let mut bytes = [0; PAGE];
        let at = block.offset() + span.start as u64;
        memory::read_at(self.data.as_fd(), at, &mut bytes[span.clone()], NODE)?;
        for part in parts {
            bytes[part.within()].copy_from_slice(&from[part.range()]);
        }
        self.write_bytes(at, &bytes[span])
    }

    fn write_each(&self, block: Block, parts: &[Part], from: &[u8]) -> Result<(), FarError> {
        parts.iter().try_for_each(|part| {
            self.write_bytes(block.offset() + place_of(part).1, &from[part.range()])
        })
    }

    /// Gives a page a block of its own, with the content it has.
    fn settle(&self, page: u64) -> Result<Block, FarError> {
        let mut content = [0; PAGE];
        match self.slots.block(page) {
            Some(block) => self.read_bytes(block.offset(), &mut content)?,
            None => {
                if let Some(block) = self.settle_together(page)? {
                    return Ok(block);
                }
            }
        }
        let (block, _) = self.allocate(1)?;
        self.write_bytes(block.offset(), &content)?;
        self.slots.set(page, block);
        Ok(block)
    }
}
