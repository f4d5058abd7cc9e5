//! What a recorded process tells its supervisor, as words of a [queue](crate::queue).
//!
//! The two lowest bits of a word say what it is. All numbers are pages of the far region, counted from its
//! beginning.

/// Most pages in one [`Told::Pages`].
pub const MOST_PAGES: u64 = 1 << 12;

const PAGES: u64 = 0;
const THREAD: u64 = 1;
const APPEARED: u64 = 2;
const VANISHED: u64 = 3;
const KIND: u64 = 3;

/// Set in the word of [`Told::Microset`], which is [`VANISHED`] otherwise.
const MICROSET: u64 = 1 << 2;

const WRITE: u64 = 1 << 2;
/// Set in the first word of [`Told::Appeared`], above `nth`.
const KEPT: u64 = 1 << 34;
const COUNT_SHIFT: u32 = 3;
const PAGE_SHIFT: u32 = 15;

/// One thing told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// What follows was done by this thread: its number in the order in which threads were made.
    Thread(u32),
    /// Pages were used, one after the other.
    Pages {
        /// Lowest page.
        first: u64,
        /// How many, at most [`MOST_PAGES`], at least one.
        count: u64,
        /// Whether the first access was a write.
        write: bool,
    },
    /// Pages belong to a region of the program's, and have no content unless they are `kept`.
    Appeared {
        /// Lowest page.
        first: u64,
        /// Number of pages.
        count: u64,
        /// Hash of the place in the program from which the region was allocated.
        site: u64,
        /// How many regions came from there before.
        nth: u32,
        /// Which page of the region the lowest page is.
        offset: u64,
        /// Whether they have content from before the recording began.
        kept: bool,
    },
    /// Pages belong to nothing any more.
    Vanished {
        /// Lowest page.
        first: u64,
        /// Number of pages.
        count: u64,
    },
    /// Microsets have up to so many pages from now on.
    Microset(u32),
}

impl Told {
    /// Adds the words that say this.
    pub fn encode(self, words: &mut Vec<u64>) {
        match self {
            Told::Thread(number) => words.push(u64::from(number) << 2 | THREAD),
            Told::Pages { first, count, write } => {
                let count = count.clamp(1, MOST_PAGES) - 1;
                words.push(
                    first << PAGE_SHIFT
                        | count << COUNT_SHIFT
                        | if write { WRITE } else { 0 }
                        | PAGES,
                );
            }
            Told::Appeared { first, count, site, nth, offset, kept } => {
                let kept = if kept { KEPT } else { 0 };
                words.extend([kept | u64::from(nth) << 2 | APPEARED, first, count, site, offset]);
            }
            Told::Vanished { first, count } => words.extend([VANISHED, first, count]),
            Told::Microset(pages) => words.push(u64::from(pages) << 3 | MICROSET | VANISHED),
        }
    }

    /// Reads what the front of `words` says, and how many words that took; `None` if the rest is yet to come.
    pub fn decode(words: &[u64]) -> Option<(Self, usize)> {
        let word = *words.first()?;
        Some(match word & KIND {
            PAGES => {
                let count = (word >> COUNT_SHIFT) % MOST_PAGES + 1;
                (Told::Pages { first: word >> PAGE_SHIFT, count, write: word & WRITE != 0 }, 1)
            }
            THREAD => (Told::Thread((word >> 2) as u32), 1),
            APPEARED => {
                let &[first, count, site, offset] = words.get(1..5)? else { return None };
                let (nth, kept) = ((word >> 2) as u32, word & KEPT != 0);
                (Told::Appeared { first, count, site, nth, offset, kept }, 5)
            }
            _ if word & MICROSET != 0 => (Told::Microset((word >> 3) as u32), 1),
            _ => {
                let &[first, count] = words.get(1..3)? else { return None };
                (Told::Vanished { first, count }, 3)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told() -> impl Strategy<Value = Told> {
        let page = 0u64..1 << 40;
        prop_oneof![
            any::<u32>().prop_map(Told::Thread),
            (page.clone(), 1..=MOST_PAGES, any::<bool>())
                .prop_map(|(first, count, write)| Told::Pages { first, count, write }),
            (page.clone(), page.clone(), any::<u64>(), any::<u32>(), page.clone(), any::<bool>())
                .prop_map(|(first, count, site, nth, offset, kept)| Told::Appeared {
                    first,
                    count,
                    site,
                    nth,
                    offset,
                    kept
                }),
            (page.clone(), page).prop_map(|(first, count)| Told::Vanished { first, count }),
            any::<u32>().prop_map(Told::Microset),
        ]
    }

    proptest! {
        #[test]
        fn what_is_told_is_understood(all in proptest::collection::vec(told(), 0..40)) {
            let mut words = Vec::new();
            all.iter().for_each(|one| one.encode(&mut words));
            let mut rest = &words[..];
            let mut heard = Vec::new();
            while let Some((one, taken)) = Told::decode(rest) {
                heard.push(one);
                rest = &rest[taken..];
            }
            prop_assert!(rest.is_empty());
            prop_assert_eq!(heard, all);
        }

        #[test]
        fn any_words_are_understood_somehow(words in proptest::collection::vec(any::<u64>(), 0..40)) {
            let mut rest = &words[..];
            while let Some((_, taken)) = Told::decode(rest) {
                prop_assert!(taken > 0);
                rest = &rest[taken..];
            }
            prop_assert!(rest.len() < 5);
        }
    }
}
