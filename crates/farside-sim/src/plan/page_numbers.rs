//! A small number for each page of tape space.

use farside_trace::{PageId, PageRange};

use super::REGION_PAGES;
use crate::page_map::{NONE, PageMap};

/// Binary logarithm of the pages in a leaf.
const LEAF_SHIFT: u32 = 6;

/// Pages in a leaf.
const LEAF: usize = 1 << LEAF_SHIFT;

/// Regions whose pages are found without hashing.
const REGIONS: u64 = 1 << 22;

/// Leaves of a region that are found without hashing: those of its first 256 GiB.
const LEAVES: u64 = 1 << 20;

/// Values of pages, found through the region that each lies in: regions are dense, tape space is not.
#[derive(Debug, Default)]
pub(super) struct PageNumbers {
    /// By region and leaf: the place of the leaf, plus one; 0 stands for none.
    regions: Vec<Vec<u32>>,
    leaves: Vec<[u32; LEAF]>,
    /// Pages of traces that have no regions, mostly.
    others: PageMap,
}

/// The region and the leaf that a page lies in, if it is found so.
#[inline]
const fn leaf_of(page: PageId) -> Option<(usize, usize)> {
    let region = page.0 / REGION_PAGES;
    let leaf = (page.0 % REGION_PAGES) >> LEAF_SHIFT;
    if region < REGIONS && leaf < LEAVES { Some((region as usize, leaf as usize)) } else { None }
}

impl PageNumbers {
    /// The place of a page's value, which is [`NONE`] at first.
    #[inline]
    pub fn entry(&mut self, page: PageId) -> &mut u32 {
        let Some((region, leaf)) = leaf_of(page) else { return self.others.entry(page) };
        let place = self.regions.get(region).and_then(|leaves| leaves.get(leaf)).copied();
        let place = match place {
            Some(place @ 1..) => place - 1,
            _ => self.add_leaf(region, leaf),
        };
        &mut self.leaves[place as usize][page.0 as usize % LEAF]
    }

    #[cold]
    fn add_leaf(&mut self, region: usize, leaf: usize) -> u32 {
        if self.regions.len() <= region {
            self.regions.resize(region + 1, Vec::new());
        }
        let leaves = &mut self.regions[region];
        if leaves.len() <= leaf {
            leaves.resize(leaf + 1, 0);
        }
        // Each leaf has a page that has a number of 31 bits.
        let place = self.leaves.len() as u32;
        leaves[leaf] = place + 1;
        self.leaves.push([NONE; LEAF]);
        place
    }

    /// The pages in `range`, which lies in one region, that have values, and their values.
    pub fn in_range(&self, range: PageRange) -> impl Iterator<Item = (PageId, u32)> + '_ {
        let region = range.first.0 / REGION_PAGES;
        let leaves = usize::try_from(region).ok().and_then(|region| self.regions.get(region));
        let leaves = leaves.map_or(&[][..], Vec::as_slice);
        let first = ((range.first.0 % REGION_PAGES) >> LEAF_SHIFT) as usize;
        let last = ((range.end().saturating_sub(1) % REGION_PAGES) >> LEAF_SHIFT) as usize;
        let places = leaves.iter().enumerate().take(last + 1).skip(first);
        let near = places.filter(|(_, place)| **place > 0).flat_map(move |(leaf, place)| {
            let begin = region * REGION_PAGES + (leaf * LEAF) as u64;
            (begin..).map(PageId).zip(self.leaves[*place as usize - 1])
        });
        let others = self.others.pages_near(range).filter(|page| leaf_of(*page).is_none());
        let others = others.map(|page| (page, self.others.get(page)));
        let inside = move |(page, number): &(PageId, u32)| range.contains(*page) && *number != NONE;
        near.chain(others).filter(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_pages_keep_their_numbers() {
        let far = LEAVES << LEAF_SHIFT;
        let pages = [0, 1, 63, 64, far - 1, far, far + 100, REGION_PAGES - 1, REGION_PAGES]
            .into_iter()
            .chain([5 * REGION_PAGES + 7, REGIONS * REGION_PAGES, u64::MAX])
            .map(PageId);
        let mut numbers = PageNumbers::default();
        for (number, page) in (0..).zip(pages.clone()) {
            assert_eq!(*numbers.entry(page), NONE, "{page:?}");
            *numbers.entry(page) = number;
        }
        for (number, page) in (0..).zip(pages) {
            assert_eq!(*numbers.entry(page), number);
        }
        let within = |first, count| {
            let range = PageRange::new(PageId(first), count);
            let mut found: Vec<_> = numbers.in_range(range).map(|(_, number)| number).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(within(0, REGION_PAGES), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(within(1, 63), [1, 2]);
        assert_eq!(within(far, 101), [5, 6]);
        assert_eq!(within(5 * REGION_PAGES, 8), [9]);
        assert!(within(9 * REGION_PAGES, 8).is_empty());
        assert!(within(0, 0).is_empty());
    }
}
