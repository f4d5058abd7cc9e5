//! PATH's hardware as a filter: what its page access log would record is let through.

use std::collections::BTreeMap;
use std::str::FromStr;

use farside_sim::path::{Geometry, Path, SpacePage};
use farside_trace::{Filter as Description, PageId};

/// Sizes of the filter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Entries of the page access buffer.
    pub buffer: usize,
    /// Entries of a set of it.
    pub ways: usize,
    /// Entries of the filter behind it; 0 for none.
    pub filter: usize,
}

/// Largest buffer that is offered.
const MOST_ENTRIES: usize = 1 << 20;

impl FromStr for Sizes {
    type Err = String;

    /// `ENTRIES[,ways=N][,filter=N]`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.parse().ok().filter(|&number: &usize| number <= MOST_ENTRIES);
            number.ok_or(format!("'{text}' is no number up to {MOST_ENTRIES}"))
        };
        let mut parts = text.split(',');
        let mut sizes =
            Self { buffer: number(parts.next().unwrap_or_default())?, ways: 4, filter: 64 };
        for part in parts {
            match part.split_once('=') {
                Some(("ways", ways)) => sizes.ways = number(ways)?,
                Some(("filter", filter)) => sizes.filter = number(filter)?,
                _ => return Err(format!("unknown '{part}'; try: 2048,ways=4,filter=64")),
            }
        }
        if sizes.ways == 0 || sizes.buffer == 0 || !sizes.buffer.is_multiple_of(sizes.ways) {
            return Err(format!(
                "{} entries cannot be sets of {}; the ways must divide the entries",
                sizes.buffer, sizes.ways
            ));
        }
        Ok(sizes)
    }
}

impl Sizes {
    /// How a trace says that this held accesses back.
    pub fn described(self) -> Vec<Description> {
        let named = |name: &str, parameters: &[(&str, usize)]| Description {
            name: name.to_owned(),
            parameters: parameters
                .iter()
                .map(|&(key, value)| (key.to_owned(), value as u64))
                .collect::<BTreeMap<_, _>>(),
        };
        let mut all = vec![named("pab", &[("entries", self.buffer), ("ways", self.ways)])];
        if self.filter > 0 {
            all.push(named("lru", &[("entries", self.filter)]));
        }
        all
    }
}

/// The filter with its content.
#[derive(Clone, Debug)]
pub struct Filter(Path);

impl Filter {
    /// An empty filter.
    pub fn new(sizes: Sizes) -> Self {
        let Sizes { buffer, ways, filter } = sizes;
        Self(Path::new(Geometry { sets: buffer / ways, ways, filter, ..Geometry::default() }))
    }

    /// Whether a reference to `page` is recorded.
    #[inline]
    pub fn passes(&mut self, page: u64) -> bool {
        self.0.access(SpacePage { space: 0, page: PageId(page) }, |_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_checked() {
        let read = |text: &str| text.parse::<Sizes>();
        assert_eq!(read("2048"), Ok(Sizes { buffer: 2048, ways: 4, filter: 64 }));
        assert_eq!(read("8,ways=8,filter=0"), Ok(Sizes { buffer: 8, ways: 8, filter: 0 }));
        for bad in ["", "x", "-1", "0", "8,ways=0", "8,ways=3", "8,sets=1", "9999999999999999999"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_page_is_recorded_when_both_lists_have_forgotten_it() {
        let mut filter = Filter::new(Sizes { buffer: 2, ways: 2, filter: 3 });
        let recorded: Vec<u64> = [1, 1, 2, 1, 3, 2, 4, 1, 2, 5]
            .into_iter()
            .filter(|&page| filter.passes(page))
            .collect();
        // 2 misses the buffer after 3, but the filter still has it; 1 was forgotten by both.
        assert_eq!(recorded, [1, 2, 3, 4, 1, 5]);
    }
}
