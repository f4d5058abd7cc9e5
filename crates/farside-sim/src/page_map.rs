//! A small value for each page of a trace.

use farside_trace::{PageId, PageRange};
use rustc_hash::FxHashMap;

/// Binary logarithm of the pages in a leaf.
const LEAF_SHIFT: u32 = 6;

/// Pages in a leaf.
const LEAF: usize = 1 << LEAF_SHIFT;

/// Leaves of low page numbers are found without hashing: those of traces that number pages densely.
const DIRECT: usize = 1 << 16;

/// Stands for "no value".
pub const NONE: u32 = u32::MAX;

/// A sparse array of values, by page number.
///
/// Programs use pages in clusters, so values lie in leaves of neighbouring pages: 4 bytes a page where
/// pages are dense, and 256 bytes and a hash entry for a page that is alone, if values are of 4 bytes.
#[derive(Clone, Debug)]
pub struct PageMap<V = u32> {
    /// Number of the leaf, plus one; 0 stands for none.
    direct: Vec<u32>,
    sparse: FxHashMap<u64, u32>,
    leaves: Vec<[V; LEAF]>,
    /// Key and number of the leaf used last of those that are found by hashing.
    last: Option<(u64, u32)>,
    /// The value of pages that have none.
    none: V,
}

impl PageMap {
    /// A map in which every page has the value [`NONE`].
    pub fn new() -> Self {
        Self::filled(NONE)
    }
}

impl Default for PageMap {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Copy> PageMap<V> {
    /// A map in which every page has the value `none`.
    pub fn filled(none: V) -> Self {
        Self {
            direct: Vec::new(),
            sparse: FxHashMap::default(),
            leaves: Vec::new(),
            last: None,
            none,
        }
    }

    /// The value of `page`.
    #[inline]
    pub fn get(&self, page: PageId) -> V {
        let leaf = self.find(page.0 >> LEAF_SHIFT);
        leaf.map_or(self.none, |leaf| self.leaves[leaf as usize][page.0 as usize % LEAF])
    }

    /// Asks the processor for the value of `page`, which is used some time later.
    #[inline]
    pub fn glance(&self, page: PageId) {
        if let Some(leaf) = self.find(page.0 >> LEAF_SHIFT) {
            let place = leaf as usize * LEAF + page.0 as usize % LEAF;
            farside_glance::at(self.leaves.as_flattened(), place);
        }
    }

    /// The place of the value of `page`.
    #[inline]
    pub fn entry(&mut self, page: PageId) -> &mut V {
        let key = page.0 >> LEAF_SHIFT;
        let leaf = self.find(key).unwrap_or_else(|| self.add_leaf(key));
        if key >= DIRECT as u64 {
            self.last = Some((key, leaf));
        }
        &mut self.leaves[leaf as usize][page.0 as usize % LEAF]
    }

    /// All values, in no particular order, those of unused pages included.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.leaves.iter().flatten()
    }

    /// All places, in no particular order, those of unused pages included.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.leaves.iter_mut().flatten()
    }

    /// The pages that have values in `range`, in no particular order, and some others.
    pub fn pages_near(&self, range: PageRange) -> impl Iterator<Item = PageId> + '_ {
        let first = range.first.0 >> LEAF_SHIFT;
        let last = range.end().saturating_sub(1) >> LEAF_SHIFT;
        let keys = if last.saturating_sub(first) < self.leaves.len() as u64 {
            (first..=last).filter(|key| self.find(*key).is_some()).collect::<Vec<_>>()
        } else {
            let direct = (0..self.direct.len() as u64).filter(|key| self.direct[*key as usize] > 0);
            let all = direct.chain(self.sparse.keys().copied());
            all.filter(|key| (first..=last).contains(key)).collect()
        };
        let leaf = |key: u64| (0..LEAF as u64).map(move |i| PageId(key << LEAF_SHIFT | i));
        keys.into_iter().flat_map(leaf)
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        if key < DIRECT as u64 {
            let leaf = self.direct.get(key as usize).copied().unwrap_or(0);
            leaf.checked_sub(1)
        } else {
            self.find_sparse(key)
        }
    }

    #[inline(never)]
    fn find_sparse(&self, key: u64) -> Option<u32> {
        match self.last {
            Some((last, leaf)) if last == key => Some(leaf),
            _ => self.sparse.get(&key).copied(),
        }
    }

    #[cold]
    fn add_leaf(&mut self, key: u64) -> u32 {
        let leaf = u32::try_from(self.leaves.len()).expect("fewer leaves than 2^32");
        self.leaves.push([self.none; LEAF]);
        if key < DIRECT as u64 {
            if self.direct.len() <= key as usize {
                self.direct.resize(key as usize + 1, 0);
            }
            self.direct[key as usize] = leaf + 1;
        } else {
            self.sparse.insert(key, leaf);
        }
        leaf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_pages_keep_their_values() {
        let mut map = PageMap::new();
        let pages = [0, 1, 63, 64, 1 << 21, 1 << 22, (1 << 22) + 1, 0x7_ffff_ffff, u64::MAX];
        for (value, page) in pages.iter().enumerate() {
            assert_eq!(map.get(PageId(*page)), NONE);
            *map.entry(PageId(*page)) = value as u32;
        }
        for (value, page) in pages.iter().enumerate() {
            assert_eq!(map.get(PageId(*page)), value as u32);
        }
        assert_eq!(map.get(PageId(2)), NONE);
        let used = map.values_mut().filter(|value| **value != NONE).count();
        assert_eq!(used, pages.len());
    }
}
