//! The pages that come, known beforehand (3PO, section 3.3).

use std::collections::VecDeque;

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher};

/// The parameters of the paper, and how far to look for the place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TapeOptions {
    /// Pages of the tape that are to be on their way or here before the program comes to them.
    pub lookahead: usize,
    /// Pages beyond that to ask for with them. Nothing is asked for while the lookahead is met.
    pub batch: usize,
    /// Pages of the tape, from the place on, among which a fault is looked for. With 1 the place
    /// moves page by page only: right if all uses of listed pages are told, because a fault that is
    /// not at the place then is a use that the tape does not list.
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
/// A fault on a page that is found further down, as far as it is looked for, moves the place
/// behind it: the program skipped what lies between. If it is not found, the place stays. Listed
/// pages that are here are to stay, and one that leaves without having been used is asked for
/// once more.
///
/// The tape may still be in the making: when it ends it is asked again with the next fault, and
/// may go on. Memory is bounded by the options, however long it is.
#[derive(Clone, Debug)]
pub struct Tape<I: Iterator<Item = PageId>> {
    coming: I,
    /// The tape from the next page on.
    window: VecDeque<Coming>,
    /// How many pages of the window have been asked for.
    planned: usize,
    /// How many of these are [lost](Asked::Lost).
    lost: usize,
    options: TapeOptions,
}

/// A place on the tape.
#[derive(Copy, Clone, Debug)]
struct Coming {
    page: PageId,
    asked: Asked,
}

/// What became of a place that has been asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Asked {
    /// As far as is known, the page is here or on its way.
    Once,
    /// The page left unused, and is to be asked for again.
    Lost,
    /// It was. A policy that throws out what was just fetched is not to fetch for ever.
    Again,
}

impl<I: Iterator<Item = PageId>> Tape<I> {
    /// A prefetcher at the beginning of the tape `coming`.
    pub fn new(coming: impl IntoIterator<IntoIter = I>, options: TapeOptions) -> Self {
        let most = options.lookahead.saturating_add(options.batch).max(options.search);
        Self {
            coming: coming.into_iter(),
            // A window that does not fit into memory grows as far as the tape goes.
            window: VecDeque::with_capacity(most.min(1 << 20)),
            planned: 0,
            lost: 0,
            options,
        }
    }

    /// Reads the tape until the window has `pages` pages.
    fn read(&mut self, pages: usize) {
        while self.window.len() < pages
            && let Some(page) = self.coming.next()
        {
            self.window.push_back(Coming { page, asked: Asked::Once });
        }
    }

    /// Moves the place behind the page that many pages down the tape.
    fn pass(&mut self, index: usize) {
        let lost = self.window.drain(..=index).filter(|place| place.asked == Asked::Lost).count();
        self.lost -= lost;
        self.planned = self.planned.saturating_sub(index + 1);
    }

    /// Moves the place behind `page`, if it is found.
    fn find(&mut self, page: PageId) {
        let most = self.options.search.max(1);
        self.read(most);
        if let Some(index) = self.window.iter().take(most).position(|place| place.page == page) {
            self.pass(index);
        }
    }

    /// Asks for what was lost; `page` is here. Whether there was room for it all.
    fn plan_lost(&mut self, page: PageId, plan: &mut PrefetchPlan) -> bool {
        if self.lost == 0 {
            return true;
        }
        for place in self.window.iter_mut().take(self.planned) {
            if place.asked == Asked::Lost {
                if place.page != page && !plan.push_page(place.page) {
                    return false;
                }
                place.asked = Asked::Again;
                self.lost -= 1;
            }
        }
        true
    }

    /// Asks for pages until a batch more than the lookahead has been asked for; `page` is here.
    fn plan_ahead(&mut self, page: PageId, plan: &mut PrefetchPlan) {
        if self.planned >= self.options.lookahead.max(1) {
            return;
        }
        let most = self.options.lookahead.saturating_add(self.options.batch);
        self.read(most);
        for next in self.window.iter().take(most).skip(self.planned) {
            if next.page != page && !plan.push_page(next.page) {
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
        if self.plan_lost(page, plan) {
            self.plan_ahead(page, plan);
        }
        plan.touch_resident();
    }

    fn knows_all_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, page: PageId) {
        self.read(1);
        if self.window.front().is_some_and(|place| place.page == page) {
            self.pass(0);
        }
    }

    fn unused(&mut self, page: PageId) {
        let mut asked = self.window.iter_mut().take(self.planned);
        if let Some(place) = asked.find(|place| place.page == page && place.asked == Asked::Once) {
            place.asked = Asked::Lost;
            self.lost += 1;
        }
    }
}
