//! The memory that the emulator's plugin and this process share; `capture/stream.h` describes it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use farside_os::{Result, memory};

/// First word of the memory: which layout it has.
const MAGIC: u64 = u64::from_le_bytes(*b"pftrace2");

/// Most threads that are traced at once.
pub const LANES: usize = 1024;

/// Words in the ring of a lane.
pub const RING_WORDS: usize = 1 << 17;

/// Binary logarithm of the bytes of a page.
const PAGE_SHIFT: u32 = 12;

const SUBJECT: &str = "the memory shared with the emulator";

/// What concerns all threads.
#[repr(C)]
#[derive(Debug)]
struct Header {
    magic: AtomicU64,
    lane_bytes: AtomicU64,
    lane_count: AtomicU64,
    stop: AtomicU64,
    attached: AtomicU64,
    threads: AtomicU64,
    forks: AtomicU64,
    fork_execs: AtomicU64,
    untraced_threads: AtomicU64,
    lanes_used: AtomicU64,
    padding: [u64; 502],
}

/// Pages and places beyond what words can say are nonsense.
const PAGES_END: u64 = 1 << 48;
const NO_PAGE: u64 = 1 << 63;
const PLACES_END: u64 = 1 << 62;

/// More accesses to one page than any program makes before another.
const OPEN_WEIGHT_MOST: u64 = 1 << 44;

/// The state of a lane.
const LANE_FREE: u64 = 0;
const LANE_ENDED: u64 = 2;

/// What one thread of the program tells.
#[repr(C)]
#[derive(Debug)]
pub struct Lane {
    base: AtomicU64,
    open: AtomicU64,
    place: AtomicU64,
    open_head: AtomicU64,
    head: AtomicU64,
    limit: AtomicU64,
    fast_limit: AtomicU64,
    in_stretch: AtomicU64,
    state: AtomicU64,
    padding: [u64; 7],
    tail: AtomicU64,
    rest: [u64; 495],
    ring: [AtomicU64; RING_WORDS],
}

const _: () = assert!(size_of::<Header>() == 4096);
const _: () = assert!(size_of::<Lane>() == 4096 + RING_WORDS * 8);

/// Accesses of one thread to one page without another page between them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The page.
    pub page: u64,
    /// Number of accesses; at least 1.
    pub weight: u32,
    /// Whether any of them wrote.
    pub wrote: bool,
}

/// A run that has begun and has not been handed over.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// Its place in the order; 0 in a stretch.
    pub place: u64,
    /// The page.
    pub page: u64,
    /// Number of accesses so far; at least 1, and at most 2^44.
    pub weight: u64,
    /// Whether any of them wrote.
    pub wrote: bool,
}

/// What a word is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Accesses.
    Run(Run),
    /// The place in the order of what comes next.
    Ticket(u64),
    /// The place in the order of all that comes next, up to the end of the stretch.
    Stretch(u64),
    /// Kind of a message, and number of words that belong to it.
    Message(u64, u64),
}

impl Word {
    /// Takes a word apart.
    #[inline]
    pub fn decode(word: u64) -> Self {
        match word & 3 {
            0 => Self::Run(RunWord(word).run()),
            1 => Self::Ticket(word >> 2),
            2 => Self::Stretch(word >> 2),
            _ => Self::Message(word >> 2 & 63, word >> 8 & 0xff_ffff),
        }
    }
}

/// A word that is a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RunWord(u64);

impl RunWord {
    /// One access to page 0.
    pub const FIRST: Self = Self(0);

    /// This word, if it is a run.
    #[inline]
    pub fn of(word: u64) -> Option<Self> {
        (word & 3 == 0).then_some(Self(word))
    }

    /// What the word says.
    #[inline]
    pub fn run(self) -> Run {
        let weight = (self.0 >> 3 & 0x1fff) as u32 + 1;
        Run { page: self.0 >> 16, weight, wrote: self.0 & 4 != 0 }
    }
}

impl Lane {
    /// The word at `position`, counted since ever.
    #[inline]
    pub fn word(&self, position: u64) -> u64 {
        self.ring[position as usize % RING_WORDS].load(Ordering::Relaxed)
    }

    /// Number of words written since ever.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// Gives the room of the words before `position` back to the writer.
    #[inline]
    pub fn give_back(&self, position: u64) {
        self.tail.store(position, Ordering::Release);
    }

    /// The run that is going on, if there is one and it is not just being handed over. None if what
    /// the memory says of it cannot be.
    pub fn open_run(&self) -> Option<OpenRun> {
        let opened = self.open_head.load(Ordering::Acquire);
        let page = self.base.load(Ordering::Acquire) >> PAGE_SHIFT;
        let place = self.place.load(Ordering::Acquire);
        let open = self.open.load(Ordering::Acquire);
        let is_open = opened == self.head() || self.in_stretch();
        let (weight, wrote) = ((open >> 3).min(OPEN_WEIGHT_MOST), open & 4 != 0);
        let is_sane = page < PAGES_END && place < PLACES_END && weight > 0;
        (is_open && is_sane).then_some(OpenRun { place, page, weight, wrote })
    }

    fn in_stretch(&self) -> bool {
        self.in_stretch.load(Ordering::Acquire) != 0
    }

    /// Whether a thread has the lane, or had it and left words in it.
    pub fn in_use(&self) -> bool {
        self.state.load(Ordering::Acquire) != LANE_FREE
    }

    /// Whether the thread is gone; asked before [`head`](Self::head), nothing follows.
    pub fn ended(&self) -> bool {
        self.state.load(Ordering::Acquire) == LANE_ENDED
    }

    /// Lets another thread have the lane.
    pub fn release(&self) {
        self.base.store(NO_PAGE, Ordering::Relaxed);
        self.state.store(LANE_FREE, Ordering::Release);
    }
}

/// The shared memory.
#[derive(Debug)]
pub struct Stream {
    file: OwnedFd,
    at: usize,
}

const BYTES: usize = size_of::<Header>() + LANES * size_of::<Lane>();

impl Stream {
    /// Makes the memory. It takes room only where it is written.
    pub fn new() -> Result<Self> {
        let file = memory::anonymous_file(c"farside-capture", BYTES as u64)?;
        let at = memory::map_shared(file.as_fd(), BYTES, SUBJECT)?;
        let stream = Self { file, at };
        let header = stream.header();
        header.lane_bytes.store(size_of::<Lane>() as u64, Ordering::Relaxed);
        header.lane_count.store(LANES as u64, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(stream)
    }

    /// The descriptor that the emulator maps.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping begins with a header, is page-aligned, lives as long as `self`, and
        // consists of atomics, which any other process may change.
        unsafe { &*(self.at as *const Header) }
    }

    /// The lanes that any thread has ever had.
    pub fn lanes(&self) -> &[Lane] {
        let used = self.header().lanes_used.load(Ordering::Acquire).min(LANES as u64) as usize;
        let first = (self.at + size_of::<Header>()) as *const Lane;
        // SAFETY: the mapping has `LANES` lanes after the header; else as above.
        unsafe { std::slice::from_raw_parts(first, used) }
    }

    /// Tells the program that nothing is read any more, so that it does not wait for room.
    pub fn stop(&self) {
        self.header().stop.store(1, Ordering::Release);
    }

    /// Whether the plugin is at work.
    pub fn attached(&self) -> bool {
        self.header().attached.load(Ordering::Acquire) != 0
    }

    /// Number of threads the program has had.
    pub fn threads(&self) -> u64 {
        self.header().threads.load(Ordering::Relaxed)
    }

    /// Number of child processes it has had.
    pub fn forks(&self) -> u64 {
        self.header().forks.load(Ordering::Relaxed)
    }

    /// Number of programs that its children became.
    pub fn fork_execs(&self) -> u64 {
        self.header().fork_execs.load(Ordering::Relaxed)
    }

    /// Number of threads for which there was no lane.
    pub fn untraced_threads(&self) -> u64 {
        self.header().untraced_threads.load(Ordering::Relaxed)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // What cannot be unmapped goes with the process.
        let _ = memory::unmap(self.at, BYTES, SUBJECT);
    }
}
