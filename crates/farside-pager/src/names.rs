//! Names of pages that another process understands: which allocation a page belongs to, and where in it.
//!
//! Addresses differ from run to run. The order of a program's allocations and the places in its code from
//! which they are made do not, as long as it does the same.

use std::collections::{BTreeMap, HashMap};

/// One allocation of address space in the far region.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegionName {
    /// Hash of the place in the program's code that it was made from; 0 if that is not known.
    pub site: u64,
    /// How many allocations came from that place before.
    pub nth: u32,
}

/// A change of the names of pages.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// The pages from `first` on belong to this region, from its page `offset` on, and have no content yet.
    Appeared {
        /// Lowest page.
        first: u64,
        /// Number of pages.
        count: u64,
        /// The region.
        name: RegionName,
        /// Which page of the region the lowest page is.
        offset: u64,
    },
    /// The pages belong to nothing any more.
    Vanished {
        /// Lowest page.
        first: u64,
        /// Number of pages.
        count: u64,
    },
}

/// Part of a region.
#[derive(Copy, Clone, Debug)]
struct Part {
    end: u64,
    name: RegionName,
    offset: u64,
}

/// The names of all pages handed out.
#[derive(Debug, Default)]
pub struct Names {
    parts: BTreeMap<u64, Part>,
    made: HashMap<u64, u32>,
}

impl Names {
    /// The pages from `first` to before `end` are handed out to `site`.
    pub fn appear(&mut self, first: u64, end: u64, site: u64, tell: &mut dyn FnMut(Renamed)) {
        let made = self.made.entry(site).or_default();
        let name = RegionName { site, nth: *made };
        *made += 1;
        self.put(first, end, name, 0, tell);
    }

    /// The pages from `first` to before `end` are added to the region that ends before them.
    pub fn grow(&mut self, first: u64, end: u64, tell: &mut dyn FnMut(Renamed)) {
        match first.checked_sub(1).and_then(|before| self.find(before)) {
            Some((start, part)) => {
                self.put(first, end, part.name, part.offset + (first - start), tell)
            }
            None => self.appear(first, end, 0, tell),
        }
    }

    /// All pages that have names.
    pub fn all(&self) -> impl Iterator<Item = Renamed> + '_ {
        self.parts.iter().map(|(first, part)| Renamed::Appeared {
            first: *first,
            count: part.end - first,
            name: part.name,
            offset: part.offset,
        })
    }

    /// The content of the pages from `first` to before `end` is gone; they keep their names.
    pub fn forget(&mut self, first: u64, end: u64, tell: &mut dyn FnMut(Renamed)) {
        let mut at = first;
        while at < end {
            let Some((start, part)) = self.find_from(at, end) else { break };
            let (from, to) = (start.max(at), part.end.min(end));
            let offset = part.offset + (from - start);
            tell(Renamed::Appeared { first: from, count: to - from, name: part.name, offset });
            at = to;
        }
    }

    /// The pages from `first` to before `end` are given back.
    pub fn vanish(&mut self, first: u64, end: u64, tell: &mut dyn FnMut(Renamed)) {
        while let Some((start, part)) = self.find_from(first, end) {
            self.parts.remove(&start);
            if start < first {
                self.parts.insert(start, Part { end: first, ..part });
            }
            if part.end > end {
                let offset = part.offset + (end - start);
                self.parts.insert(end, Part { offset, ..part });
            }
        }
        tell(Renamed::Vanished { first, count: end - first });
    }

    fn put(
        &mut self,
        first: u64,
        end: u64,
        name: RegionName,
        offset: u64,
        tell: &mut dyn FnMut(Renamed),
    ) {
        self.parts.insert(first, Part { end, name, offset });
        tell(Renamed::Appeared { first, count: end - first, name, offset });
    }

    /// The part that `page` lies in.
    fn find(&self, page: u64) -> Option<(u64, Part)> {
        let (start, part) = self.parts.range(..=page).next_back()?;
        (page < part.end).then_some((*start, *part))
    }

    /// The first part that has pages between `first` and `end`.
    fn find_from(&self, first: u64, end: u64) -> Option<(u64, Part)> {
        let ahead = || self.parts.range(first..end).next().map(|(start, part)| (*start, *part));
        self.find(first).or_else(ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appeared(first: u64, count: u64, site: u64, nth: u32, offset: u64) -> Renamed {
        Renamed::Appeared { first, count, name: RegionName { site, nth }, offset }
    }

    fn told(act: impl FnOnce(&mut dyn FnMut(Renamed))) -> Vec<Renamed> {
        let mut all = Vec::new();
        act(&mut |renamed| all.push(renamed));
        all
    }

    #[test]
    fn regions_are_counted_by_site_and_grow() {
        let mut names = Names::default();
        let told = told(|tell| {
            names.appear(0, 10, 7, tell);
            names.appear(100, 110, 7, tell);
            names.appear(200, 210, 8, tell);
            names.grow(110, 115, tell);
            names.grow(115, 120, tell);
        });
        let expected = [
            appeared(0, 10, 7, 0, 0),
            appeared(100, 10, 7, 1, 0),
            appeared(200, 10, 8, 0, 0),
            appeared(110, 5, 7, 1, 10),
            appeared(115, 5, 7, 1, 15),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn content_is_forgotten_by_parts_and_ranges_are_cut() {
        let mut names = Names::default();
        let all = told(|tell| {
            names.appear(0, 10, 1, tell);
            names.appear(10, 20, 2, tell);
            names.appear(30, 40, 3, tell);
            names.forget(5, 35, tell);
            names.vanish(8, 32, tell);
            names.forget(0, 100, tell);
        });
        let expected = [
            appeared(5, 5, 1, 0, 5),
            appeared(10, 10, 2, 0, 0),
            appeared(30, 5, 3, 0, 0),
            Renamed::Vanished { first: 8, count: 24 },
            appeared(0, 8, 1, 0, 0),
            appeared(32, 8, 3, 0, 2),
        ];
        assert_eq!(all[3..], expected);
    }
}
