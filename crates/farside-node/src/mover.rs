//! Moving pages in and out of a program that asks for it.
//!
//! A thread of the program that did this would share the program's address space, so that each page the
//! program takes away from itself would interrupt it, and each it takes away the program. The node does not.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use farside_os::memory::{self, PAGE, read_at, write_at};
use farside_os::thread::{self, wait_until};
use farside_os::userfault::Userfault;
use farside_os::{OsError, Result};
use farside_wire::orders::{Answer, Executor, MOST_PAGES, Order, Work};
use farside_wire::pool::DATA_BYTES;

/// How often a transfer is tried that the program's own changes of its layout keep from ending.
const TRIES: u32 = 1000;

/// How long between two tries.
const PAUSE_NS: u64 = 20_000;

/// What moves a program's pages; ends its work when it is dropped.
pub(crate) struct Mover {
    orders: Arc<Executor>,
}

impl Mover {
    /// Carries out the `orders` of process `pid`, whose pages are in `data` and whose region is served by `uffd`.
    pub(crate) fn start(
        orders: BorrowedFd<'_>,
        uffd: OwnedFd,
        data: BorrowedFd<'_>,
        pid: u32,
    ) -> Result<Self> {
        let cloned = data.try_clone_to_owned();
        let data = cloned.map_err(|_| OsError::last("dup", "the far pages"))?;
        let orders = Arc::new(Executor::open(orders)?);
        let executor = Arc::clone(&orders);
        let uffd = Userfault::of_other(uffd);
        let stored = Mapping::of(data.as_fd())?;
        let work = move || Desk { pid, uffd, data, stored, room: Room::default() }.work(&executor);
        let spawned = std::thread::Builder::new().name("mover".into()).spawn(work);
        match spawned {
            Ok(_) => Ok(Self { orders }),
            Err(_) => {
                orders.say_able(false);
                Err(OsError::last("clone", "a mover"))
            }
        }
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.orders.close();
    }
}

/// Memory for pages that are compared, and for what was stored of them before.
struct Room {
    pages: Vec<u8>,
    stored: Vec<u8>,
}

impl Default for Room {
    fn default() -> Self {
        let len = MOST_PAGES as usize * PAGE;
        Self { pages: vec![0; len], stored: vec![0; len] }
    }
}

/// The stored pages as memory that only the kernel looks into.
struct Mapping {
    at: usize,
}

impl Mapping {
    fn of(data: BorrowedFd<'_>) -> Result<Self> {
        Ok(Self { at: memory::map_shared(data, DATA_BYTES as usize, "far pages")? })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // A range that cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.at, DATA_BYTES as usize, "far pages");
    }
}

/// All that a mover needs.
struct Desk {
    pid: u32,
    uffd: Userfault,
    data: OwnedFd,
    stored: Mapping,
    room: Room,
}

impl Desk {
    fn work(mut self, orders: &Executor) {
        // Whether the program's memory may be read shows where there is none.
        let tried = memory::read_other(self.pid, 0, &mut [0]);
        orders.say_able(tried.map_or_else(|error| error.errno == libc::EFAULT, |()| true));
        while let Some(order) = orders.wait() {
            let within = u64::from(order.count) * PAGE as u64;
            let answer = if order.offset.checked_add(within).is_some_and(|end| end <= DATA_BYTES) {
                match order.work {
                    Work::Land { protect } => self.land(order, protect),
                    Work::Take { compare: false } => self.take(order),
                    Work::Take { compare: true } => self.take_and_compare(order),
                }
            } else {
                failed(libc::EINVAL)
            };
            orders.answer(answer);
        }
        // Whoever still waits for an answer gets none.
        orders.say_able(false);
    }

    fn land(&self, order: Order, protect: bool) -> Answer {
        if order.ready_at != 0 {
            wait_until(order.ready_at);
        }
        let len = order.count as usize * PAGE;
        let from = self.stored.at + order.offset as usize;
        let (mut done, mut tries) = (0, 0);
        while done < len {
            // Any address may stand there; the kernel refuses those that are not the program's.
            let dst = (order.address as usize).wrapping_add(done);
            // SAFETY: the source lies within the mapping, as was checked, and is read by the kernel alone, to which
            // it is no harm if it cannot be. The destination is memory of the program that asked for it, which
            // the descriptor lets us change and nothing else.
            match unsafe { self.uffd.copy(dst, from + done, len - done, protect, true) } {
                Ok(()) => done = len,
                Err(partial) => {
                    done += partial.done;
                    if partial.errno == libc::EEXIST {
                        // Somebody else mapped the page.
                        done += PAGE;
                        continue;
                    }
                    tries = if partial.done > 0 { 0 } else { tries + 1 };
                    if partial.errno != libc::EAGAIN || tries > TRIES {
                        return Answer { done: (done / PAGE) as u32, ..failed(partial.errno) };
                    }
                    thread::sleep_ns(PAUSE_NS);
                }
            }
        }
        Answer { done: order.count, ..Answer::default() }
    }

    fn take(&mut self, order: Order) -> Answer {
        let (address, len) = (order.address as usize, order.count as usize * PAGE);
        // SAFETY: the range lies within the mapping, as was checked, and is written by the kernel alone, to which it
        // is no harm if it cannot be. Nobody has a reference into the mapping.
        match unsafe {
            memory::copy_other(self.pid, address, self.stored.at + order.offset as usize, len)
        } {
            Ok(()) => Answer { done: order.count, ..Answer::default() },
            // Either side may be why; that way tells which.
            Err(error) if error.errno == libc::EFAULT => self.take_and_compare(order),
            Err(error) => failed(error.errno),
        }
    }

    fn take_and_compare(&mut self, order: Order) -> Answer {
        let len = order.count as usize * PAGE;
        let Room { pages, stored } = &mut self.room;
        let (pages, stored) = (&mut pages[..len], &mut stored[..len]);
        if let Err(error) = memory::read_other(self.pid, order.address as usize, pages) {
            return failed(error.errno);
        }
        let data = self.data.as_fd();
        let mut unchanged = 0;
        if order.work == (Work::Take { compare: true })
            && read_at(data, order.offset, stored, "far pages").is_ok()
        {
            let both = pages.chunks_exact(PAGE).zip(stored.chunks_exact(PAGE));
            for (page, (new, old)) in both.enumerate() {
                unchanged |= u32::from(new == old) << page;
            }
        }
        let changed = |page: &usize| unchanged >> page & 1 == 0;
        let mut page = 0;
        while page < order.count as usize {
            let run = (page..order.count as usize).take_while(changed).count();
            let bytes = &pages[page * PAGE..(page + run) * PAGE];
            let offset = order.offset + (page * PAGE) as u64;
            if let Err(error) = write_at(data, offset, bytes, "far pages") {
                return failed(error.errno);
            }
            page += run.max(1);
        }
        Answer { done: order.count, unchanged, errno: 0 }
    }
}

fn failed(errno: i32) -> Answer {
    Answer { errno: errno as u16, ..Answer::default() }
}
