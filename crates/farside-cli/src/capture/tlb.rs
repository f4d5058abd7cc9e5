//! A translation buffer as a filter: what hits it is held back.

use std::collections::BTreeMap;

use farside_trace::Filter as Description;

/// Most entries that are offered: each access may have to be compared with all of them.
pub const MOST_ENTRIES: usize = 4096;

/// The pages accessed last, fully associative.
///
/// A processor walks the page table when a page is not in its translation buffer, and when a page is
/// written that was only read since it came in. Exactly these accesses pass, so that no first write is
/// lost. The data accesses held back are counted in the weight of the next access that passes.
#[derive(Clone, Debug)]
pub struct Tlb {
    /// Page numbers from the most to the least recently accessed, doubled; odd once written to.
    entries: Vec<u64>,
    size: usize,
    held_back: u64,
}

impl Tlb {
    /// An empty buffer of `size` entries.
    pub fn new(size: usize) -> Self {
        Self { entries: Vec::with_capacity(size + 1), size, held_back: 0 }
    }

    /// A thread makes `weight` accesses to `page`; the weight of the record to write, if one passes.
    #[inline]
    pub fn passes(&mut self, page: u64, wrote: bool, weight: u32) -> Option<u32> {
        if self.hits(page, wrote) {
            self.held_back += u64::from(weight);
            return None;
        }
        let all = u64::from(weight) + std::mem::take(&mut self.held_back);
        let told = u32::try_from(all).unwrap_or(u32::MAX);
        self.held_back = all - u64::from(told);
        Some(told)
    }

    fn hits(&mut self, page: u64, wrote: bool) -> bool {
        let found = self.entries.iter().position(|entry| entry >> 1 == page);
        let before = match found {
            Some(at) => {
                let before = self.entries[at];
                self.entries[..=at].rotate_right(1);
                before
            }
            None => {
                self.entries.truncate(self.size.saturating_sub(1));
                self.entries.insert(0, 0);
                page << 1
            }
        };
        self.entries[0] = before | u64::from(wrote);
        found.is_some() && self.entries[0] == before
    }

    /// How a trace says that this held accesses back.
    pub fn described(entries: usize) -> Description {
        let parameters = BTreeMap::from([("entries".to_owned(), entries as u64)]);
        Description { name: "tlb".to_owned(), parameters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_and_first_writes_pass_with_what_was_held_back_before_them() {
        let mut tlb = Tlb::new(2);
        let accesses = [
            (1, false, 1),
            (1, false, 2),
            (2, true, 1),
            (1, true, 1),
            (1, true, 5),
            (2, true, 1),
            (3, false, 1),
            (2, false, 4),
            (1, true, 1),
        ];
        let passed: Vec<_> = accesses
            .into_iter()
            .filter_map(|(page, wrote, weight)| Some((page, tlb.passes(page, wrote, weight)?)))
            .collect();
        assert_eq!(passed, [(1, 1), (2, 3), (1, 1), (3, 7), (1, 5)]);
    }

    #[test]
    fn a_weight_that_is_too_large_goes_to_later_records() {
        let mut tlb = Tlb::new(1);
        assert_eq!(tlb.passes(1, true, 1), Some(1));
        assert_eq!(tlb.passes(1, true, u32::MAX), None);
        assert_eq!(tlb.passes(2, true, 3), Some(u32::MAX));
        assert_eq!(tlb.passes(1, true, 1), Some(4));
    }
}
