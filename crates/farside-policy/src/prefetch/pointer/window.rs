//! What lay around the places at which the program came into pages.

use super::{Memory, PAGE, PointerOptions, WORD};

/// Words before the one at which the program came in, if nothing else is said.
pub(super) const BEFORE: u64 = 16;

/// Most words in a window.
pub(super) const WORDS: usize = 64;

/// How far before the place that a pointer names the program may come in, in bytes.
const FARTHEST_BEFORE: u64 = 256;

/// How far behind it.
const FARTHEST_BEHIND: u64 = 1024;

/// The words around an address, as they were when the program came there.
#[derive(Copy, Clone, Debug)]
pub(super) struct Window {
    /// Where the program came in.
    pub entry: u64,
    /// By which link, counted from 1; 0 if that is not known.
    pub context: u8,
    /// Where the pointer lies that the program followed last from here, and as what it came there; 0 if none is known.
    pub cursor: (u64, u8),
    /// Address of the first word.
    start: u64,
    len: usize,
    words: [u64; WORDS],
}

/// A pointer in a window that leads to an address.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it lies.
    pub location: u64,
    /// How far behind the place that it names the address is.
    pub behind: i64,
}

impl Window {
    pub const EMPTY: Self =
        Self { entry: 0, context: 0, cursor: (0, 0), start: 0, len: 0, words: [0; WORDS] };

    /// Looks at what is around `entry`, as far as it lies in the same page; `None` if that cannot be seen.
    pub fn look(
        memory: &mut dyn Memory,
        options: &PointerOptions,
        entry: u64,
        context: u8,
    ) -> Option<Self> {
        let page = entry / PAGE * PAGE;
        let word = entry / WORD * WORD;
        let start = word.saturating_sub(u64::from(options.before) / WORD * WORD).max(page);
        // What is too near to the start of the page to look before it is looked at behind.
        let most = u64::from(options.before / WORD as u32 + options.behind / WORD as u32);
        let end = (start + most.min(WORDS as u64) * WORD).min(page + PAGE);
        let len = ((end - start) / WORD) as usize;
        let mut window = Self { entry, context, start, len, ..Self::EMPTY };
        memory.read(start, &mut window.words[..len]).then_some(window)
    }

    /// The same place, but the words of another window.
    pub fn moved_to(&self, other: &Self) -> Self {
        Self { entry: self.entry, context: self.context, cursor: self.cursor, ..*other }
    }

    /// The word at an address.
    pub fn word(&self, location: u64) -> Option<u64> {
        if !location.is_multiple_of(WORD) {
            return None;
        }
        let at = location.checked_sub(self.start)? / WORD;
        self.words[..self.len].get(at as usize).copied()
    }

    /// All pointers in it that lead to an address near to what they name.
    pub fn leading_to(&self, address: u64) -> impl Iterator<Item = Found> + '_ {
        let from = address.wrapping_sub(FARTHEST_BEHIND);
        let is_near = move |word: u64| word.wrapping_sub(from) <= FARTHEST_BEHIND + FARTHEST_BEFORE;
        let places = (self.start..).step_by(WORD as usize);
        self.words[..self.len].iter().zip(places).filter(move |(word, _)| is_near(**word)).map(
            move |(word, location)| Found { location, behind: address.wrapping_sub(*word) as i64 },
        )
    }
}
