//! The pages that a trace touches, in the order of their numbers and without the gaps between them.

use farside_trace::PageId;
use rustc_hash::FxHashMap;

/// Pages in a group, one bit each.
const GROUP: u64 = 64;

/// The set of pages touched so far, in a fraction of a byte a page where pages are dense.
#[derive(Clone, Debug, Default)]
pub struct TouchedPages {
    /// By group: the number of its bits, in order of first touch.
    groups: FxHashMap<u64, u32>,
    bits: Vec<u64>,
    /// Group used last and its place; consecutive accesses often share one.
    last: Option<(u64, u32)>,
}

impl TouchedPages {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in an access.
    #[inline]
    pub fn add(&mut self, page: PageId) {
        let key = page.0 / GROUP;
        let place = match self.last {
            Some((last, place)) if last == key => place,
            _ => self.place(key),
        };
        self.bits[place as usize] |= 1 << (page.0 % GROUP);
    }

    fn place(&mut self, key: u64) -> u32 {
        let next = u32::try_from(self.bits.len()).expect("fewer groups than 2^32");
        let place = *self.groups.entry(key).or_insert(next);
        if place == next {
            self.bits.push(0);
        }
        self.last = Some((key, place));
        place
    }

    /// The order of the pages.
    pub fn finish(self) -> PageRanks {
        let mut groups: Vec<Group> = self
            .groups
            .iter()
            .map(|(key, place)| Group { key: *key, bits: self.bits[*place as usize], before: 0 })
            .collect();
        groups.sort_unstable_by_key(|group| group.key);
        let mut pages = 0;
        for group in &mut groups {
            group.before = pages;
            pages += u64::from(group.bits.count_ones());
        }
        let mut places = self.groups;
        for (place, group) in groups.iter().enumerate() {
            places.insert(group.key, place as u32);
        }
        PageRanks { groups, places, pages }
    }
}

#[derive(Copy, Clone, Debug)]
struct Group {
    key: u64,
    bits: u64,
    /// Pages in the groups before.
    before: u64,
}

/// The rank of each touched page among all of them: 0 for the page with the lowest number.
#[derive(Clone, Debug)]
pub struct PageRanks {
    groups: Vec<Group>,
    places: FxHashMap<u64, u32>,
    pages: u64,
}

impl PageRanks {
    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The rank of `page`; `None` if it was not touched.
    #[inline]
    pub fn rank(&self, page: PageId) -> Option<u64> {
        let group = self.groups[*self.places.get(&(page.0 / GROUP))? as usize];
        let bit = 1 << (page.0 % GROUP);
        let below = (group.bits & (bit - 1)).count_ones();
        (group.bits & bit != 0).then(|| group.before + u64::from(below))
    }

    /// All pages in order.
    pub fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        let pages = |group: &Group| {
            let (key, bits) = (group.key, group.bits);
            let set = (0..GROUP).filter(move |bit| bits >> bit & 1 == 1);
            set.map(move |bit| PageId(key * GROUP + bit))
        };
        self.groups.iter().flat_map(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranks_are_those_of_a_sorted_set(
            pages in prop::collection::vec(
                prop_oneof![0..300_u64, any::<u64>(), u64::MAX - 70..=u64::MAX],
                0..200,
            ),
        ) {
            let mut touched = TouchedPages::new();
            pages.iter().for_each(|page| touched.add(PageId(*page)));
            let ranks = touched.finish();
            let set: BTreeSet<u64> = pages.iter().copied().collect();
            prop_assert_eq!(ranks.pages(), set.len() as u64);
            prop_assert!(ranks.iter().map(|page| page.0).eq(set.iter().copied()));
            for (rank, page) in set.iter().enumerate() {
                prop_assert_eq!(ranks.rank(PageId(*page)), Some(rank as u64));
                let next = page.wrapping_add(1);
                prop_assert_eq!(ranks.rank(PageId(next)).is_some(), set.contains(&next));
            }
        }
    }
}
