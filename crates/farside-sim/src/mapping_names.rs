//! What lay where in a program's address space.

use std::collections::BTreeMap;
use std::sync::Arc;

use farside_trace::{Mapping, MappingChange, PageId};

/// Most ranges that are remembered: a trace may name any number.
const MOST_RANGES: usize = 1 << 16;

/// Names of ranges of pages. Where one mapping followed another, the later one's name counts; what
/// vanished keeps its name.
#[derive(Clone, Debug, Default)]
pub struct MappingNames {
    /// By first page: the last page, and the name.
    ranges: BTreeMap<u64, (u64, Arc<str>)>,
    left_out: u64,
}

impl MappingNames {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a change.
    pub fn add(&mut self, change: &MappingChange) {
        let MappingChange::Appeared(mapping) = change else { return };
        if mapping.count == 0 {
            return;
        }
        if self.ranges.len() >= MOST_RANGES {
            self.left_out += 1;
            return;
        }
        self.appear(mapping);
    }

    fn appear(&mut self, mapping: &Mapping) {
        let first = mapping.first.0;
        let last = first.saturating_add(mapping.count - 1);
        if let Some((from, (to, name))) = self.ranges.range(..=last).next_back()
            && *from <= first
            && *to >= last
            && **name == *mapping.name
        {
            return;
        }
        self.cut(first, last);
        self.ranges.insert(first, (last, Arc::from(mapping.name.as_str())));
    }

    /// Takes `first..=last` out of all ranges.
    fn cut(&mut self, first: u64, last: u64) {
        let touched: Vec<u64> = self
            .ranges
            .range(..=last)
            .rev()
            .take_while(|(_, (end, _))| *end >= first)
            .map(|(start, _)| *start)
            .collect();
        for start in touched {
            let Some((end, name)) = self.ranges.remove(&start) else { continue };
            if end > last {
                self.ranges.insert(last + 1, (end, Arc::clone(&name)));
            }
            if start < first {
                self.ranges.insert(start, (first - 1, name));
            }
        }
    }

    /// The name of what lay at `page`, if it is known.
    pub fn name_of(&self, page: PageId) -> Option<&str> {
        let (_, (last, name)) = self.ranges.range(..=page.0).next_back()?;
        (*last >= page.0).then_some(name)
    }

    /// Whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Mappings that were not remembered because there were too many.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farside_trace::PageRange;

    fn appeared(first: u64, count: u64, name: &str) -> MappingChange {
        MappingChange::Appeared(Mapping { first: PageId(first), count, name: name.to_owned() })
    }

    #[test]
    fn the_later_name_counts_and_what_vanished_keeps_its_own() {
        let mut names = MappingNames::new();
        for change in [
            appeared(10, 10, "a"),
            appeared(13, 3, "b"),
            appeared(14, 1, "b"),
            appeared(19, 5, "c"),
            appeared(u64::MAX, 1, "end"),
            appeared(0, 0, "empty"),
            MappingChange::Vanished(PageRange::new(PageId(13), 3)),
        ] {
            names.add(&change);
        }
        let found = [9, 10, 12, 13, 15, 16, 18, 19, 23, 24, u64::MAX];
        let found = found.map(|page| names.name_of(PageId(page)).unwrap_or("-"));
        assert_eq!(found, ["-", "a", "a", "b", "b", "a", "a", "c", "c", "-", "end"]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut names = MappingNames::new();
        (0..MOST_RANGES as u64 + 5).for_each(|i| names.add(&appeared(2 * i, 1, "x")));
        assert_eq!((names.ranges.len(), names.left_out()), (MOST_RANGES, 5));
    }
}
