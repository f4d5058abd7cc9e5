//! Orders of a program to the process that moves its pages, in memory that both share.
//!
//! Orders are carried out, and answered, one after the other. Neither side can harm the other through this
//! memory: what is read from it is checked, and concerns the program's own pages alone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use farside_os::memory::{self, PAGE};
use farside_os::thread::{futex_wait_shared, futex_wake_shared};
use farside_os::{OsError, Result};

/// Orders that fit.
pub const ORDERS: u64 = 4096;

/// Most pages of an order.
pub const MOST_PAGES: u32 = 32;

/// First word: the kind of memory and the version of its layout.
const MAGIC: u64 = u64::from_le_bytes(*b"fsorder\x01");

/// Words of an order: what to do, address, offset, when, and the answer.
const WORDS: usize = 8;

/// Bytes of the memory.
const BYTES: usize = PAGE + ORDERS as usize * WORDS * 8;

/// How long the mover sleeps before it looks whether it is needed at all.
const LOOK_NS: u64 = 100_000_000;

/// What is to be done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Stored pages are copied to where the program has none, write-protected if `protect`.
    Land {
        /// Whether the first write to them is to be a fault.
        protect: bool,
    },
    /// Pages of the program's are stored; if `compare`, only those that differ from what is stored there.
    Take {
        /// Whether something is stored there.
        compare: bool,
    },
}

/// An order.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What to do.
    pub work: Work,
    /// Address of the pages in the program.
    pub address: u64,
    /// Where they are stored, in the data file.
    pub offset: u64,
    /// Number of pages, from 1 to [`MOST_PAGES`].
    pub count: u32,
    /// When they may arrive, in nanoseconds of the monotonic clock; 0 if at once.
    pub ready_at: u64,
}

/// How an order ended.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Pages dealt with, from the first on.
    pub done: u32,
    /// Of these, by bits, those that were stored as they are.
    pub unchanged: u32,
    /// Why not all were, or 0.
    pub errno: u16,
}

impl Answer {
    fn pack(self) -> u64 {
        u64::from(self.unchanged) << 32 | u64::from(self.errno) << 16 | u64::from(self.done)
    }

    fn unpack(word: u64, count: u32) -> Self {
        let done = (word as u32 & 0xFFFF).min(count);
        Self { done, unchanged: (word >> 32) as u32, errno: (word >> 16) as u16 }
    }
}

impl Order {
    fn encode(self) -> [u64; 4] {
        let (kind, flag) = match self.work {
            Work::Land { protect } => (1, protect),
            Work::Take { compare } => (2, compare),
        };
        let what = kind | u64::from(flag) << 8 | u64::from(self.count) << 16;
        [what, self.address, self.offset, self.ready_at]
    }

    fn decode(words: [u64; 4]) -> Option<Self> {
        let [what, address, offset, ready_at] = words;
        let flag = what >> 8 & 1 == 1;
        let work = match what & 0xFF {
            1 => Work::Land { protect: flag },
            2 => Work::Take { compare: flag },
            _ => return None,
        };
        let count = (what >> 16) as u32;
        (1..=MOST_PAGES).contains(&count).then_some(Self { work, address, offset, count, ready_at })
    }
}

/// What lies before the orders. Both sides' numbers have cache lines of their own.
#[repr(C, align(64))]
struct Header {
    magic: AtomicU64,
    /// 0 until the mover knows whether it can do its work: then [`READY`] or [`UNABLE`].
    state: AtomicU32,
    /// Nothing more will come.
    closed: AtomicU32,
    _space: [u64; 6],
    /// Orders put so far.
    put: AtomicU64,
    /// Changes when the mover is to wake up.
    signal: AtomicU32,
    _more: [u32; 13],
    /// Orders answered so far.
    done: AtomicU64,
    /// Whether the mover sleeps.
    sleeps: AtomicU32,
}

const READY: u32 = 1;
const UNABLE: u32 = 2;

#[derive(Debug)]
struct Shared {
    at: usize,
}

impl Shared {
    fn map(file: BorrowedFd<'_>) -> Result<Self> {
        Ok(Self { at: memory::map_shared(file, BYTES, "orders")? })
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping is page-aligned, longer than the header, and lives as long as `self`; atomics are
        // valid for any content.
        unsafe { &*(self.at as *const Header) }
    }

    fn word(&self, order: u64, index: usize) -> &AtomicU64 {
        let place = (order % ORDERS) as usize * WORDS + index % WORDS;
        // SAFETY: the orders follow the first page, and the place lies within them. As above otherwise.
        unsafe { &*((self.at + PAGE) as *const AtomicU64).add(place) }
    }

    fn close(&self) {
        self.header().closed.store(1, Ordering::Release);
        self.header().signal.fetch_add(1, Ordering::Release);
        futex_wake_shared(&self.header().signal, 1);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A range that cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.at, BYTES, "orders");
    }
}

/// The program's side.
#[derive(Debug)]
pub struct Orderer {
    shared: Shared,
}

impl Orderer {
    /// Memory for orders, and the file that the other side gets.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new() -> Result<(Self, OwnedFd)> {
        let file = memory::sealed_file(c"farside-orders", BYTES as u64)?;
        let shared = Shared::map(file.as_fd())?;
        shared.header().magic.store(MAGIC, Ordering::Release);
        Ok((Self { shared }, file))
    }

    /// Whether the mover can do its work; `None` if it has not said yet.
    pub fn is_able(&self) -> Option<bool> {
        match self.shared.header().state.load(Ordering::Acquire) {
            0 => None,
            state => Some(state == READY),
        }
    }

    /// Puts an order and returns its number. No more than [`ORDERS`] may be without an answer that was looked at; one
    /// thread at a time puts.
    pub fn put(&self, order: Order) -> u64 {
        let header = self.shared.header();
        let number = header.put.load(Ordering::Relaxed);
        for (index, word) in order.encode().into_iter().enumerate() {
            self.shared.word(number, index).store(word, Ordering::Relaxed);
        }
        header.put.store(number + 1, Ordering::Release);
        // The mover says that it sleeps before it looks for the last time.
        fence(Ordering::SeqCst);
        if header.sleeps.load(Ordering::Relaxed) != 0
            && header.sleeps.swap(0, Ordering::AcqRel) != 0
        {
            header.signal.fetch_add(1, Ordering::Release);
            futex_wake_shared(&header.signal, 1);
        }
        number
    }

    /// The answer to an order of `count` pages, if there is one.
    pub fn answer(&self, number: u64, count: u32) -> Option<Answer> {
        let done = self.shared.header().done.load(Ordering::Acquire);
        (number < done)
            .then(|| Answer::unpack(self.shared.word(number, 4).load(Ordering::Relaxed), count))
    }

    /// Says that nothing more will come.
    pub fn close(&self) {
        self.shared.close();
    }
}

/// The mover's side.
#[derive(Debug)]
pub struct Executor {
    shared: Shared,
    next: AtomicU64,
}

impl Executor {
    /// Takes what [`Orderer::new`] made.
    ///
    /// # Errors
    /// If it cannot be mapped, or is of another version.
    pub fn open(file: BorrowedFd<'_>) -> Result<Self> {
        let foreign = OsError { call: "mmap", subject: "orders", errno: libc::EPROTO };
        if memory::file_len(file)? < BYTES as u64 {
            return Err(foreign);
        }
        let shared = Shared::map(file)?;
        if shared.header().magic.load(Ordering::Acquire) != MAGIC {
            return Err(foreign);
        }
        Ok(Self { shared, next: AtomicU64::new(0) })
    }

    /// Says whether the work can be done.
    pub fn say_able(&self, able: bool) {
        self.shared.header().state.store(if able { READY } else { UNABLE }, Ordering::Release);
    }

    /// Ends the waiting for orders, from another thread.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Waits for the next order; `None` when nothing more will come, or what came makes no sense.
    pub fn wait(&self) -> Option<Order> {
        let header = self.shared.header();
        let next = self.next.load(Ordering::Relaxed);
        loop {
            let seen = header.signal.load(Ordering::Acquire);
            if header.closed.load(Ordering::Acquire) != 0 {
                return None;
            }
            if header.put.load(Ordering::Acquire) > next {
                return Order::decode(
                    [0, 1, 2, 3].map(|i| self.shared.word(next, i).load(Ordering::Relaxed)),
                );
            }
            header.sleeps.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if header.put.load(Ordering::Acquire) <= next {
                futex_wait_shared(&header.signal, seen, Some(LOOK_NS));
            }
            header.sleeps.store(0, Ordering::Relaxed);
        }
    }

    /// Answers the order that was waited for last.
    pub fn answer(&self, answer: Answer) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.shared.word(number, 4).store(answer.pack(), Ordering::Relaxed);
        self.shared.header().done.store(number + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn orders_and_answers_arrive(
            kind in 0..2, flag: bool, count in 1..=MOST_PAGES, rest: (u64, u64, u64), answer: (u32, u16),
        ) {
            let work = if kind == 0 { Work::Land { protect: flag } } else { Work::Take { compare: flag } };
            let (address, offset, ready_at) = rest;
            let order = Order { work, address, offset, count, ready_at };
            prop_assert_eq!(Order::decode(order.encode()), Some(order));
            let answer = Answer { done: count, unchanged: answer.0, errno: answer.1 };
            prop_assert_eq!(Answer::unpack(answer.pack(), count), answer);
        }

        #[test]
        fn any_words_are_an_order_or_none(words: [u64; 4], answer: u64) {
            if let Some(order) = Order::decode(words) {
                prop_assert!(order.count >= 1 && order.count <= MOST_PAGES);
            }
            prop_assert!(Answer::unpack(answer, 7).done <= 7);
        }
    }

    #[test]
    fn all_orders_are_carried_out_in_turn() {
        let (orderer, file) = Orderer::new().unwrap();
        let executor = Executor::open(file.as_fd()).unwrap();
        assert_eq!(orderer.is_able(), None);
        let mover = std::thread::spawn(move || {
            executor.say_able(true);
            let mut count = 0;
            while let Some(order) = executor.wait() {
                assert_eq!(order.address, count);
                executor.answer(Answer { done: order.count, ..Answer::default() });
                count += 1;
            }
            count
        });
        let total = 3 * ORDERS;
        for address in 0..total {
            let work = Work::Take { compare: false };
            let order = Order { work, address, offset: 0, count: 3, ready_at: 0 };
            let number = orderer.put(order);
            // Sometimes the mover has fallen asleep by now, sometimes not.
            if number % 97 == 0 || number + 1 == total {
                let answer = loop {
                    if let Some(answer) = orderer.answer(number, 3) {
                        break answer;
                    }
                    std::thread::yield_now();
                };
                assert_eq!(answer, Answer { done: 3, ..Answer::default() });
            }
        }
        assert_eq!(orderer.is_able(), Some(true));
        orderer.close();
        assert_eq!(mover.join().unwrap(), total);
    }
}
