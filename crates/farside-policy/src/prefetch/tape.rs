//! The pages that come, known beforehand (3PO, section 3.3).

use std::collections::VecDeque;
use std::iter::Fuse;

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher};

/// The parameters of the paper, and how far to look for the place.
#[derive(Copy, Clone, Debug)]
pub struct TapeOptions {
    /// Pages of the tape that are to be on their way or here before the program comes to them.
    pub lookahead: usize,
    /// Pages beyond that to ask for with them. Nothing is asked for while the lookahead is met.
    pub batch: usize,
    /// Pages beyond the lookahead among which a fault that is not where it should be is looked for.
    pub search: usize,
}

/// Stays a lookahead ahead of the program on a tape of the pages it will use.
///
/// The tape lists pages in the order of their use. It need not list each use, and should list only
/// those for which the page has to be fetched: a use that does not fault moves the place, but
/// cannot be answered with a plan, so that the lookahead shrinks until the next fault. The first
/// use of each page fetched must be told as a [`Used`](FaultKind::Used) or
/// [`Late`](FaultKind::Late) fault; 3PO keeps *key pages* unmapped for that.
///
/// A fault on another page is looked for further down, and if it is there the place moves behind
/// it: the program skipped what lies between. If it is not, the place stays. Memory is bounded by
/// the options, however long the tape is.
#[derive(Clone, Debug)]
pub struct Tape<I: Iterator<Item = PageId>> {
    coming: Fuse<I>,
    /// The tape from the next page on.
    window: VecDeque<PageId>,
    /// How many pages of the window have been asked for.
    planned: usize,
    options: TapeOptions,
}

impl<I: Iterator<Item = PageId>> Tape<I> {
    /// A prefetcher at the beginning of the tape `coming`.
    pub fn new(coming: impl IntoIterator<IntoIter = I>, options: TapeOptions) -> Self {
        let most = options.lookahead.saturating_add(options.batch.max(options.search));
        Self {
            coming: coming.into_iter().fuse(),
            // A window that does not fit into memory grows as far as the tape goes.
            window: VecDeque::with_capacity(most.min(1 << 20)),
            planned: 0,
            options,
        }
    }

    /// Reads the tape until the window has `pages` pages.
    fn read(&mut self, pages: usize) {
        while self.window.len() < pages
            && let Some(page) = self.coming.next()
        {
            self.window.push_back(page);
        }
    }

    /// Moves the place behind the page that many pages down the tape.
    fn pass(&mut self, index: usize) {
        self.window.drain(..=index);
        self.planned = self.planned.saturating_sub(index + 1);
    }

    /// Moves the place behind `page`, if it is found.
    fn find(&mut self, page: PageId) {
        self.read(self.options.lookahead.saturating_add(self.options.search).max(1));
        if let Some(index) = self.window.iter().position(|&other| other == page) {
            self.pass(index);
        }
    }

    /// Asks for pages until a batch more than the lookahead has been asked for; `page` is here.
    fn plan_ahead(&mut self, page: PageId, plan: &mut PrefetchPlan) {
        if self.planned >= self.options.lookahead.max(1) {
            return;
        }
        let most = self.options.lookahead.saturating_add(self.options.batch);
        self.read(most);
        for &next in self.window.iter().take(most).skip(self.planned) {
            if next != page && !plan.push_page(next) {
                return;
            }
            self.planned += 1;
        }
    }
}

impl<I: Iterator<Item = PageId> + Send> Prefetcher for Tape<I> {
    fn name(&self) -> &'static str {
        "tape"
    }

    fn fault(&mut self, page: PageId, _kind: FaultKind, plan: &mut PrefetchPlan) {
        self.find(page);
        self.plan_ahead(page, plan);
    }

    fn access(&mut self, page: PageId) {
        self.read(1);
        if self.window.front() == Some(&page) {
            self.pass(0);
        }
    }
}
