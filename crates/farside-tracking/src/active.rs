//! Tracked pages that are mapped, because the program came there a short while ago.

use std::collections::VecDeque;
use std::fmt;

use farside_trace::PageId;

/// How often a page's stay can double.
const LEVELS: usize = 7;

/// Bits that tell one visit from others.
const VISIT_BITS: u32 = 26;

/// All of them.
const VISIT_MASK: u32 = (1 << VISIT_BITS) - 1;

/// A page in the active set, by the lower half of its number, and when it came.
#[derive(Copy, Clone, Debug)]
struct Stay {
    page: u32,
    since: Visit,
}

/// The number of a visit, of which the lowest bits are kept: nothing stays for as many as they tell apart.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Visit(u32);

impl Visit {
    fn next(self) -> Self {
        Self((self.0 + 1) & VISIT_MASK)
    }

    /// Visits from another one, which was before, to this one.
    fn since(self, before: Self) -> u32 {
        self.0.wrapping_sub(before.0) & VISIT_MASK
    }
}

/// The page access buffer in software (PATH, section 2): a page stays for as many visits to others as the buffer has
/// pages, and uses of it meanwhile are not seen.
///
/// A page that comes back at once when it has left is in use all the time: it stays twice as long, and again, as long as
/// that goes on. So a few hot pages do not take a fault each time the set has turned over, as the associative filter sees
/// to in hardware.
#[derive(Clone, Debug, Default)]
pub struct ActiveSet {
    /// By how often their stays have doubled; the oldest first.
    stays: [VecDeque<Stay>; LEVELS],
    /// Visits so far.
    visits: Visit,
}

/// What is known of a tracked page, in 4 bytes: from the lowest bit on, when it came or left, how often its stay has
/// doubled, whether it is in the active set, whether it has left it, and whether its last use is known.
#[derive(Copy, Clone, Default, PartialEq, Eq)]
pub struct Activity(u32);

const LEVEL_SHIFT: u32 = VISIT_BITS;
const LEVEL_MASK: u32 = 0b111;
const IS_ACTIVE: u32 = 1 << 29;
const HAS_LEFT: u32 = 1 << 30;
const IS_KNOWN: u32 = 1 << 31;

const _: () = assert!(LEVELS <= LEVEL_MASK as usize + 1);

/// The end of a stay.
#[derive(Copy, Clone, Debug)]
pub struct End {
    since: Visit,
    now: Visit,
}

impl Activity {
    /// A page that came at this visit, and stays.
    fn came(at: Visit, level: u32) -> Self {
        Self(at.0 | level << LEVEL_SHIFT | IS_ACTIVE | IS_KNOWN)
    }

    /// When it came, or when it left.
    fn at(self) -> Visit {
        Visit(self.0 & VISIT_MASK)
    }

    fn level(self) -> u32 {
        self.0 >> LEVEL_SHIFT & LEVEL_MASK
    }

    fn has(self, mark: u32) -> bool {
        self.0 & mark != 0
    }

    /// A stay is over. False if the page came again since, and stays.
    pub fn end(&mut self, End { since, now }: End) -> bool {
        let ends = self.has(IS_ACTIVE) && self.at() == since;
        if ends {
            *self = Self(self.0 & !(VISIT_MASK | IS_ACTIVE) | HAS_LEFT | now.0);
        }
        ends
    }

    /// Whether its last use is known: the program may have come there before it was tracked.
    pub fn is_known(self) -> bool {
        self.has(IS_KNOWN)
    }

    /// Whether it is in use all the time: what is seen of its uses says nothing.
    pub fn is_hot(self) -> bool {
        self.level() > 0
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity")
            .field("at", &self.at())
            .field("level", &self.level())
            .field("is_active", &self.has(IS_ACTIVE))
            .field("has_left", &self.has(HAS_LEFT))
            .field("is_known", &self.is_known())
            .finish()
    }
}

impl ActiveSet {
    /// The program came to a page, of which this is known, by a fault; returns what is known of it now.
    pub fn visit(&mut self, page: PageId, known: Activity, pages: u32) -> Activity {
        self.visits = self.visits.next();
        let at = self.visits;
        let level = if known.has(IS_ACTIVE) {
            // It is mapped, or was evicted: its stay begins anew.
            known.level()
        } else if known.has(HAS_LEFT) && at.since(known.at()) <= pages {
            (known.level() + 1).min(LEVELS as u32 - 1)
        } else {
            0
        };
        self.stays[level as usize].push_back(Stay { page: page.0 as u32, since: at });
        Activity::came(at, level)
    }

    /// Takes out a page whose stay is over, in a set of so many pages; `None` if there is none. It is up to `ends` whether a
    /// stay ends that is over.
    pub fn leave(
        &mut self,
        pages: u32,
        mut ends: impl FnMut(PageId, End) -> bool,
    ) -> Option<PageId> {
        let now = self.visits;
        for (level, stays) in self.stays.iter_mut().enumerate() {
            while let Some(Stay { page, since }) = stays.front().copied()
                && now.since(since) >= pages << level
            {
                stays.pop_front();
                // One that came again since, or is tracked no more, is in no hurry.
                let page = PageId(u64::from(page));
                if ends(page, End { since, now }) {
                    return Some(page);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    struct Pages {
        set: ActiveSet,
        known: HashMap<PageId, Activity>,
    }

    impl Pages {
        fn new() -> Self {
            Self { set: ActiveSet::default(), known: HashMap::new() }
        }

        /// Uses a page; says whether that was seen.
        fn uses(&mut self, page: u64, most: u32) -> bool {
            let page = PageId(page);
            let known = self.known.get(&page).copied().unwrap_or_default();
            if known.has(IS_ACTIVE) {
                return false;
            }
            self.known.insert(page, self.set.visit(page, known, most));
            let known = &mut self.known;
            let mut ends =
                |page: PageId, end| known.get_mut(&page).is_some_and(|known| known.end(end));
            while self.set.leave(most, &mut ends).is_some() {}
            true
        }
    }

    #[test]
    fn what_is_used_again_soon_is_not_seen_and_what_is_used_later_is() {
        let mut pages = Pages::new();
        for round in 0..5 {
            for page in 0..100 {
                assert!(pages.uses(page, 10), "{round} {page}");
                assert!(!pages.uses(page, 10), "{round} {page}");
            }
            assert!(pages.known.values().filter(|it| it.has(IS_ACTIVE)).count() <= 10);
        }
        assert!(pages.known.values().all(|it| !it.is_hot()));
    }

    #[test]
    fn a_page_in_use_all_the_time_is_seen_ever_less() {
        let mut pages = Pages::new();
        let mut seen = 0;
        for at in 0..10_000 {
            pages.uses(1 + at % 500, 10);
            seen += u64::from(pages.uses(0, 10));
        }
        assert!((15..40).contains(&seen), "{seen}: without doubling it is seen a thousand times");
        assert!(pages.known[&PageId(0)].is_hot());
        // It is as any other again when it is used as others are.
        for at in 0..2_000 {
            pages.uses(1 + at % 500, 10);
        }
        assert!(pages.uses(0, 10));
        assert!(!pages.known[&PageId(0)].is_hot());
    }
}
