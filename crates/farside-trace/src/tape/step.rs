//! What a tape consists of.

use crate::PageId;

/// What happens to a page.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// It is used for the first time since it came to be: it takes a frame, and nothing is fetched.
    Touch,
    /// It is used again after it left: it has to be here from now on.
    Fetch,
    /// The same, and it is written before it leaves, as far as that is known beforehand.
    FetchToWrite,
    /// It is not used again before its next fetch, or at all: its frame may go.
    Evict,
}

impl StepKind {
    /// All kinds, each at the place of its [number](Self::number).
    pub const ALL: [Self; 4] = [Self::Touch, Self::Fetch, Self::Evict, Self::FetchToWrite];

    /// The number that stands for it in two bits, as on a tape.
    pub const fn number(self) -> u8 {
        match self {
            Self::Touch => 0,
            Self::Fetch => 1,
            Self::Evict => 2,
            Self::FetchToWrite => 3,
        }
    }

    /// Whether the page has to come.
    pub const fn fetches(self) -> bool {
        matches!(self, Self::Fetch | Self::FetchToWrite)
    }
}

/// One step of one thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What happens.
    pub kind: StepKind,
    /// The page, in tape space.
    pub page: PageId,
}

/// One allocation of address space and the pages of tape space that stand for it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct TapeRegion {
    /// Hash of the place in the program that allocated it; 0 stands for no place.
    pub site: u64,
    /// How many regions came from that place before.
    pub nth: u32,
    /// Its first page, in tape space.
    pub first: PageId,
    /// Number of its pages.
    pub count: u64,
}
