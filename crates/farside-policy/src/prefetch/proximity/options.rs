//! How proximity is gone about, as a user says it: `set=3,window=64,depth=10,pages=262144`.

use std::fmt;
use std::str::FromStr;

use super::super::parameters;

/// Most pages that can be asked to be remembered, and edges between them: all memory for them is set aside at the start.
const MOST_PAGES: u32 = (1 << 22) - 1;
const MOST_EDGES: usize = 10 * MOST_PAGES as usize;

/// The parameters of the paper, and bounds that it does not need.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ProximityOptions {
    /// Most pages in the proximity set of a page: D.
    pub set: usize,
    /// Pages of the LRU stack that are looked at on a fault: W.
    pub window: usize,
    /// Edges from the faulted page to the furthest page that is fetched with it.
    pub depth: usize,
    /// Most pages that are asked for with a fault.
    pub most: u32,
    /// Most pages that are known at once; the one that was not accessed for longest is forgotten.
    pub pages: usize,
    /// Greatest weight of an edge.
    pub most_weight: u16,
    /// Least weight of an edge that is followed to pages to ask for.
    pub least_weight: u16,
    /// Most local memory for pages fetched and not used yet, in thousandths.
    pub unused_permille: u64,
}

impl ProximityOptions {
    /// The paper's sets of 10, windows of 64, depth of 3 and tenth of the memory; and 2^18 pages, a
    /// footprint of 1 GiB.
    pub const PAPER: Self = Self {
        set: 10,
        window: 64,
        depth: 3,
        most: 64,
        pages: 1 << 18,
        most_weight: u16::MAX,
        least_weight: 1,
        unused_permille: 100,
    };

    /// The same, but sets of 3, so that a page takes no more than 32 bytes, and a depth of 10, so that a walk comes as far.
    pub const OF_RUNS: Self = Self { set: 3, depth: 10, ..Self::PAPER };
}

impl Default for ProximityOptions {
    fn default() -> Self {
        Self::PAPER
    }
}

impl ProximityOptions {
    fn set(&mut self, name: &str, value: u32) -> Result<(), String> {
        let (place, from, to) = match name {
            "set" => (&mut self.set, 1, 64),
            "window" => (&mut self.window, 1, 4096),
            "depth" => (&mut self.depth, 1, 64),
            "pages" => (&mut self.pages, 1, MOST_PAGES),
            _ => return Err(format!("{name:?} is none of set, window, depth and pages")),
        };
        if !(from..=to).contains(&value) {
            return Err(format!("{name} must be from {from} to {to}"));
        }
        *place = value as usize;
        Ok(())
    }
}

impl FromStr for ProximityOptions {
    type Err = String;

    /// Reads `name=number,...`; what is not named is as [in runs](Self::OF_RUNS). The error says what is wrong.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut options = Self::OF_RUNS;
        parameters::read(text, |name, value| options.set(name, value))?;
        if options.set * options.pages > MOST_EDGES {
            return Err(format!("set times pages is more than {MOST_EDGES}"));
        }
        Ok(options)
    }
}

impl fmt::Display for ProximityOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { set, window, depth, pages, .. } = self;
        write!(f, "set={set},window={window},depth={depth},pages={pages}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        for (text, why) in [
            ("dept=3", "dept"),
            ("depth", "NAME=NUMBER"),
            ("depth=", "a number"),
            ("depth=0", "from 1 to 64"),
            ("window=5000", "from 1 to 4096"),
            ("pages=4194304", "from 1 to 4194303"),
            ("pages=4194303,set=11", "set times pages"),
        ] {
            let refused = text.parse::<ProximityOptions>().unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            (set, window) in (1..=64_usize, 1..=4096_usize),
            (depth, pages) in (1..=64_usize, 1..=600_000_usize),
        ) {
            let options = ProximityOptions { set, window, depth, pages, ..Default::default() };
            prop_assert_eq!(options.to_string().parse(), Ok(options));
        }

        #[test]
        fn no_text_does_harm(text in "[a-z]{0,6}=?[0-9,=-]{0,12}") {
            let _ = text.parse::<ProximityOptions>();
        }
    }
}
