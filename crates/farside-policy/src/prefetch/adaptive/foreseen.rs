//! Pages that are foreseen, until it is known what came of it.

use farside_trace::PageId;

use super::candidate::{Candidate, Candidates};

/// Pages that are remembered at once.
const PAGES: u64 = 1 << PAGES_SHIFT;
const PAGES_SHIFT: u32 = 14;

/// A page that is foreseen.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Foreseen {
    /// By whom. By nobody if it merely lies where the pages go on that were sent for.
    pub by: Candidates,
    /// Who sent for it.
    pub sent: Option<Candidate>,
    /// At which fault, in the lowest bits of its number.
    pub at: u16,
    /// Number of the part of memory in which it was foreseen.
    pub part: u8,
}

/// The latest foreseen pages. Of two that share a place the later one is kept.
#[derive(Clone, Debug)]
pub(super) struct ForeseenPages {
    /// A tag that tells pages apart which share a place, and below it the rest. Neighbours lie side by side.
    places: Box<[u64]>,
}

impl ForeseenPages {
    pub fn new() -> Self {
        Self { places: vec![0; PAGES as usize].into() }
    }

    /// Where a page is kept, and its tag.
    fn place(page: PageId) -> (usize, u64) {
        let high = page.0 >> PAGES_SHIFT;
        let spread = high.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - PAGES_SHIFT);
        ((page.0.wrapping_add(spread) % PAGES) as usize, (high ^ high >> 32) << 32)
    }

    pub fn get(&self, page: PageId) -> Option<Foreseen> {
        let (at, tag) = Self::place(page);
        let kept = self.places[at];
        (kept >> 32 << 32 == tag).then(|| unpack(kept))?
    }

    pub fn set(&mut self, page: PageId, foreseen: Foreseen) {
        let (at, tag) = Self::place(page);
        self.places[at] = tag | pack(foreseen);
    }

    pub fn take(&mut self, page: PageId) -> Option<Foreseen> {
        let found = self.get(page);
        if found.is_some() {
            self.places[Self::place(page).0] = 0;
        }
        found
    }
}

/// The lower half of what is kept; not 0, since somebody foresaw the page or sent for it.
fn pack(Foreseen { by, sent, at, part }: Foreseen) -> u64 {
    let sent = sent.map_or(0, |candidate| 1 + candidate as u64);
    u64::from(at) << 16 | u64::from(part) << 8 | sent << 4 | u64::from(by.0)
}

fn unpack(kept: u64) -> Option<Foreseen> {
    let (by, sent) = (Candidates(kept as u8 & 0xF), kept >> 4 & 0xF);
    let is_it = |candidate: &Candidate| 1 + *candidate as u64 == sent;
    let sent = Candidate::ALL.into_iter().find(is_it);
    let foreseen = Foreseen { by, sent, at: (kept >> 16) as u16, part: (kept >> 8) as u8 };
    (!by.is_empty() || sent.is_some()).then_some(foreseen)
}
