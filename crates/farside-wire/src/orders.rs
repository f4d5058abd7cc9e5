//! Orders of a program to the process that moves its pages, in memory that both share.
//!
//! Orders are carried out, and answered, one after the other. An order that the mover has not begun can be recalled: it
//! is passed over then. Neither side can harm the other through this memory: what is read from it is checked, and
//! concerns the program's own pages alone.

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
const MAGIC: u64 = u64::from_le_bytes(*b"fsorder\x02");

/// Words of an order: what to do, address, offset, when, the answer, and whose it is.
const WORDS: usize = 8;

/// Where the answer stands.
const ANSWER: usize = 4;

/// Where it stands whose the order is: [`WAITS`], [`BEGUN`] or [`RECALLED`].
const CLAIM: usize = 5;

const WAITS: u64 = 0;
const BEGUN: u64 = 1;
const RECALLED: u64 = 2;

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

    fn order(&self, number: u64) -> Option<Order> {
        Order::decode([0, 1, 2, 3].map(|i| self.word(number, i).load(Ordering::Relaxed)))
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

    /// Whether another order can be put: the mover comes past recalled ones, too, before their places are free.
    pub fn has_room(&self) -> bool {
        self.shared.header().put.load(Ordering::Relaxed).wrapping_sub(self.past()) < ORDERS
    }

    /// Puts an order and returns its number. There must be [room](Self::has_room), and no more than [`ORDERS`] may be
    /// without an answer that was looked at; one thread at a time puts.
    pub fn put(&self, order: Order) -> u64 {
        let header = self.shared.header();
        let number = header.put.load(Ordering::Relaxed);
        for (index, word) in order.encode().into_iter().enumerate() {
            self.shared.word(number, index).store(word, Ordering::Relaxed);
        }
        self.shared.word(number, CLAIM).store(WAITS, Ordering::Relaxed);
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
        (number < self.past()).then(|| {
            Answer::unpack(self.shared.word(number, ANSWER).load(Ordering::Relaxed), count)
        })
    }

    /// The order that the mover is at, or will come to next: all before it are answered, or were recalled.
    pub fn past(&self) -> u64 {
        self.shared.header().done.load(Ordering::Acquire)
    }

    /// Whether the mover has begun an order that has no answer yet.
    pub fn is_begun(&self, number: u64) -> bool {
        self.shared.word(number, CLAIM).load(Ordering::Relaxed) == BEGUN
    }

    /// Takes back an order that was put, has not been recalled, and whose answer has not been looked at: what was to be
    /// done, which the mover will not do; `None` if it has begun. There will be no answer.
    pub fn recall(&self, number: u64) -> Option<Order> {
        let claim = self.shared.word(number, CLAIM);
        claim.compare_exchange(WAITS, RECALLED, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        self.shared.order(number)
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

    /// Waits for the next order that is not recalled, and begins it; `None` when nothing more will come, or what came
    /// makes no sense.
    pub fn wait(&self) -> Option<Order> {
        let header = self.shared.header();
        loop {
            let next = self.next.load(Ordering::Relaxed);
            let seen = header.signal.load(Ordering::Acquire);
            if header.closed.load(Ordering::Acquire) != 0 {
                return None;
            }
            if header.put.load(Ordering::Acquire) > next {
                if self.begin(next) {
                    return self.shared.order(next);
                }
                self.pass();
                continue;
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
        let number = self.next.load(Ordering::Relaxed);
        self.shared.word(number, ANSWER).store(answer.pack(), Ordering::Relaxed);
        self.pass();
    }

    /// Makes an order ours, unless it was recalled.
    fn begin(&self, number: u64) -> bool {
        let claim = self.shared.word(number, CLAIM);
        claim.compare_exchange(WAITS, BEGUN, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Goes on to the next order.
    fn pass(&self) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
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

    #[test]
    fn an_order_is_carried_out_or_recalled() {
        let (orderer, file) = Orderer::new().unwrap();
        let executor = Executor::open(file.as_fd()).unwrap();
        let order = |address| Order {
            work: Work::Land { protect: true },
            address,
            offset: 7 * PAGE as u64,
            count: 2,
            ready_at: 5,
        };
        let numbers = [1, 2, 3].map(|address| orderer.put(order(address)));
        assert_eq!(orderer.recall(numbers[0]), Some(order(1)));
        assert_eq!(orderer.recall(numbers[0]), None);
        assert_eq!(executor.wait(), Some(order(2)));
        assert_eq!((orderer.past(), orderer.is_begun(numbers[1])), (1, true));
        assert_eq!(orderer.recall(numbers[1]), None);
        assert_eq!(orderer.recall(numbers[2]), Some(order(3)));
        executor.answer(Answer { done: 2, ..Answer::default() });
        assert_eq!(orderer.answer(numbers[1], 2).map(|answer| answer.done), Some(2));
        let later = orderer.put(order(4));
        assert_eq!(executor.wait(), Some(order(4)));
        assert_eq!((orderer.past(), orderer.is_begun(later)), (later, true));
    }

    #[test]
    fn places_of_recalled_orders_are_free_when_the_mover_is_past_them() {
        let (orderer, file) = Orderer::new().unwrap();
        let executor = Executor::open(file.as_fd()).unwrap();
        let work = Work::Take { compare: false };
        let order = |address| Order { work, address, offset: 0, count: 1, ready_at: 0 };
        for address in 0..ORDERS {
            assert!(orderer.has_room());
            let number = orderer.put(order(address));
            assert_eq!(orderer.recall(number), Some(order(address)));
        }
        assert!(!orderer.has_room());
        let mover = std::thread::spawn(move || executor.wait());
        while !orderer.has_room() {
            std::thread::yield_now();
        }
        orderer.put(order(ORDERS));
        assert_eq!(mover.join().unwrap(), Some(order(ORDERS)));
    }

    #[test]
    fn each_order_is_carried_out_by_one_side() {
        let (orderer, file) = Orderer::new().unwrap();
        let executor = Executor::open(file.as_fd()).unwrap();
        let mover = std::thread::spawn(move || {
            let mut carried_out = Vec::new();
            while let Some(order) = executor.wait() {
                carried_out.push(order.address);
                executor.answer(Answer { done: 1, ..Answer::default() });
            }
            carried_out
        });
        let work = Work::Take { compare: true };
        let (total, together) = (4 * ORDERS, 8);
        let mut recalled = Vec::new();
        for first in (0..total).step_by(together) {
            let put = |address| {
                while !orderer.has_room() {
                    std::thread::yield_now();
                }
                orderer.put(Order { work, address, offset: 0, count: 1, ready_at: 0 })
            };
            let numbers: Vec<_> = (first..first + together as u64).map(put).collect();
            // The last ones are the least likely to have been begun.
            for number in numbers.into_iter().rev() {
                match orderer.recall(number) {
                    Some(order) => recalled.push(order.address),
                    None => {
                        while orderer.answer(number, 1).is_none() {
                            std::thread::yield_now();
                        }
                    }
                }
            }
        }
        orderer.close();
        let mut all = mover.join().unwrap();
        all.extend(recalled);
        all.sort_unstable();
        assert_eq!(all, (0..total).collect::<Vec<_>>());
    }
}
