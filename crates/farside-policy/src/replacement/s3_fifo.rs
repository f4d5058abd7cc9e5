//! S3-FIFO (Yang et al., SOSP 2023, algorithm 1).

use farside_trace::PageId;

use super::directory::Directory;
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages on probation, in order of arrival: S.
const SMALL: usize = 0;

/// Pages that proved useful, in order of their last promotion or reprieve: M.
const MAIN: usize = 1;

/// Remembered pages, what left [`SMALL`], in that order: G.
const OUT: usize = 2;

/// Most uses that are counted: two bits.
const MOST_USES: u8 = 3;

/// Uses of a page that nobody has referenced yet; the first reference makes it a page with none.
const UNREFERENCED: u8 = u8::MAX;

/// The parameters of the paper.
#[derive(Copy, Clone, Debug)]
pub struct S3FifoOptions {
    /// Share of the memory for pages on probation, in thousandths, rounded up; at least one page.
    pub small_permille: usize,
    /// Uses after its arrival that keep a page which is about to leave probation.
    pub uses_to_stay: u8,
}

impl Default for S3FifoOptions {
    /// As in the paper: 10 %, and used more than once.
    fn default() -> Self {
        Self { small_permille: 100, uses_to_stay: 2 }
    }
}

/// Lets most pages leave soon after they came, and keeps those that are used meanwhile or come
/// back.
///
/// New pages enter a small queue. Its oldest page moves to the main queue if it was used more than
/// once, and else leaves and is remembered; as many pages are remembered as the main queue holds.
/// A remembered page that comes back enters the main queue, whose oldest page gets another round
/// for each use that was counted, up to three. Pages leave from the small queue while it has its
/// share or more, and else from the main queue. A use only counts up; no use moves a page.
///
/// Choices beyond that: when a page that moves to the main queue finds it full, the page that
/// leaves for it is the victim, and the small queue gives up none besides. The reference that
/// brings a page is not counted as a use, and so neither is the first reference to a prefetched
/// page.
#[derive(Clone, Debug)]
pub struct S3Fifo {
    options: S3FifoOptions,
    queues: Directory<3>,
    /// By slot: uses since the page entered its queue, at most [`MOST_USES`], or [`UNREFERENCED`].
    uses: Vec<u8>,
    /// Pages from which on the small queue gives pages up.
    small: usize,
    main: usize,
}

impl S3Fifo {
    /// A policy without pages, with the parameters of the paper.
    pub fn new() -> Self {
        Self::with_options(S3FifoOptions::default())
    }

    /// A policy without pages.
    pub fn with_options(options: S3FifoOptions) -> Self {
        Self { options, queues: Directory::default(), uses: Vec::new(), small: 1, main: 0 }
    }

    /// Takes `page` in; into `remembered` if it was, else into `new`.
    fn add(&mut self, page: PageId, new: usize, remembered: usize, uses: u8) -> Slot {
        let slot = match self.queues.recall(page) {
            Some((slot, _)) => {
                self.queues.readmit(slot, remembered);
                slot
            }
            None => self.queues.admit(page, new),
        };
        let index = slot.0 as usize;
        if index >= self.uses.len() {
            self.uses.resize(index + 1, 0);
        }
        self.uses[index] = uses;
        slot
    }

    /// How often the page at `slot` was used besides its first reference.
    fn uses(&self, slot: Slot) -> u8 {
        match self.uses[slot.0 as usize] {
            UNREFERENCED => 0,
            uses => uses,
        }
    }

    /// Takes the oldest page out of the small queue; `None` if it moved on and nothing left for it.
    fn leave_small(&mut self) -> Option<PageId> {
        let slot = self.queues.oldest(SMALL)?;
        if self.uses(slot) < self.options.uses_to_stay {
            let page = self.queues.retire(slot, OUT);
            self.trim();
            return page;
        }
        let full = self.queues.len(MAIN) >= self.main;
        let victim = if full { self.leave_main() } else { None };
        self.uses[slot.0 as usize] = 0;
        self.queues.move_to(slot, MAIN);
        victim
    }

    /// Takes the first page without uses out of the main queue, and a use from each one before it.
    fn leave_main(&mut self) -> Option<PageId> {
        loop {
            let slot = self.queues.oldest(MAIN)?;
            let uses = self.uses(slot);
            if uses == 0 {
                return Some(self.queues.release(slot));
            }
            self.uses[slot.0 as usize] = uses - 1;
            self.queues.move_to(slot, MAIN);
        }
    }

    fn trim(&mut self) {
        while self.queues.len(OUT) > self.main {
            self.queues.forget_oldest(OUT);
        }
    }
}

impl Default for S3Fifo {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for S3Fifo {
    fn name(&self) -> &'static str {
        "s3-fifo"
    }

    fn rely_on_hints(&mut self) {
        self.queues.rely_on_hints();
    }

    fn hint(&mut self, page: PageId, slot: Slot) {
        self.queues.hint(page, slot);
    }

    fn set_capacity(&mut self, pages: usize) {
        let share = pages.saturating_mul(self.options.small_permille).div_ceil(1000);
        self.small = share.clamp(1, pages.max(1));
        self.main = pages.saturating_sub(self.small);
        self.queues.reserve(pages, self.main + 1);
        self.uses.reserve_exact((pages + self.main + 1).saturating_sub(self.uses.len()));
        self.trim();
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        let uses = if arrival == Arrival::Prefetch { UNREFERENCED } else { 0 };
        self.add(page, SMALL, MAIN, uses)
    }

    fn access(&mut self, slot: Slot) {
        let uses = &mut self.uses[slot.0 as usize];
        *uses = if *uses == UNREFERENCED { 0 } else { (*uses + 1).min(MOST_USES) };
    }

    fn glance(&self, slot: Slot) {
        farside_glance::at(&self.uses, slot.0 as usize);
        self.queues.glance(slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.queues.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        while !self.is_empty() {
            let from_small = self.queues.len(SMALL) >= self.small || self.queues.len(MAIN) == 0;
            let victim = if from_small { self.leave_small() } else { self.leave_main() };
            if victim.is_some() {
                return victim;
            }
        }
        None
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.add(page, MAIN, SMALL, 0)
    }

    fn len(&self) -> usize {
        self.queues.len(SMALL) + self.queues.len(MAIN)
    }
}
