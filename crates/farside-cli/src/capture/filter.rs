//! PATH's filter: a page access buffer and a small LRU filter behind it, which let through what a
//! processor's page access log would record.
//!
//! As in "PATH: Page Access Tracking to Improve Memory Management" (ISMM 2007), section 2: the buffer
//! is set-associative with LRU in each set and is looked up on every reference; what misses it is
//! entered there and looked up in the filter, which is fully associative with LRU; what misses that
//! too is recorded.

use std::collections::BTreeMap;
use std::str::FromStr;

use farside_trace::Filter as Description;

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

const EMPTY: u64 = u64::MAX;

/// The filter with its content.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Sets one after the other, each with the page used last in front.
    buffer: Vec<u64>,
    ways: usize,
    /// The page used last in front.
    filter: Vec<u64>,
}

impl Filter {
    /// An empty filter.
    pub fn new(sizes: Sizes) -> Self {
        Self {
            buffer: vec![EMPTY; sizes.buffer],
            ways: sizes.ways,
            filter: vec![EMPTY; sizes.filter],
        }
    }

    /// Whether a reference to `page` is recorded.
    #[inline]
    pub fn passes(&mut self, page: u64) -> bool {
        let sets = (self.buffer.len() / self.ways) as u64;
        let set = (page % sets) as usize * self.ways;
        let missed = !use_in(&mut self.buffer[set..set + self.ways], page);
        missed && !use_in(&mut self.filter, page)
    }
}

/// Brings `page` to the front of an LRU list; whether it was there. The last one leaves for it.
#[inline]
fn use_in(list: &mut [u64], page: u64) -> bool {
    if list.first() == Some(&page) {
        return true;
    }
    let found = list.iter().position(|&other| other == page);
    let end = found.map_or(list.len(), |at| at + 1);
    list[..end].rotate_right(usize::from(end > 0));
    if let Some(first) = list.first_mut() {
        *first = page;
    }
    found.is_some()
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
