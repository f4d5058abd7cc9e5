//! The prefetchers among which is chosen.

/// A prefetcher that may be of use.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    /// Read-ahead in the windows of Linux.
    Window,
    /// Leap's trend.
    Trend,
    /// Following pointers, which somebody else does.
    Pointers,
    /// PATH's page proximity graph.
    Graph,
}

/// How many there are.
pub(super) const CANDIDATES: usize = 4;

impl Candidate {
    pub const ALL: [Self; CANDIDATES] = [Self::Window, Self::Trend, Self::Pointers, Self::Graph];
}

/// Some of them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidates(pub u8);

impl Candidates {
    pub const fn of(candidate: Candidate) -> Self {
        Self(1 << candidate as u8)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn has(self, candidate: Candidate) -> bool {
        self.0 & Self::of(candidate).0 != 0
    }

    pub const fn with(self, candidate: Candidate) -> Self {
        Self(self.0 | Self::of(candidate).0)
    }

    pub const fn without(self, candidate: Candidate) -> Self {
        Self(self.0 & !Self::of(candidate).0)
    }

    pub fn iter(self) -> impl Iterator<Item = Candidate> {
        Candidate::ALL.into_iter().filter(move |candidate| self.has(*candidate))
    }
}
