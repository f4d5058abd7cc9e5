//! The embedded node: a child process that owns the memory, which this side reads and writes directly.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use farside_os::memory::{self, PAGE};
use farside_os::{descriptor, socket};
use farside_wire::offload::{Reply, Request};
use farside_wire::orders::{self, MOST_PAGES, Work};
use farside_wire::pool::{Block, Message, UNIT};

use crate::keeper::Keeper;
use crate::moving::{Ended, Moving};
use crate::offloading::{self, Offloading};
use crate::parts::Settling;
use crate::slots::{RAW_UNITS, Slots};
use crate::window::Window;
use crate::{
    Compression, FarError, FarStore, FarUrl, Finished, Link, Moved, Mover, Offload, OffloadError,
    Order, PartStore, RemoteCall, Ticket,
};

pub(crate) const NODE: &str = "the embedded memory node";

/// Runs of freed memory at least this long are given back to the machine at once.
const PUNCH_FROM: u64 = 64 * 1024;

/// Blocks side by side, for new content of pages.
struct Room {
    block: Block,
    run: usize,
    /// Whether nobody has them yet, rather than the pages themselves.
    fresh: bool,
}

/// The blocks of `run` uncompressed pages, of which the first lies in `block`.
fn blocks(block: Block, run: usize) -> impl Iterator<Item = Block> {
    (0..run as u32).map(move |i| Block { unit: block.unit + i * RAW_UNITS, units: RAW_UNITS })
}

/// Client side of the embedded node.
pub struct Embedded {
    pub(crate) data: OwnedFd,
    pub(crate) slots: Slots,
    pub(crate) link: Link,
    compression: Compression,
    pub(crate) settling: Settling,
    /// None inside if there are no addresses for it.
    pub(crate) window: OnceLock<Option<Window>>,
    lost: AtomicBool,
    moving: OnceLock<Moving>,
    offloading: Offloading<OwnedFd>,
    /// In a forked child, whose pages the parent's mover does not move, and whose functions nobody runs elsewhere.
    left_to_parent: AtomicBool,
    keeper: Keeper,
}

impl Embedded {
    /// Takes up the connection to the node, for a far region of `pages` pages.
    ///
    /// # Errors
    /// If the node will not have us, or the URL is that of another kind of node.
    pub fn connect(socket: OwnedFd, url: &FarUrl, pages: u64) -> Result<Self, FarError> {
        let FarUrl::Embedded { latency_ns, bits_per_second, compression } = *url else {
            return Err(FarError::NodeLost);
        };
        let (keeper, data, slots) = Keeper::join(socket, pages)?;
        Ok(Self {
            data,
            slots,
            link: Link::new(latency_ns, bits_per_second),
            compression,
            settling: Settling::default(),
            window: OnceLock::new(),
            lost: AtomicBool::new(false),
            moving: OnceLock::new(),
            offloading: Offloading::default(),
            left_to_parent: AtomicBool::new(false),
            keeper,
        })
    }

    pub(crate) fn check(&self) -> Result<(), FarError> {
        if self.lost.load(Ordering::Acquire) { Err(FarError::NodeLost) } else { Ok(()) }
    }

    fn data(&self) -> BorrowedFd<'_> {
        self.data.as_fd()
    }

    fn read_block(&self, page: u64, block: Block, into: &mut [u8]) -> Result<(), FarError> {
        if block.units == RAW_UNITS {
            return Ok(memory::read_at(self.data(), block.offset(), into, NODE)?);
        }
        let mut packed = [0; 3 * UNIT];
        let packed = &mut packed[..block.units as usize * UNIT];
        memory::read_at(self.data(), block.offset(), packed, NODE)?;
        let len = usize::from(u16::from_le_bytes([packed[0], packed[1]]));
        let body = packed.get(2..2 + len).ok_or(FarError::Damaged(page))?;
        match lz4_flex::block::decompress_into(body, into) {
            Ok(PAGE) => Ok(()),
            _ => Err(FarError::Damaged(page)),
        }
    }

    fn write_packed(&self, page: u64, content: &[u8]) -> Result<usize, FarError> {
        let mut packed = [0; 2 + lz4_flex::block::get_maximum_output_size(PAGE)];
        let len = lz4_flex::block::compress_into(content, &mut packed[2..]).unwrap_or(PAGE);
        let units = (len + 2).div_ceil(UNIT) as u32;
        let (units, bytes) = if units >= RAW_UNITS {
            (RAW_UNITS, content)
        } else {
            packed[..2].copy_from_slice(&(len as u16).to_le_bytes());
            (units, &packed[..len + 2])
        };
        match self.slots.writable_block(page, units) {
            Some(block) => memory::write_at(self.data(), block.offset(), bytes, NODE)?,
            None => {
                let (block, _) = self.slots.allocate_run(1, units)?;
                memory::write_at(self.data(), block.offset(), bytes, NODE)?;
                self.slots.set(page, block);
            }
        }
        Ok(bytes.len())
    }

    /// Length of the run from `page` on, at most `most`, that can be written in place with one call.
    fn in_place_run(&self, page: u64, most: usize) -> Option<(Block, usize)> {
        let first = self.slots.writable_block(page, RAW_UNITS)?;
        let run = (1..most)
            .take_while(|i| {
                self.slots
                    .writable_block(page + *i as u64, RAW_UNITS)
                    .is_some_and(|block| block.unit == first.unit + *i as u32 * RAW_UNITS)
            })
            .count();
        Some((first, run + 1))
    }

    fn write_raw(&self, first: u64, pages: &[u8]) -> Result<(), FarError> {
        let count = pages.len() / PAGE;
        let mut at = 0;
        while at < count {
            let page = first + at as u64;
            let Room { block, run, fresh } = self.room_for(page, count - at)?;
            let bytes = &pages[at * PAGE..(at + run) * PAGE];
            memory::write_at(self.data(), block.offset(), bytes, NODE)?;
            if fresh {
                self.settle_in(page, block, run);
            }
            at += run;
        }
        Ok(())
    }

    /// Where pages from `first` on, at most `most`, can be written side by side.
    fn room_for(&self, first: u64, most: usize) -> Result<Room, FarError> {
        if let Some((block, run)) = self.in_place_run(first, most) {
            return Ok(Room { block, run, fresh: false });
        }
        let homeless =
            |i: &usize| self.slots.writable_block(first + *i as u64, RAW_UNITS).is_none();
        let run = 1 + (1..most).take_while(homeless).count();
        let (block, run) = self.allocate(run as u32)?;
        Ok(Room { block, run: run as usize, fresh: true })
    }

    /// Says that `run` pages from `first` on lie in the blocks from `block` on.
    fn settle_in(&self, first: u64, block: Block, run: usize) {
        for (page, block) in (first..).zip(blocks(block, run)) {
            self.slots.set(page, block);
        }
    }

    fn punch(&self, blocks: &[Block]) -> Result<(), FarError> {
        let mut at = 0;
        while at < blocks.len() {
            let start = blocks[at];
            let mut end = start.unit + start.units;
            let mut next = at + 1;
            while next < blocks.len() && blocks[next].unit == end {
                end += blocks[next].units;
                next += 1;
            }
            let len = u64::from(end - start.unit) * UNIT as u64;
            if len >= PUNCH_FROM {
                memory::punch_hole(self.data(), start.offset(), len, NODE)?;
            }
            at = next;
        }
        Ok(())
    }
}

impl FarStore for Embedded {
    fn wait_ns(&self) -> u64 {
        self.link.wait_ns(PAGE)
    }

    fn expect(&self, page: u64) {
        self.slots.expect(page);
    }

    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        self.check()?;
        let ready_at = self.link.request(count as usize * PAGE);
        Ok(Ticket { first, count, ready_at, call: 0 })
    }

    fn is_ready(&self, ticket: &Ticket) -> bool {
        self.link.has_arrived(ticket.ready_at)
    }

    fn finish_read(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        self.link.wait(ticket.ready_at);
        self.check()?;
        let count = ticket.count as usize;
        let mut at = 0;
        while at < count {
            let page = ticket.first + at as u64;
            let block = self.slots.block(page).ok_or(FarError::Missing(page))?;
            let mut run = 1;
            if block.units == RAW_UNITS {
                while at + run < count
                    && self.slots.block(page + run as u64)
                        == Some(Block {
                            unit: block.unit + run as u32 * RAW_UNITS,
                            units: RAW_UNITS,
                        })
                {
                    run += 1;
                }
                let into = &mut into[at * PAGE..(at + run) * PAGE];
                memory::read_at(self.data(), block.offset(), into, NODE)?;
            } else {
                self.read_block(page, block, &mut into[at * PAGE..(at + 1) * PAGE])?;
            }
            at += run;
        }
        Ok(())
    }

    fn write(&self, first: u64, pages: &[u8]) -> Result<(), FarError> {
        self.check()?;
        match self.compression {
            Compression::None => {
                self.write_raw(first, pages)?;
                self.link.send(pages.len());
            }
            Compression::Lz4 => {
                let mut sent = 0;
                for (i, page) in pages.chunks_exact(PAGE).enumerate() {
                    sent += self.write_packed(first + i as u64, page)?;
                }
                self.link.send(sent);
            }
        }
        Ok(())
    }

    fn discard(&self, first: u64, count: u64) -> Result<(), FarError> {
        if self.slots.held() == 0 {
            return Ok(());
        }
        let mut freed = Vec::new();
        for page in first..first + count {
            freed.extend(self.slots.clear(page));
        }
        freed.sort_unstable_by_key(|block| block.unit);
        let punched = self.punch(&freed);
        self.slots.recycle(&freed);
        punched
    }

    fn rename(&self, from: u64, to: u64, count: u64) -> Result<(), FarError> {
        for i in 0..count {
            self.slots.rename(from + i, to + i);
        }
        Ok(())
    }

    fn start_mover(&self, uffd: BorrowedFd<'_>) -> Result<bool, FarError> {
        if self.compression != Compression::None || self.left_to_parent.load(Ordering::Acquire) {
            return Ok(false);
        }
        if self.moving.get().is_none() {
            let socket = self.keeper.socket();
            let tell = |orders: BorrowedFd<'_>| {
                socket::send(socket.as_fd(), &Message::Orders.encode(), &[orders, uffd])
            };
            if let Some(moving) = Moving::start(tell)? {
                // Another thread may have been quicker.
                let _ = self.moving.set(moving);
            }
        }
        Ok(self.moving.get().is_some())
    }

    fn mover(&self) -> Option<&dyn Mover> {
        let moves = self.moving.get().is_some() && !self.left_to_parent.load(Ordering::Acquire);
        moves.then_some(self)
    }

    fn parts(&self) -> Option<&dyn PartStore> {
        (self.compression == Compression::None).then_some(self)
    }

    fn offload(&self) -> Option<&dyn Offload> {
        let is_own = !self.left_to_parent.load(Ordering::Acquire);
        (is_own && self.compression == Compression::None).then_some(self)
    }

    fn held(&self) -> u64 {
        self.slots.held()
    }

    fn before_fork(&self) -> Result<(), FarError> {
        self.slots.before_fork()
    }

    fn after_fork_in_parent(&self, forked: bool) {
        self.slots.after_fork_in_parent(forked);
    }

    fn after_fork_in_child(&self, link: OwnedFd) -> Result<(), FarError> {
        self.keeper.rejoin(link, &self.slots)?;
        self.left_to_parent.store(true, Ordering::Release);
        Ok(())
    }

    fn link(&self) -> RawFd {
        self.keeper.raw()
    }

    fn mark_lost(&self) {
        self.lost.store(true, Ordering::Release);
    }
}

impl Embedded {
    fn moving(&self) -> Result<&Moving, FarError> {
        self.check()?;
        self.moving.get().ok_or(FarError::NodeLost)
    }

    /// How many of `count` pages from `first` on lie side by side in the node's memory, and where.
    fn stored_run(&self, first: u64, count: u32) -> Result<(Block, u32), FarError> {
        let block = self.slots.block(first).ok_or(FarError::Missing(first))?;
        let beside = |i: &u32| {
            let unit = block.unit + i * RAW_UNITS;
            self.slots.block(first + u64::from(*i)) == Some(Block { unit, ..block })
        };
        Ok((block, 1 + (1..count.min(MOST_PAGES)).take_while(beside).count() as u32))
    }
}

/// Bytes that a call takes on the wire besides values: which function, and what it reads.
const CALL_BYTES: usize = 64;

impl Embedded {
    /// Has the node start what runs functions.
    fn connect_offload(&self) -> Result<OwnedFd, OffloadError> {
        let (ours, theirs) = socket::stream_pair()?;
        let node = self.keeper.socket();
        socket::send(node.as_fd(), &Message::Offload.encode(), &[theirs.as_fd()])?;
        Ok(descriptor::out_of_the_way(ours))
    }

    fn ask(&self, request: &Request, most_ns: u64) -> Result<Reply, OffloadError> {
        self.check().map_err(|_| OffloadError::Gone)?;
        self.offloading.ask(request, most_ns, || self.connect_offload())
    }
}

impl Offload for Embedded {
    fn load(&self, code: &[u8]) -> Result<u32, OffloadError> {
        let arrived_at = self.link.request(code.len());
        let reply = self.ask(&Request::Load(code.to_vec()), 0)?;
        self.link.wait(arrived_at);
        offloading::loaded(reply)
    }

    fn call(&self, call: &RemoteCall<'_>, output: &mut [u8]) -> Result<(), OffloadError> {
        let place = |page| self.slots.block(page).map(Block::offset);
        let areas = offloading::areas(call.places, place);
        let request = offloading::message(call, areas, output.len());
        let reply = self.ask(&request, u64::from(call.most_ms) * 1_000_000)?;
        // The way there and back. A node that is elsewhere knows by itself where pages lie.
        self.link.wait(self.link.request(CALL_BYTES + call.input.len() + output.len()));
        offloading::take(reply, output)
    }
}

impl Mover for Embedded {
    fn land(
        &self,
        first: u64,
        count: u32,
        address: usize,
        protect: bool,
    ) -> Result<Option<Order>, FarError> {
        let moving = self.moving()?;
        let (block, count) = self.stored_run(first, count)?;
        let (address, offset) = (address as u64, block.offset());
        let ready_at = self.link.request(count as usize * PAGE);
        let work = Work::Land { protect };
        let number = moving.put(orders::Order { work, address, offset, count, ready_at });
        Ok(number.map(|number| Order { first, count, number }))
    }

    fn take(
        &self,
        first: u64,
        count: u32,
        address: usize,
        compare: bool,
    ) -> Result<Option<Order>, FarError> {
        let moving = self.moving()?;
        let most = count.min(MOST_PAGES) as usize;
        let Room { block, run, fresh } = self.room_for(first, most)?;
        let (address, offset, count) = (address as u64, block.offset(), run as u32);
        let work = Work::Take { compare: compare && !fresh };
        let Some(number) = moving.put(orders::Order { work, address, offset, count, ready_at: 0 })
        else {
            // What is stored stays what is stored.
            if fresh {
                self.slots.give_back(&blocks(block, run).collect::<Vec<_>>());
            }
            return Ok(None);
        };
        if fresh {
            self.settle_in(first, block, run);
        }
        self.link.send(run * PAGE);
        Ok(Some(Order { first, count, number }))
    }

    fn is_done(&self, order: Order) -> bool {
        self.moving.get().is_some_and(|moving| moving.is_done(order.number))
    }

    fn finish(&self, order: Order) -> Result<Finished, FarError> {
        let moving = self.moving()?;
        let ended = moving
            .finish(order.number, order.count, || self.lost.load(Ordering::Acquire))
            .ok_or(FarError::NodeLost)?;
        let Order { first, count, .. } = order;
        match ended {
            Ended::Recalled(orders::Order { work: Work::Land { .. }, ready_at, .. }) => {
                // The request for it is on its way.
                Ok(Finished::Recalled(Some(Ticket { first, count, ready_at, call: 0 })))
            }
            Ended::Recalled(_) => Ok(Finished::Recalled(None)),
            Ended::Answered(answer) if i32::from(answer.errno) == libc::ENOSPC => {
                Err(FarError::Full)
            }
            // The pages that were not moved are moved in another way.
            Ended::Answered(answer) => {
                Ok(Finished::Moved(Moved { done: answer.done, unchanged: answer.unchanged }))
            }
        }
    }
}
