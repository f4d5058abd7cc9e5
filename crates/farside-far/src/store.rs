//! The far-store seam: what the pager asks of memory nodes.

use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use farside_os::OsError;
use thiserror::Error;

use crate::Offload;

/// A read that is on its way.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// First page of the run.
    pub first: u64,
    /// Pages in the run.
    pub count: u32,
    /// When the data will be there, in nanoseconds of the monotonic clock; 0 if that is not known.
    pub ready_at: u64,
    /// What the store knows it by.
    pub call: u32,
}

/// Why the far store cannot do what it was asked.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum FarError {
    /// The only node that held the page is gone.
    #[error("the memory node is gone, and with it the pages it held")]
    NodeLost,
    /// The node has no room.
    #[error("the memory node is full")]
    Full,
    /// No node has the page any more.
    #[error("no memory node has page {0} any more: all copies are lost")]
    Lost(u64),
    /// No node answers at the start.
    #[error("no memory node can be reached")]
    Unreachable,
    /// A page was asked for that was never stored.
    #[error("page {0} is not in the far store")]
    Missing(u64),
    /// What came back is not what was stored.
    #[error("page {0} came back damaged")]
    Damaged(u64),
    /// The program dropped a page behind our back.
    #[error(
        "page {0} vanished: the program dropped it by a system call past the C library, which Farside cannot see; \
         run it without"
    )]
    Vanished(u64),
    /// A system call failed.
    #[error(transparent)]
    Os(#[from] OsError),
}

/// Keeps pages outside local memory.
///
/// Pages are named by their number in the far region. Runs are consecutive pages in one buffer. All
/// methods may be called from several threads at once; the caller sees to it that no two calls
/// concern the same page at the same time.
pub trait FarStore: Send + Sync {
    /// About how long a page takes to come, in nanoseconds; 0 if no longer than copying it.
    fn wait_ns(&self) -> u64;

    /// Whether there is nothing to gain by not waiting for reads.
    fn is_instant(&self) -> bool {
        self.wait_ns() == 0
    }

    /// `page` may be read in a moment: a chance to have ready what finds it. Must cost next to nothing.
    fn expect(&self, page: u64) {
        let _ = page;
    }

    /// Asks for `count` pages from `first` on.
    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError>;

    /// Whether the end of a read need not be waited for, as far as can be told at once.
    fn is_ready(&self, ticket: &Ticket) -> bool;

    /// Waits for a read and puts its pages into `into`, which holds exactly as many.
    fn finish_read(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError>;

    /// Stores a run of pages; when it returns, the content is safe and the buffer may be reused.
    fn write(&self, first: u64, pages: &[u8]) -> Result<(), FarError>;

    /// Stores several runs of pages, each with its first page, as [`write`](Self::write) stores one; all at once if that is
    /// faster.
    fn write_runs(&self, runs: &[(u64, &[u8])]) -> Result<(), FarError> {
        runs.iter().try_for_each(|(first, pages)| self.write(*first, pages))
    }

    /// Forgets pages; those that are not stored are passed over.
    fn discard(&self, first: u64, count: u64) -> Result<(), FarError>;

    /// Renames `count` pages from `from` on to `to`; the ranges do not overlap, and nothing is stored
    /// under the new names.
    fn rename(&self, from: u64, to: u64, count: u64) -> Result<(), FarError>;

    /// Has the node move this process's pages by itself from now on, if it can; says whether. `uffd` is the
    /// descriptor of the region.
    fn start_mover(&self, uffd: BorrowedFd<'_>) -> Result<bool, FarError> {
        let _ = uffd;
        Ok(false)
    }

    /// What moves pages by itself, if there is something that does.
    fn mover(&self) -> Option<&dyn Mover> {
        None
    }

    /// What moves parts of pages, if the store can do that without the rest of them.
    fn parts(&self) -> Option<&dyn PartStore> {
        None
    }

    /// What runs functions where pages are, if there is something that does.
    fn offload(&self) -> Option<&dyn Offload> {
        None
    }

    /// Whether [`tend`](Self::tend) has to be called every few milliseconds.
    fn needs_tending(&self) -> bool {
        false
    }

    /// Does what is due beside reading and writing.
    fn tend(&self) {}

    /// What has been seen of nodes that do not do what they should.
    fn health(&self) -> Health {
        Health::default()
    }

    /// Number of pages stored for this process.
    fn held(&self) -> u64;

    /// Prepares for a fork: afterwards both processes hold every page stored now.
    fn before_fork(&self) -> Result<(), FarError>;

    /// The fork happened, or failed, and this is the parent.
    fn after_fork_in_parent(&self, forked: bool);

    /// The fork happened and this is the child, whose connection to the node is `link`.
    fn after_fork_in_child(&self, link: OwnedFd) -> Result<(), FarError>;

    /// The node's connection, whose hang-up means that the node is gone.
    fn link(&self) -> RawFd;

    /// Takes note that the node is gone: every further call fails.
    fn mark_lost(&self);
}

/// A part of far memory: bytes of one or more pages that follow one another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first byte, counted from the first byte of page 0.
    pub start: u64,
    /// Number of bytes.
    pub len: u32,
    /// Where they are in the buffer of the call.
    pub place: u32,
}

impl Part {
    /// What of it lies in each of its pages.
    pub fn by_page(self) -> impl Iterator<Item = Self> {
        let page = farside_os::memory::PAGE as u64;
        let end = self.start + u64::from(self.len);
        (self.start / page..end.div_ceil(page)).map(move |number| {
            let start = (number * page).max(self.start);
            let len = end.min((number + 1) * page) - start;
            Self { start, len: len as u32, place: self.place + (start - self.start) as u32 }
        })
    }

    /// The page that holds its first byte.
    pub fn page(&self) -> u64 {
        self.start / farside_os::memory::PAGE as u64
    }

    /// Where it is in its page, of a part of one page.
    pub fn within(&self) -> std::ops::Range<usize> {
        let start = (self.start % farside_os::memory::PAGE as u64) as usize;
        start..start + self.len as usize
    }

    /// Where its bytes are in the buffer of the call.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.place as usize..self.place as usize + self.len as usize
    }
}

/// Keeps pages, of which parts can be moved alone.
///
/// Pages are those of the [`FarStore`]. The caller sees to it that no two calls concern the same bytes at the same time, or
/// bytes in the same [grain](Self::grain), and that calls of the other trait do not concern these pages meanwhile.
pub trait PartStore {
    /// Bytes of what is moved and checked at once, of data that is cached in lines of `line` bytes: 1, or a power of two
    /// that divides lines and pages. Parts that begin and end at multiples of it are moved as they are. Others may be
    /// far slower.
    fn grain(&self, line: usize) -> usize {
        let _ = line;
        1
    }

    /// Asks for parts, all of them in one request: the node gathers them.
    fn begin_read_parts(&self, parts: &[Part]) -> Result<Ticket, FarError>;

    /// Waits for the parts that were asked for, and puts them into `into`. What was never stored of them is zeros.
    fn finish_read_parts(
        &self,
        ticket: Ticket,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<(), FarError>;

    /// Parts may be stored in a moment: a chance to have ready what is needed for it. Must cost next to nothing.
    fn expect_write(&self, parts: &[Part]) {
        let _ = parts;
    }

    /// Stores parts, which are in `from`, of data that is cached in lines of `line` bytes. The rest of a page that was not
    /// stored before is zeros. After an error, what the parts held is not known before they are stored again.
    fn write_parts(&self, parts: &[Part], from: &[u8], line: usize) -> Result<(), FarError>;
}

/// What has been seen of nodes that do not do what they should.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Reads that were sent to another node because the first did not answer in time.
    pub hedged_reads: u64,
    /// Pages that came back other than they were stored.
    pub damaged_pages: u64,
    /// Copies that nodes lost.
    pub lost_copies: u64,
    /// Copies made because there were too few.
    pub repaired_copies: u64,
    /// Pages stored with fewer copies than there should be.
    pub degraded_pages: u64,
    /// Pages of which there are fewer copies than there should be.
    pub lacking_pages: u64,
    /// How long there have been such pages, in milliseconds.
    pub lacking_ms: u64,
}

/// An order to move pages.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// First page.
    pub first: u64,
    /// Number of pages.
    pub count: u32,
    /// Number of the order.
    pub number: u64,
}

/// How an order ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// The node has carried it out, as far as it could.
    Moved(Moved),
    /// The node did not come to it in time, as on a machine whose processors are taken by others, and will not carry it
    /// out: who gave it does. If it was to land pages it has become this read of them.
    Recalled(Option<Ticket>),
}

/// What the node moved.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Pages moved, from the first on; the others are where they were.
    pub done: u32,
    /// By bits, those that were stored as they are.
    pub unchanged: u32,
}

/// Moves pages between the program and the far store while the program runs.
///
/// Orders are carried out in the order in which they were given. Each must be [finished](Self::finish). An order may
/// cover fewer pages than asked for, see its count; there is none if too many are under way.
pub trait Mover {
    /// Orders `count` stored pages from `first` on to be copied to absent pages at `address`, write-protected if
    /// `protect`, and whoever waits there to be woken.
    fn land(
        &self,
        first: u64,
        count: u32,
        address: usize,
        protect: bool,
    ) -> Result<Option<Order>, FarError>;

    /// Orders the pages at `address`, which stay as they are until it is finished, to be stored as `count` pages from
    /// `first` on. If `compare`, those that are stored as they are already are left alone.
    fn take(
        &self,
        first: u64,
        count: u32,
        address: usize,
        compare: bool,
    ) -> Result<Option<Order>, FarError>;

    /// Whether an order has been carried out.
    fn is_done(&self, order: Order) -> bool;

    /// Waits for the end of an order, or recalls it.
    ///
    /// # Errors
    /// If the node is gone, or full.
    fn finish(&self, order: Order) -> Result<Finished, FarError>;
}
