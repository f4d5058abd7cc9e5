//! What the last pages did, as a forecast of what the next will do.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A share of recent cases, averaged over about `CASES` of them.
///
/// Updates that race may lose one another, which a forecast can bear.
#[derive(Default)]
struct Share<const CASES: u32>(AtomicU32);

/// All of the cases.
const WHOLE: u32 = 65536;

impl<const CASES: u32> Share<CASES> {
    fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    fn fall(&self) {
        let share = self.get();
        self.0.store(share - share / CASES, Relaxed);
    }

    fn rise(&self) {
        self.0.store((self.get() + WHOLE / CASES).min(WHOLE), Relaxed);
    }
}

/// One case in so many goes against the forecast, to see whether it still holds.
const PROBE_EVERY: u32 = 16;

/// Foresees whether a page fetched because of a read will be written.
///
/// A page mapped write-protected that is then written costs a second fault; one mapped writable that
/// is never written costs a comparison when it is evicted.
#[derive(Default)]
pub struct WriteForecast {
    /// Of protected pages, those that were written.
    written: Share<16>,
    fetched: AtomicU32,
}

impl WriteForecast {
    /// How many of the next `count` pages, which lie side by side, to map write-protected: all, or as
    /// few as show whether the forecast still holds.
    pub fn protect_next(&self, count: u64) -> u64 {
        if self.written.get() < WHOLE / 8 {
            self.written.fall();
            return count;
        }
        let probe = self.fetched.fetch_add(1, Relaxed).is_multiple_of(PROBE_EVERY);
        if probe {
            self.written.fall();
        }
        u64::from(probe).min(count)
    }

    /// Whether pages that could be written were, nearly all of them: comparing them with what the far
    /// store has is in vain then.
    pub fn comparing_is_vain(&self) -> bool {
        self.written.get() >= WHOLE / 8 * 7
    }

    /// A protected page was written.
    pub fn written(&self) {
        self.written.rise();
    }
}

/// Foresees whether a page that was fetched to be read, and could be written unseen, has changed when it leaves.
///
/// To compare it takes a third of a microsecond, and as much again if what came has no tag yet. One page in sixteen, always
/// the same ones, is compared in any case, and only these count: those that have not changed are compared again, and
/// would pass for all others.
#[derive(Default)]
pub struct ChangeForecast {
    /// Of those pages, when they left, those that had changed.
    changed: Share<64>,
}

impl ChangeForecast {
    /// Whether to compare a page, by its number.
    pub fn compares(&self, page: u64) -> bool {
        self.changed.get() < WHOLE / 8 * 7 || Self::counts(page)
    }

    /// A page was compared.
    pub fn compared(&self, page: u64, changed: bool) {
        if Self::counts(page) {
            self.changed.fall();
            if changed {
                self.changed.rise();
            }
        }
    }

    fn counts(page: u64) -> bool {
        page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60 == 0
    }
}

/// What it takes to spare a fetch, in nanoseconds, if all watched pages are used: two of them are unmapped and mapped
/// again for it, as some would have been used before they left, and 4 us are what a system call takes that unmaps a page.
const WATCH_NS: u64 = 9_000;

/// Foresees whether a page will be used while it is watched.
///
/// Unmapping a page by itself to watch it costs a system call; the page stays if it is used, but for a soft fault, which
/// takes as long as fetching it without the wait for the far store. That pays if enough of the watched pages are used,
/// and the far store takes its time.
#[derive(Default)]
pub struct UseForecast {
    /// Of watched pages, those that were used.
    used: Share<64>,
    asked: AtomicU32,
}

impl UseForecast {
    /// Whether to watch the next page, if it takes a system call of its own, where fetching a page means to wait for so
    /// long.
    pub fn watch_next(&self, wait_ns: u64) -> bool {
        let probe = self.asked.fetch_add(1, Relaxed).is_multiple_of(PROBE_EVERY);
        let saved = u64::from(self.used.get()) * wait_ns;
        probe || saved >= u64::from(WHOLE) * WATCH_NS
    }

    /// A watched page was used.
    pub fn used(&self) {
        self.used.rise();
    }

    /// A watched page was evicted unused.
    pub fn unused(&self) {
        self.used.fall();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_watched_only_while_they_are_used() {
        let uses = UseForecast::default();
        let watched = |uses: &UseForecast, wait| (0..160).filter(|_| uses.watch_next(wait)).count();
        assert_eq!(watched(&uses, 30_000), 10, "without experience only probes are");
        (0..64).for_each(|_| uses.used());
        assert_eq!([30_000, 12_000].map(|wait| watched(&uses, wait)), [160, 160]);
        assert_eq!(watched(&uses, 0), 10, "fetching it takes no longer than looking");
        (0..64).for_each(|_| uses.unused());
        assert_eq!([30_000, 12_000].map(|wait| watched(&uses, wait)), [160, 10]);
        (0..640).for_each(|_| uses.unused());
        assert_eq!(watched(&uses, 30_000), 10);
    }

    #[test]
    fn pages_are_protected_until_they_are_written() {
        let writes = WriteForecast::default();
        let protected =
            |writes: &WriteForecast, run| (0..16).map(|_| writes.protect_next(run)).sum::<u64>();
        assert_eq!(protected(&writes, 1), 16);
        assert_eq!(protected(&writes, 64), 16 * 64);
        (0..64).for_each(|_| writes.written());
        assert_eq!(protected(&writes, 1), 1);
        assert_eq!(protected(&writes, 64), 1, "one page is enough to learn from");
    }

    #[test]
    fn pages_are_compared_unless_nearly_all_have_changed() {
        let changes = ChangeForecast::default();
        // The same ones change each time, and those that are not compared tell nothing.
        let compare = |changed: u64| {
            let pages = || (0..16_000).filter(|page| changes.compares(*page));
            pages().for_each(|page| changes.compared(page, page * 7 % 16 < changed));
            pages().count()
        };
        assert_eq!([0, 8, 12].map(compare), [16_000; 3]);
        assert!((900..1100).contains(&compare(16)), "a sixteenth still is");
        assert!((900..1100).contains(&compare(16)));
        assert_eq!(compare(0), 16_000);
    }

    #[test]
    fn comparing_is_vain_only_where_nearly_all_is_written() {
        let writes = WriteForecast::default();
        assert!(!writes.comparing_is_vain());
        for _ in 0..64 {
            writes.protect_next(1);
            writes.written();
        }
        assert!(writes.comparing_is_vain());
        let probes: u64 = (0..8 * PROBE_EVERY).map(|_| writes.protect_next(1)).sum();
        assert_eq!(probes, 8);
        assert!(!writes.comparing_is_vain(), "none of them was written");
    }
}
