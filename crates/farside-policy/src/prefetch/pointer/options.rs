//! How the prefetcher goes about it, as a user says it: `count=8,depth=32,before=128,behind=384,confidence=40`.

use std::fmt;
use std::str::FromStr;

use super::super::parameters;
use super::window::WORDS;
use super::{WORD, window};

/// Most pages that are sent for because of one.
pub const MOST_FETCHES: usize = 16;

/// Farthest that pages may be ahead of the program.
const FARTHEST: u32 = 256;

/// How the prefetcher goes about it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PointerOptions {
    /// Most pages that are sent for because of one, at most [`MOST_FETCHES`]. Of what an array points to it may be twice
    /// as many, and no more than that either.
    pub count: u32,
    /// How many pages it may be ahead of the program, at most 256.
    pub depth: u32,
    /// So many bytes before the place where the program comes into a page are looked at for pointers, if they lie in the
    /// same page.
    pub before: u32,
    /// The same from there on; with those before at most 512.
    pub behind: u32,
    /// Least likelihood in per cent with which the program must use a page that is sent for.
    pub least_percent: u32,
}

impl Default for PointerOptions {
    fn default() -> Self {
        let before = (window::BEFORE * WORD) as u32;
        let behind = (WORDS as u64 * WORD) as u32 - before;
        Self { count: 8, depth: 32, before, behind, least_percent: 40 }
    }
}

impl PointerOptions {
    fn set(&mut self, name: &str, value: u32) -> Result<(), String> {
        let (place, from, to) = match name {
            "count" => (&mut self.count, 1, MOST_FETCHES as u32),
            "depth" => (&mut self.depth, 1, FARTHEST),
            "before" => (&mut self.before, 0, (WORDS as u64 * WORD) as u32),
            "behind" => (&mut self.behind, 8, (WORDS as u64 * WORD) as u32),
            "confidence" => (&mut self.least_percent, 1, 100),
            _ => {
                return Err(format!(
                    "{name:?} is none of count, depth, before, behind and confidence"
                ));
            }
        };
        if !(from..=to).contains(&value) {
            return Err(format!("{name} must be from {from} to {to}"));
        }
        *place = value;
        Ok(())
    }
}

impl FromStr for PointerOptions {
    type Err = String;

    /// Reads `name=number,...`; what is not named keeps its default. The error says what is wrong.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        parameters::read(text, |name, value| options.set(name, value))?;
        if options.before.saturating_add(options.behind) > (WORDS as u64 * WORD) as u32 {
            return Err(format!("before and behind are more than {} bytes", WORDS as u64 * WORD));
        }
        Ok(options)
    }
}

impl fmt::Display for PointerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, depth, before, behind, least_percent } = self;
        write!(
            f,
            "count={count},depth={depth},before={before},behind={behind},confidence={least_percent}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        for (text, why) in [
            ("depht=3", "depht"),
            ("depth", "NAME=NUMBER"),
            ("depth=", "a number"),
            ("depth=0", "from 1 to 256"),
            ("count=17", "from 1 to 16"),
            ("confidence=101", "from 1 to 100"),
            ("before=500,behind=500", "512"),
            ("before=4294967295,behind=4294967295", "512"),
        ] {
            let refused = text.parse::<PointerOptions>().unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            (count, depth, least_percent) in (1..=16u32, 1..=256u32, 1..=100u32),
            before in 0..=256u32,
            behind in 8..=256u32,
        ) {
            let options = PointerOptions { count, depth, before, behind, least_percent };
            prop_assert_eq!(options.to_string().parse(), Ok(options));
        }

        #[test]
        fn no_text_does_harm(text in "[a-z]{0,6}=?[0-9,=-]{0,12}") {
            let _ = text.parse::<PointerOptions>();
        }
    }
}
