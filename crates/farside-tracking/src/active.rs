//! Tracked pages that are mapped, because the program came there a short while ago.

use std::collections::VecDeque;

use farside_trace::PageId;

/// How often a page's stay can double.
const LEVELS: usize = 7;

/// A page in the active set, and when it came.
#[derive(Copy, Clone, Debug)]
struct Stay {
    page: PageId,
    since: u32,
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
    /// Visits so far, of which the lowest bits are enough: nothing stays that long.
    visits: u32,
}

/// What is known of a tracked page by the active set.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// When it came, or when it left.
    at: u32,
    level: u8,
    is_active: bool,
    has_left: bool,
}

/// The end of a stay.
#[derive(Copy, Clone, Debug)]
pub struct End {
    since: u32,
    now: u32,
}

impl Activity {
    /// A stay is over. False if the page came again since, and stays.
    pub fn end(&mut self, End { since, now }: End) -> bool {
        let ends = self.is_active && self.at == since;
        if ends {
            *self = Self { at: now, is_active: false, has_left: true, ..*self };
        }
        ends
    }

    /// Whether it is in use all the time: what is seen of its uses says nothing.
    pub fn is_hot(self) -> bool {
        self.level > 0
    }
}

impl ActiveSet {
    /// The program came to a page, of which this is known, by a fault; returns what is known of it now.
    pub fn visit(&mut self, page: PageId, known: Activity, pages: u32) -> Activity {
        self.visits = self.visits.wrapping_add(1);
        let at = self.visits;
        if known.is_active {
            // It is mapped, or was evicted: its stay begins anew.
            return self.stay(page, Activity { at, ..known });
        }
        let came_at_once = known.has_left && at.wrapping_sub(known.at) <= pages;
        let level = if came_at_once { (known.level + 1).min(LEVELS as u8 - 1) } else { 0 };
        self.stay(page, Activity { at, level, is_active: true, has_left: false })
    }

    fn stay(&mut self, page: PageId, activity: Activity) -> Activity {
        self.stays[usize::from(activity.level)].push_back(Stay { page, since: activity.at });
        activity
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
                && now.wrapping_sub(since) >= pages << level
            {
                stays.pop_front();
                // One that came again since, or is tracked no more, is in no hurry.
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
            if known.is_active {
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
            assert!(pages.known.values().filter(|it| it.is_active).count() <= 10);
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
