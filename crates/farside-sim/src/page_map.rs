//! A small value for each page of a trace.

use farside_trace::{PageId, PageRange};
use rustc_hash::FxHashMap;

/// Binary logarithm of the pages in a leaf.
const LEAF_SHIFT: u32 = 6;

/// Pages in a leaf.
const LEAF: usize = 1 << LEAF_SHIFT;

/// Binary logarithm of the leaves in a window.
const WINDOW_SHIFT: u32 = 16;

/// Leaves in a window.
const WINDOW: u64 = 1 << WINDOW_SHIFT;

/// Binary logarithm of the number of windows that are found without a search.
const WINDOWS_SHIFT: u32 = 6;

/// The number of no window.
const NO_WINDOW: u64 = u64::MAX;

/// Stands for "no value".
pub const NONE: u32 = u32::MAX;

/// A sparse array of values, by page number.
///
/// Programs use pages in clusters, so values lie in leaves of neighbouring pages: 4 bytes a page where
/// pages are dense, and 256 bytes and a hash entry for a page that is alone, if values are of 4 bytes.
/// Clusters lie in few parts of the address space - that of the program and its heap, that of mappings
/// and stacks - so leaves are found by windows of 16 GiB, most of them.
#[derive(Clone, Debug)]
pub struct PageMap<V = u32> {
    /// The leaves of low page numbers: of traces that number pages densely.
    low: Leaves,
    /// Windows by a hash of their numbers, whoever came first, and their leaves.
    windows: Vec<(u64, Leaves)>,
    /// All other leaves, by key.
    sparse: FxHashMap<u64, u32>,
    leaves: Vec<[V; LEAF]>,
    /// The value of pages that have none.
    none: V,
}

/// The leaves of a window, by the lowest bits of their keys.
#[derive(Clone, Debug, Default)]
struct Leaves {
    /// Number of each leaf plus one; 0 stands for none.
    numbers: Vec<u32>,
}

impl Leaves {
    #[inline(always)]
    fn get(&self, place: u64) -> Option<u32> {
        let number = self.numbers.get(place as usize).copied().unwrap_or(0);
        number.checked_sub(1)
    }

    fn set(&mut self, place: u64, leaf: u32) {
        let place = place as usize;
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, 0);
        }
        self.numbers[place] = leaf + 1;
    }

    /// The places of leaves.
    fn places(&self) -> impl Iterator<Item = u64> + '_ {
        let numbers = self.numbers.iter().zip(0..);
        numbers.filter(|(number, _)| **number > 0).map(|(_, place)| place)
    }
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
            low: Leaves::default(),
            windows: vec![(NO_WINDOW, Leaves::default()); 1 << WINDOWS_SHIFT],
            sparse: FxHashMap::default(),
            leaves: Vec::new(),
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
            let low = self.low.places();
            let windows = self.windows.iter().flat_map(|(number, leaves)| {
                leaves.places().map(move |place| number << WINDOW_SHIFT | place)
            });
            let all = low.chain(windows).chain(self.sparse.keys().copied());
            all.filter(|key| (first..=last).contains(key)).collect()
        };
        let leaf = |key: u64| (0..LEAF as u64).map(move |i| PageId(key << LEAF_SHIFT | i));
        keys.into_iter().flat_map(leaf)
    }

    #[inline]
    fn find(&self, key: u64) -> Option<u32> {
        if key < WINDOW {
            return self.low.get(key);
        }
        let (number, leaves) = &self.windows[window_place(key)];
        if *number == key >> WINDOW_SHIFT {
            return leaves.get(key % WINDOW);
        }
        self.find_sparse(key)
    }

    #[inline(never)]
    fn find_sparse(&self, key: u64) -> Option<u32> {
        self.sparse.get(&key).copied()
    }

    #[cold]
    fn add_leaf(&mut self, key: u64) -> u32 {
        let leaf = u32::try_from(self.leaves.len()).expect("fewer leaves than 2^32");
        self.leaves.push([self.none; LEAF]);
        if key < WINDOW {
            self.low.set(key, leaf);
            return leaf;
        }
        let (number, leaves) = &mut self.windows[window_place(key)];
        if *number == NO_WINDOW {
            *number = key >> WINDOW_SHIFT;
        }
        if *number == key >> WINDOW_SHIFT {
            leaves.set(key % WINDOW, leaf);
        } else {
            self.sparse.insert(key, leaf);
        }
        leaf
    }
}

/// Where the window of a leaf is, if it is there.
#[inline(always)]
fn window_place(key: u64) -> usize {
    let number = key >> WINDOW_SHIFT;
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - WINDOWS_SHIFT)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages with values, in low numbers, in windows, and in more windows than are found at once.
    fn pages() -> Vec<u64> {
        let near = [0, 1, 63, 64, 1 << 21, 1 << 22, (1 << 22) + 1, 0x7_ffff_ffff, u64::MAX];
        let windows = (0..200).map(|i: u64| (i * i + 7) << 22 | i << 9);
        near.into_iter().chain(windows).collect()
    }

    #[test]
    fn near_and_far_pages_keep_their_values() {
        let mut map = PageMap::new();
        let pages = pages();
        for (value, page) in (0..).zip(&pages) {
            assert_eq!(map.get(PageId(*page)), NONE);
            *map.entry(PageId(*page)) = value;
        }
        for (value, page) in (0..).zip(&pages) {
            assert_eq!(map.get(PageId(*page)), value);
            assert_eq!(map.get(PageId(page ^ 1 << 40)), NONE);
        }
        assert_eq!(map.get(PageId(2)), NONE);
        let used = map.values_mut().filter(|value| **value != NONE).count();
        assert_eq!(used, pages.len());
        assert!(!map.sparse.is_empty(), "all windows are found at once");
    }

    #[test]
    fn pages_with_values_are_near_them() {
        let mut map = PageMap::new();
        pages().into_iter().for_each(|page| *map.entry(PageId(page)) = 1);
        for (first, count) in [(0, 1 << 22), (0, u64::MAX), (1 << 22, 1 << 30), (7 << 22, 64)] {
            let range = PageRange::new(PageId(first), count);
            let mut found: Vec<_> = map.pages_near(range).map(|page| page.0).collect();
            let with_values = |page: &u64| map.get(PageId(*page)) == 1;
            found.retain(|page| with_values(page) && (first..range.end()).contains(page));
            let mut expected = pages();
            expected.retain(|page| (first..range.end()).contains(page));
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{range:?}");
        }
    }
}
