//! What one client, with those it forked, keeps on a node.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_wire::frame::{Code, page_check};
use farside_wire::page_part::PagePart;
use rustc_hash::FxHashMap;

use crate::frames::{Blank, Frames, Pinned};

/// Slots have smaller numbers than this.
const SLOTS: u64 = 1 << 40;

/// Pages by slot.
#[derive(Default)]
pub struct Pool {
    /// Says which pool of that name it is.
    pub epoch: u64,
    index: Mutex<FxHashMap<u64, u32>>,
}

impl Pool {
    /// An empty one.
    pub fn new(epoch: u64) -> Self {
        Self { epoch, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, u32>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page of a slot, to be sent.
    ///
    /// # Errors
    /// If there is none, or not that version of it.
    pub fn read<'a>(
        &self,
        frames: &'a Frames,
        slot: u64,
        version: u64,
    ) -> Result<Pinned<'a>, Code> {
        let index = self.lock();
        let pinned = frames.pin(*index.get(&slot).ok_or(Code::Missing)?);
        drop(index);
        if pinned.version() == version { Ok(pinned) } else { Err(Code::OtherVersion) }
    }

    /// The page of a slot, of that version or a younger one, for parts of it to be sent.
    ///
    /// # Errors
    /// If there is none, or an older one.
    pub fn read_since<'a>(
        &self,
        frames: &'a Frames,
        slot: u64,
        version: u64,
    ) -> Result<Pinned<'a>, Code> {
        let pinned = self.pin(frames, slot).ok_or(Code::Missing)?;
        if pinned.version() >= version { Ok(pinned) } else { Err(Code::OtherVersion) }
    }

    /// The page of a slot, of whatever version.
    pub fn pin<'a>(&self, frames: &'a Frames, slot: u64) -> Option<Pinned<'a>> {
        let index = self.lock();
        index.get(&slot).map(|frame| frames.pin(*frame))
    }

    /// Keeps a page, instead of an older one that its slot held.
    ///
    /// # Errors
    /// If the slot's number is none, or it holds a younger page: a message may come late.
    pub fn write(
        &self,
        frames: &Frames,
        (slot, version, check): (u64, u64, u32),
        page: Blank<'_>,
    ) -> Result<(), Code> {
        if slot >= SLOTS {
            return Err(Code::Senseless);
        }
        let mut index = self.lock();
        let old = index.get(&slot).copied();
        if old.is_some_and(|old| frames.version(old) > version) {
            return Err(Code::OtherVersion);
        }
        index.insert(slot, page.fill(version, check));
        drop(index);
        if let Some(old) = old {
            frames.discard(old);
        }
        Ok(())
    }

    /// As [`write`](Self::write), if there is no frame for it but that of the page which the slot holds: that one is
    /// given up first.
    ///
    /// # Errors
    /// As [`write`](Self::write), and if there is no frame even so. What the slot held is kept then.
    pub fn rewrite(
        &self,
        frames: &Frames,
        (slot, version, check): (u64, u64, u32),
        page: &[u8],
    ) -> Result<(), Code> {
        let mut index = self.lock();
        let Entry::Occupied(mut entry) = index.entry(slot) else { return Err(Code::Full) };
        let old = *entry.get();
        if frames.version(old) > version {
            return Err(Code::OtherVersion);
        }
        let Some(mut blank) = frames.take().or_else(|| frames.reuse(old)) else {
            return Err(Code::Full);
        };
        blank.bytes().copy_from_slice(page);
        let new = blank.fill(version, check);
        entry.insert(new);
        if new != old {
            frames.discard(old);
        }
        Ok(())
    }

    /// Stores parts of one page that is kept as `before` or a younger version, and is that `version` then.
    ///
    /// # Errors
    /// If the page is not kept, or lacks something that was stored before, or is younger: a message may come late. Also
    /// if the page is being sent, and there is no frame for another one. What the slot held is kept then.
    pub fn write_parts(
        &self,
        frames: &Frames,
        (version, before): (u64, u64),
        parts: &[(PagePart, &[u8])],
    ) -> Result<(), Code> {
        let Some((first, _)) = parts.first() else { return Ok(()) };
        let mut index = self.lock();
        let entry = index.get_mut(&first.slot).ok_or(Code::Missing)?;
        let old = *entry;
        let current = frames.version(old);
        if current > version || current < before {
            return Err(Code::OtherVersion);
        }
        // With the index locked, nobody begins to send it.
        let mut blank = match frames.reuse(old) {
            Some(blank) => blank,
            None => {
                let mut blank = frames.take().ok_or(Code::Full)?;
                blank.bytes().copy_from_slice(frames.pin(old).bytes());
                blank
            }
        };
        for (part, bytes) in parts {
            blank.bytes()[part.range()].copy_from_slice(bytes);
        }
        let check = page_check(blank.bytes());
        let new = blank.fill(version, check);
        *entry = new;
        if new != old {
            frames.discard(old);
        }
        Ok(())
    }

    /// Forgets pages older than `version` in some slots; tells how many.
    pub fn free(&self, frames: &Frames, slots: Range<u64>, version: u64) -> usize {
        let mut index = self.lock();
        let is_old = |frame: u32| frames.version(frame) < version;
        let gone: Vec<u32> = if slots.end.saturating_sub(slots.start) <= index.len() as u64 {
            let old = |slot: &u64| index.get(slot).is_some_and(|frame| is_old(*frame));
            let old: Vec<u64> = slots.filter(old).collect();
            old.iter().filter_map(|slot| index.remove(slot)).collect()
        } else {
            let goes = |slot: &u64, frame: &mut u32| slots.contains(slot) && is_old(*frame);
            index.extract_if(goes).map(|(_, frame)| frame).collect()
        };
        drop(index);
        let count = gone.len();
        gone.into_iter().for_each(|frame| frames.discard(frame));
        count
    }
}

#[cfg(test)]
mod tests {
    use farside_os::memory::PAGE;

    use super::*;

    fn put(pool: &Pool, frames: &Frames, slot: u64, version: u64) {
        let mut blank = frames.take().unwrap();
        blank.bytes().fill(version as u8);
        pool.write(frames, (slot, version, 0), blank).unwrap();
    }

    #[test]
    fn a_page_is_read_as_it_was_written_last_or_not_at_all() {
        let frames = Frames::new(8 * PAGE as u64, false).unwrap();
        let pool = Pool::new(1);
        put(&pool, &frames, 3, 10);
        put(&pool, &frames, 3, 11);
        assert_eq!(pool.read(&frames, 3, 10).err(), Some(Code::OtherVersion));
        assert_eq!(pool.read(&frames, 4, 11).err(), Some(Code::Missing));
        assert_eq!(pool.read(&frames, 3, 11).unwrap().bytes(), [11; PAGE]);
        assert_eq!(frames.used(), 1);
        pool.free(&frames, 0..u64::MAX, u64::MAX);
        assert_eq!(frames.used(), 0);
    }

    #[test]
    fn what_comes_late_harms_nothing() {
        let frames = Frames::new(4 * PAGE as u64, false).unwrap();
        let pool = Pool::new(1);
        put(&pool, &frames, 3, 10);
        let late = frames.take().unwrap();
        assert_eq!(pool.write(&frames, (3, 9, 0), late), Err(Code::OtherVersion));
        assert_eq!(pool.rewrite(&frames, (3, 9, 0), &[0; PAGE]), Err(Code::OtherVersion));
        pool.free(&frames, 3..4, 10);
        assert!(pool.read(&frames, 3, 10).is_ok());
        pool.free(&frames, 3..4, 11);
        assert_eq!(frames.used(), 0);
    }

    #[test]
    fn parts_are_stored_in_what_holds_all_before_them_and_nowhere_else() {
        let frames = Frames::new(8 * PAGE as u64, false).unwrap();
        let pool = Pool::new(1);
        let parts = |first: u32, byte: &'static [u8; 64]| {
            [(PagePart { slot: 3, first, count: 1 }, &byte[..])]
        };
        let (one, two) = (parts(1, &[1; 64]), parts(2, &[2; 64]));
        assert_eq!(pool.write_parts(&frames, (11, 10), &one), Err(Code::Missing));
        put(&pool, &frames, 3, 10);
        assert_eq!(pool.write_parts(&frames, (13, 11), &one), Err(Code::OtherVersion));
        assert_eq!(pool.write_parts(&frames, (12, 10), &one), Ok(()));
        // It is sent again, and what was sent before it comes late.
        assert_eq!(pool.write_parts(&frames, (12, 10), &one), Ok(()));
        assert_eq!(pool.write_parts(&frames, (11, 10), &two), Err(Code::OtherVersion));
        assert_eq!(pool.read_since(&frames, 3, 13).err(), Some(Code::OtherVersion));
        // What is being sent stays what it is.
        let pinned = pool.read_since(&frames, 3, 10).unwrap();
        assert_eq!(pool.write_parts(&frames, (13, 12), &two), Ok(()));
        let mut expected = [10; PAGE];
        expected[64..128].fill(1);
        assert_eq!((pinned.bytes(), pinned.version()), (&expected[..], 12));
        drop(pinned);
        expected[128..192].fill(2);
        let page = pool.read(&frames, 3, 13).unwrap();
        assert_eq!((page.bytes(), page.check()), (&expected[..], page_check(&expected)));
        drop(page);
        assert_eq!(frames.used(), 1);
    }

    #[test]
    fn a_full_node_takes_parts_of_what_it_has() {
        let frames = Frames::new(PAGE as u64, false).unwrap();
        let pool = Pool::new(1);
        put(&pool, &frames, 3, 10);
        let part = [(PagePart { slot: 3, first: 63, count: 1 }, &[7; 64][..])];
        let pinned = pool.pin(&frames, 3).unwrap();
        assert_eq!(pool.write_parts(&frames, (11, 10), &part), Err(Code::Full));
        drop(pinned);
        assert_eq!(pool.write_parts(&frames, (11, 10), &part), Ok(()));
        assert_eq!(pool.read(&frames, 3, 11).unwrap().bytes()[4032..], [7; 64]);
    }

    #[test]
    fn a_full_node_takes_new_content_of_a_page_it_has_and_nothing_else() {
        let frames = Frames::new(2 * PAGE as u64, false).unwrap();
        let pool = Pool::new(1);
        put(&pool, &frames, 1, 10);
        put(&pool, &frames, 2, 11);
        assert!(frames.take().is_none());
        let page = [12; PAGE];
        assert_eq!(pool.rewrite(&frames, (3, 12, 0), &page), Err(Code::Full));
        assert_eq!(pool.rewrite(&frames, (1, 12, 0), &page), Ok(()));
        assert_eq!(pool.read(&frames, 1, 12).unwrap().bytes(), page);
        let pinned = pool.read(&frames, 2, 11).unwrap();
        assert_eq!(pool.rewrite(&frames, (2, 13, 0), &page), Err(Code::Full));
        assert_eq!(pinned.bytes(), [11; PAGE], "what is being sent stays what it is");
        drop(pinned);
        assert_eq!(pool.read(&frames, 2, 11).unwrap().bytes(), [11; PAGE]);
    }

    #[test]
    fn slots_beyond_all_are_refused() {
        let frames = Frames::new(PAGE as u64, false).unwrap();
        let pool = Pool::new(1);
        let blank = frames.take().unwrap();
        assert_eq!(pool.write(&frames, (SLOTS, 1, 0), blank), Err(Code::Senseless));
        assert_eq!(frames.used(), 0);
    }
}
