//! Where a slot lies: 255 pages, each with the version that it is of, fill one value of a megabyte, which is what
//! the server's allocator hands out (a value for each page takes a quarter more memory).
//!
//! The table of extents lies in memory that forked processes share, as they share the slots.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use farside_os::memory::{self, PAGE};

use super::resp;
use super::topology::KeyHash;
use crate::FarError;
use crate::seals::SLOTS;

/// Pages of an extent.
pub const PAGES: u64 = 255;

/// Bytes behind each page: its version, the checksum of what is stored, and four that are zero.
pub const TRAILER: usize = 16;

/// Bytes of a page with its trailer.
pub const RECORD: usize = PAGE + TRAILER;

/// Extents of a run.
const EXTENTS: u64 = SLOTS.div_ceil(PAGES);

/// Of an entry: the extent is there; and, it is about to be deleted, or may be.
const THERE: u32 = 1 << 30;
const ENDING: u32 = 1 << 31;

const BYTES: usize = PAGE + EXTENTS as usize * size_of::<AtomicU32>();

/// The extent of a slot, and its place in that.
pub fn place(slot: u64) -> (u64, u64) {
    (slot / PAGES, slot % PAGES)
}

/// What is stored behind a page.
pub fn trailer(version: u64, check: u32) -> [u8; TRAILER] {
    let mut bytes = [0; TRAILER];
    bytes[..8].copy_from_slice(&version.to_le_bytes());
    bytes[8..12].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// The version that a record says it is of.
pub fn version(record: &[u8]) -> Option<u64> {
    let bytes = record.get(PAGE..PAGE + 8)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// What the extents of a process and those that it forks are called.
pub struct Names {
    prefix: String,
    hash: KeyHash,
}

impl Names {
    /// All begin with `prefix`.
    pub fn new(prefix: String) -> Self {
        let hash = KeyHash::default().then(prefix.as_bytes());
        Self { prefix, hash }
    }

    /// The part of the keys that an extent belongs to.
    pub fn part(&self, extent: u64) -> usize {
        let mut digits = [0; 20];
        self.hash.then(decimal(extent, &mut digits)).part()
    }

    /// Appends the name of an extent as a word of a command.
    pub fn word(&self, bytes: &mut Vec<u8>, extent: u64) {
        let mut digits = [0; 20];
        let digits = decimal(extent, &mut digits);
        resp::long_word(bytes, self.prefix.len() + digits.len());
        bytes.extend_from_slice(self.prefix.as_bytes());
        bytes.extend_from_slice(digits);
        bytes.extend_from_slice(b"\r\n");
    }
}

fn decimal(mut number: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[at..];
        }
    }
}

/// What all processes share besides the entries.
#[repr(C)]
struct Shared {
    /// When the servers are to be told again that the extents are in use.
    renew_at: AtomicU64,
    /// One more than the highest extent that ever was there.
    high: AtomicU64,
}

/// The table.
pub struct Extents {
    shared: &'static Shared,
    /// How many pages each holds, and whether it is there.
    entries: &'static [AtomicU32],
}

impl Extents {
    /// None is there.
    pub fn new() -> Result<Self, FarError> {
        let file = memory::anonymous_file(c"farside-extents", BYTES as u64)?;
        let at = memory::map_shared(file.as_fd(), BYTES, "the table of extents")?;
        // SAFETY: the mapping is as long as the two parts together, lives as long as the process, and atomics are valid
        // for any content.
        let (shared, entries) = unsafe {
            (
                &*(at as *const Shared),
                std::slice::from_raw_parts((at + PAGE) as *const AtomicU32, EXTENTS as usize),
            )
        };
        Ok(Self { shared, entries })
    }

    /// One page more; false if the extent is about to be deleted.
    pub fn enter(&self, extent: u64) -> bool {
        let more = |entry: u32| (entry & ENDING == 0).then_some(entry + 1);
        self.entries[extent as usize]
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .is_ok()
    }

    /// One page less; whether none is left.
    pub fn leave(&self, extent: u64) -> bool {
        self.entries[extent as usize].fetch_sub(1, Ordering::AcqRel) == THERE + 1
    }

    /// Whether it is known to be there.
    pub fn is_there(&self, extent: u64) -> bool {
        self.entries[extent as usize].load(Ordering::Acquire) & THERE != 0
    }

    /// It is there.
    pub fn note_there(&self, extent: u64) {
        self.entries[extent as usize].fetch_or(THERE, Ordering::AcqRel);
        self.shared.high.fetch_max(extent + 1, Ordering::Relaxed);
    }

    /// It is to be deleted, if it is still empty; whether so.
    pub fn begin_end(&self, extent: u64) -> bool {
        let entry = &self.entries[extent as usize];
        entry.compare_exchange(THERE, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// It has been deleted.
    pub fn finish_end(&self, extent: u64) {
        self.entries[extent as usize].store(0, Ordering::Release);
    }

    /// Pages that it holds.
    pub fn pages(&self, extent: u64) -> u64 {
        u64::from(self.entries[extent as usize].load(Ordering::Relaxed) & !(THERE | ENDING))
    }

    /// One more than the highest that ever was there.
    pub fn high(&self) -> u64 {
        self.shared.high.load(Ordering::Relaxed)
    }

    /// Whether it is up to the caller to say that the extents are in use: nobody of those who share them did for
    /// `period` nanoseconds.
    pub fn begin_renewal(&self, now: u64, period: u64) -> bool {
        let at = self.shared.renew_at.load(Ordering::Relaxed);
        now >= at
            && self
                .shared
                .renew_at
                .compare_exchange(at, now + period, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_ends_only_while_nobody_is_in_it() {
        let extents = Extents::new().unwrap();
        assert!(extents.enter(3) && extents.enter(3));
        extents.note_there(3);
        assert!(!extents.leave(3));
        assert!(!extents.begin_end(3));
        assert!(extents.leave(3));
        assert!(extents.begin_end(3) && !extents.begin_end(3));
        assert!(!extents.enter(3));
        extents.finish_end(3);
        assert!(extents.enter(3) && !extents.is_there(3));
        assert_eq!((extents.pages(3), extents.high()), (1, 4));
    }

    #[test]
    fn renewal_is_done_by_one() {
        let extents = Extents::new().unwrap();
        assert!(extents.begin_renewal(10, 100));
        assert!(!extents.begin_renewal(109, 100));
        assert!(extents.begin_renewal(110, 100));
    }

    #[test]
    fn names_are_words_and_have_a_part() {
        let names = Names::new("farside:a:".into());
        let mut bytes = Vec::new();
        names.word(&mut bytes, 1204);
        assert_eq!(bytes, b"$14\r\nfarside:a:1204\r\n");
        assert_eq!(names.part(1204), KeyHash::default().then(b"farside:a:1204").part());
        // A value with its header and the byte that ends it fits a megabyte exactly enough.
        assert!(PAGES as usize * RECORD + 10 <= 1 << 20);
    }
}
