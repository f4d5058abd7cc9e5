//! What the prefetcher did.

/// What was done about pointers.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct PointerCounts {
    /// Places that were looked at for pointers.
    pub scanned: u64,
    /// Pointers to far pages that were found there by links.
    pub candidates: u64,
    /// Pages that were sent for and seen to be used.
    pub used: u64,
    /// Those that the program came to when they were still on their way.
    pub late: u64,
    /// Those that left without having been used, as far as is known.
    pub unused: u64,
}

/// Something that is counted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// A place was looked at for pointers.
    Scanned,
    /// A pointer to a far page was found.
    Candidate,
    /// A page that had been sent for was used.
    Used,
    /// The program came to one that was still on its way.
    Late,
    /// One left without having been used.
    Unused,
}

/// What was done in one place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// What was done.
    pub deed: Deed,
    /// The chain of pages to which it belongs ([`Walk::chain`](super::Walk::chain)); 0 is none.
    pub chain: u32,
    /// The page that it was done with.
    pub page: u64,
}

/// Counts what is done, and writes it down where that is asked for.
#[derive(Debug, Default)]
pub(super) struct Counting {
    pub counts: PointerCounts,
    pub journal: Option<Vec<Done>>,
}

impl Counting {
    pub fn note(&mut self, deed: Deed, chain: u32, page: u64) {
        let counts = &mut self.counts;
        *match deed {
            Deed::Scanned => &mut counts.scanned,
            Deed::Candidate => &mut counts.candidates,
            Deed::Used => &mut counts.used,
            Deed::Late => &mut counts.late,
            Deed::Unused => &mut counts.unused,
        } += 1;
        if let Some(journal) = &mut self.journal {
            journal.push(Done { deed, chain, page });
        }
    }
}
