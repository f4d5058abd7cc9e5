//! What is sent for, and where the program is to come in.

use super::MOST_FETCHES;

/// A place that the program comes to, as far as is known or foreseen.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The address at which it comes in.
    pub entry: u64,
    /// As what the place is reached: 0 if that is not known.
    pub(super) context: u8,
    /// Where the pointer lies that leads there; 0 if that is not known.
    pub(super) from: u64,
    /// How likely, in parts of 65,536.
    pub(super) confidence: u16,
    /// The chain that it belongs to.
    pub(super) chain: u32,
    /// Whether what lies behind has been foreseen already.
    pub(super) is_foreseen: bool,
    /// The number of the array whose pointer leads there; 0 if that is not known.
    pub(super) array: u32,
}

impl Walk {
    /// The number of the chain of pages that it belongs to, each fetched because of what lay in those before. It begins
    /// with a fault that nobody had foreseen.
    pub fn chain(&self) -> u32 {
        self.chain
    }
}

/// A page to send for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Where the program is to come in: with this, what follows is found when the page is here.
    pub walk: Walk,
    /// Whether the page is to stay unmapped, to see the program come by.
    pub watch: bool,
}

/// What to send for, the likeliest first.
#[derive(Clone, Debug, Default)]
pub struct Fetches {
    fetches: [Option<Fetch>; MOST_FETCHES],
    len: usize,
    passed: [Option<u64>; MOST_FETCHES],
}

impl Fetches {
    /// All pages to send for.
    pub fn iter(&self) -> impl Iterator<Item = Fetch> + '_ {
        self.fetches[..self.len].iter().flatten().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Pages on the way that were here already, fetched ahead and not used: without somebody else they would be sent for.
    pub fn passed(&self) -> impl Iterator<Item = u64> + '_ {
        self.passed.iter().map_while(|page| *page)
    }

    /// Takes note of such a page, if there is room.
    pub(super) fn pass(&mut self, page: u64) {
        if let Some(free) = self.passed.iter_mut().find(|passed| passed.is_none()) {
            *free = Some(page);
        }
    }

    pub(super) fn push(&mut self, send: Fetch) {
        self.fetches[self.len] = Some(send);
        self.len += 1;
    }
}
