//! Which pages of a captured program `farside run` would manage.

use std::collections::BTreeMap;

use farside_trace::{MappingChange, PageId, PageRange};

/// Names that captures give to what would be far memory: the heap, and private mappings of no file.
/// Stacks, files and what they share with others stay local.
const FAR: [&str; 2] = ["[heap]", "[anon]"];

/// The mappings of a program that would be far memory, as they come and go.
///
/// A trace that tells of no mappings is far memory as a whole.
#[derive(Clone, Debug, Default)]
pub struct FarMappings {
    /// End by start, of ranges that do not touch one another.
    ranges: BTreeMap<u64, u64>,
    told: bool,
    /// The range used last.
    last: (u64, u64),
}

impl FarMappings {
    /// Before the first mapping is told of.
    pub fn new() -> Self {
        Self::default()
    }

    /// A mapping appears or vanishes; returns the range whose pages are gone.
    pub fn apply(&mut self, change: &MappingChange) -> PageRange {
        self.told = true;
        let range = match change {
            MappingChange::Appeared(mapping) => mapping.range(),
            MappingChange::Vanished(range) => *range,
        };
        self.remove(range.first.0, range.end());
        if let MappingChange::Appeared(mapping) = change
            && FAR.contains(&mapping.name.as_str())
            && !range.is_empty()
        {
            self.ranges.insert(range.first.0, range.end());
        }
        self.last = (0, 0);
        range
    }

    /// Whether `page` is far memory now.
    #[inline]
    pub fn contains(&mut self, page: PageId) -> bool {
        if !self.told || (page.0 >= self.last.0 && page.0 < self.last.1) {
            return true;
        }
        let Some((start, end)) = self.ranges.range(..=page.0).next_back() else { return false };
        let inside = page.0 < *end;
        if inside {
            self.last = (*start, *end);
        }
        inside
    }

    fn remove(&mut self, first: u64, end: u64) {
        while let Some((start, stop)) = self.ranges.range(..end).next_back().map(|(s, e)| (*s, *e))
            && stop > first
        {
            self.ranges.remove(&start);
            if start < first {
                self.ranges.insert(start, first);
            }
            if stop > end {
                self.ranges.insert(end, stop);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use farside_trace::Mapping;

    use super::*;

    fn appear(first: u64, count: u64, name: &str) -> MappingChange {
        MappingChange::Appeared(Mapping { first: PageId(first), count, name: name.to_owned() })
    }

    #[test]
    fn heaps_and_anonymous_mappings_are_far() {
        let mut far = FarMappings::new();
        assert!(far.contains(PageId(7)), "nothing is known");
        far.apply(&appear(0, 10, "/bin/true"));
        far.apply(&appear(10, 10, "[heap]"));
        far.apply(&appear(20, 10, "[stack]"));
        far.apply(&appear(30, 10, "[anon]"));
        let inside = |far: &mut FarMappings| (0..50).filter(|p| far.contains(PageId(*p))).count();
        assert_eq!(inside(&mut far), 20);
        assert!(far.contains(PageId(10)) && far.contains(PageId(39)));
        assert!(!far.contains(PageId(9)) && !far.contains(PageId(20)) && !far.contains(PageId(40)));
        // A hole, and another mapping over an end.
        far.apply(&MappingChange::Vanished(PageRange::new(PageId(33), 2)));
        far.apply(&appear(15, 16, "/lib/x"));
        let left: Vec<_> = (0..50).filter(|page| far.contains(PageId(*page))).collect();
        assert_eq!(left, [10, 11, 12, 13, 14, 31, 32, 35, 36, 37, 38, 39]);
        far.apply(&MappingChange::Vanished(PageRange::new(PageId(0), u64::MAX)));
        assert_eq!(inside(&mut far), 0);
    }
}
