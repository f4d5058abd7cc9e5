//! The shared memory as `capture/stream.h` lays it out, mapped a second time, as the emulator does.

use std::sync::atomic::{AtomicU64, Ordering};

use farside_cli::capture::stream::Stream;
use farside_os::memory;

pub const LANES: usize = 1024;
pub const RING_WORDS: u64 = 1 << 17;
/// The base of no page, and of one.
pub const NO_PAGE: u64 = 1 << 63;
pub const PAGE_SHIFT: u32 = 12;

const HEADER_WORDS: usize = 4096 / 8;
const LANE_WORDS: usize = HEADER_WORDS + RING_WORDS as usize;
const BYTES: usize = (HEADER_WORDS + LANES * LANE_WORDS) * 8;
const SUBJECT: &str = "the memory of a test";

/// Words of the header.
#[derive(Copy, Clone, Debug)]
pub enum Header {
    Threads = 5,
    LanesUsed = 9,
    Places = 16,
}

/// Words of a lane before its ring.
#[derive(Copy, Clone, Debug)]
pub enum Field {
    Base = 0,
    Open = 1,
    Place = 2,
    OpenHead = 3,
    Head = 4,
    InStretch = 7,
    State = 8,
    Tail = 16,
}

/// States of a lane.
pub const FREE: u64 = 0;
pub const LIVE: u64 = 1;
pub const ENDED: u64 = 2;

/// The memory of a stream.
pub struct Memory {
    at: usize,
}

impl Memory {
    pub fn of(stream: &Stream) -> Self {
        let at = memory::map_shared(stream.descriptor(), BYTES, SUBJECT).expect("a mapping");
        Self { at }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < BYTES / 8);
        // SAFETY: the mapping has that many words, is page-aligned, lives as long as `self`, and is
        // accessed through atomics alone.
        unsafe { &*(self.at as *const AtomicU64).add(index) }
    }

    pub fn header(&self, word: Header) -> &AtomicU64 {
        self.word(word as usize)
    }

    fn lane_word(&self, lane: usize, index: usize) -> &AtomicU64 {
        self.word(HEADER_WORDS + lane * LANE_WORDS + index)
    }

    pub fn get(&self, lane: usize, field: Field) -> u64 {
        self.lane_word(lane, field as usize).load(Ordering::Acquire)
    }

    pub fn set(&self, lane: usize, field: Field, value: u64) {
        self.lane_word(lane, field as usize).store(value, Ordering::Release);
    }

    /// Sets any of the words before the ring.
    pub fn set_word(&self, lane: usize, index: usize, value: u64) {
        self.lane_word(lane, index).store(value, Ordering::Release);
    }

    /// The word of a ring at a position counted since ever.
    pub fn ring(&self, lane: usize, position: u64) -> &AtomicU64 {
        self.lane_word(lane, HEADER_WORDS + (position % RING_WORDS) as usize)
    }

    /// A free lane, which is live from now on.
    pub fn claim(&self) -> usize {
        let free = (0..LANES).find(|&lane| self.get(lane, Field::State) == FREE);
        let lane = free.expect("a free lane");
        self.set(lane, Field::State, LIVE);
        self.header(Header::LanesUsed).fetch_max(lane as u64 + 1, Ordering::AcqRel);
        lane
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        memory::unmap(self.at, BYTES, SUBJECT).expect("a mapping of its own");
    }
}
