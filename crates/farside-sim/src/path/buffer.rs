//! The page access buffer.

use farside_trace::PageId;

use super::SpacePage;

/// Stands for an entry that was never filled: no address space has this page.
const EMPTY: SpacePage = SpacePage { space: u16::MAX, page: PageId(u64::MAX) };

/// Recently accessed pages, set by set, each set from the most to the least recently accessed.
#[derive(Clone, Debug)]
pub struct PageAccessBuffer {
    entries: Vec<SpacePage>,
    sets: usize,
    ways: usize,
}

impl PageAccessBuffer {
    /// An empty buffer.
    ///
    /// # Panics
    /// If it would have no entries.
    pub fn new(sets: usize, ways: usize) -> Self {
        assert!(sets > 0 && ways > 0, "a buffer needs entries");
        Self { entries: vec![EMPTY; sets * ways], sets, ways }
    }

    /// Looks `page` up, and makes it the most recent of its set; whether it was there.
    pub fn access(&mut self, page: SpacePage) -> bool {
        let set = (page.page.0 % self.sets as u64) as usize;
        super::filter::bring_to_front(&mut self.entries[set * self.ways..][..self.ways], page)
    }
}
