//! Pages that had content before the trace began.

use std::collections::BTreeMap;

use farside_trace::{PageId, PageRange};

/// Ranges of pages of tape space whose content is older than the trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// First page of each: the page after its last. None overlap.
    by_first: BTreeMap<u64, u64>,
}

impl Kept {
    /// The pages of `range` have content.
    pub fn add(&mut self, range: PageRange) {
        self.discard(range);
        if range.count > 0 {
            self.by_first.insert(range.first.0, range.end());
        }
    }

    /// The content of the pages in `range` is gone.
    pub fn discard(&mut self, range: PageRange) {
        let (from, to) = (range.first.0, range.end());
        while let Some((&first, &end)) = self.by_first.range(..to).next_back()
            && end > from
        {
            self.by_first.remove(&first);
            if first < from {
                self.by_first.insert(first, from);
            }
            if end > to {
                self.by_first.insert(to, end);
            }
        }
    }

    /// Whether `page` has content that is older than the trace.
    pub fn contains(&self, page: PageId) -> bool {
        self.by_first.range(..=page.0).next_back().is_some_and(|(_, end)| page.0 < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_where_content_is_gone() {
        let range = |first, count| PageRange::new(PageId(first), count);
        let mut kept = Kept::default();
        kept.add(range(10, 10));
        kept.add(range(15, 10));
        kept.discard(range(12, 2));
        kept.discard(range(24, 100));
        kept.discard(range(0, 11));
        let held: Vec<u64> = (0..200).filter(|page| kept.contains(PageId(*page))).collect();
        let expected: Vec<u64> = [11].into_iter().chain(14..24).collect();
        assert_eq!(held, expected);
        kept.discard(range(0, u64::MAX));
        assert!(!kept.contains(PageId(15)));
    }
}
