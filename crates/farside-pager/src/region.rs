//! The far region's address space: which parts are handed out.

use std::collections::BTreeMap;

/// Free parts of the region, by page numbers; kept outside the region itself.
#[derive(Debug)]
pub struct FreeRanges {
    by_start: BTreeMap<u64, u64>,
}

impl FreeRanges {
    /// A region of `pages` pages, all free.
    pub fn new(pages: u64) -> Self {
        Self { by_start: BTreeMap::from([(0, pages)]) }
    }

    /// The first page behind `page` that is free, or `limit` if that comes first.
    pub fn taken_until(&self, page: u64, limit: u64) -> u64 {
        self.by_start.range(page..limit).next().map_or(limit, |(start, _)| *start)
    }

    /// The first page of those before `page` that are taken without a gap, or `limit` if that comes
    /// last.
    pub fn taken_from(&self, page: u64, limit: u64) -> u64 {
        let free = self.by_start.range(..page).next_back();
        free.map_or(limit, |(start, len)| (start + len).clamp(limit, page))
    }

    /// Pages that are free.
    #[cfg(test)]
    fn free_pages(&self) -> u64 {
        self.by_start.values().sum()
    }

    /// Takes `count` pages at the lowest address that is a multiple of `align` pages.
    pub fn take(&mut self, count: u64, align: u64) -> Option<u64> {
        if count == 0 {
            return None;
        }
        let align = align.max(1);
        let (start, first) = self.by_start.iter().find_map(|(start, len)| {
            let first = start.next_multiple_of(align);
            (first + count <= start + len).then_some((*start, first))
        })?;
        self.carve(start, first, count);
        Some(first)
    }

    /// Takes exactly the pages from `first` on, if all of them are free.
    pub fn take_at(&mut self, first: u64, count: u64) -> bool {
        let Some((start, len)) = self.by_start.range(..=first).next_back().map(|(s, l)| (*s, *l))
        else {
            return false;
        };
        if count == 0 || first + count > start + len {
            return false;
        }
        self.carve(start, first, count);
        true
    }

    fn carve(&mut self, start: u64, first: u64, count: u64) {
        let Some(len) = self.by_start.remove(&start) else { return };
        if first > start {
            self.by_start.insert(start, first - start);
        }
        let (end, rest) = (first + count, start + len);
        if rest > end {
            self.by_start.insert(end, rest - end);
        }
    }

    /// Gives pages back; parts that are free already stay so.
    pub fn give(&mut self, first: u64, count: u64) {
        let mut at = first;
        let end = first + count;
        while at < end {
            if let Some((start, len)) =
                self.by_start.range(..=at).next_back().map(|(s, l)| (*s, *l))
                && start + len > at
            {
                at = start + len;
                continue;
            }
            let next = self.by_start.range(at..end).next().map_or(end, |(start, _)| *start);
            self.insert(at, next - at);
            at = next;
        }
    }

    fn insert(&mut self, mut first: u64, mut count: u64) {
        if let Some(len) = self.by_start.remove(&(first + count)) {
            count += len;
        }
        if let Some((start, len)) = self.by_start.range(..first).next_back().map(|(s, l)| (*s, *l))
            && start + len == first
        {
            self.by_start.remove(&start);
            first = start;
            count += len;
        }
        self.by_start.insert(first, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_stretches_are_known_from_both_ends() {
        let mut free = FreeRanges::new(100);
        assert!(free.take_at(10, 20));
        assert_eq!((free.taken_until(15, 25), free.taken_until(15, 40)), (25, 30));
        assert_eq!((free.taken_from(15, 12), free.taken_from(15, 0)), (12, 10));
        free.give(14, 1);
        assert_eq!((free.taken_from(15, 0), free.taken_until(12, 40)), (15, 14));
    }

    #[test]
    fn ranges_merge_when_they_come_back() {
        let mut free = FreeRanges::new(100);
        assert_eq!(free.take(10, 1), Some(0));
        assert_eq!(free.take(10, 8), Some(16));
        assert!(free.take_at(10, 6));
        assert!(!free.take_at(20, 10));
        free.give(0, 26);
        free.give(5, 10);
        assert_eq!(free.free_pages(), 100);
        assert_eq!(free.take(100, 1), Some(0));
        assert_eq!(free.take(1, 1), None);
    }

    #[test]
    fn giving_back_skips_what_is_free() {
        let mut free = FreeRanges::new(30);
        assert_eq!(free.take(30, 1), Some(0));
        free.give(10, 5);
        free.give(20, 5);
        free.give(5, 25);
        assert_eq!(free.free_pages(), 25);
        free.give(0, 5);
        assert_eq!(free.take(30, 1), Some(0));
    }
}
