//! What is foreseen by whom, and what came of it.

use std::collections::VecDeque;

use farside_trace::PageId;

use super::super::{FaultKind, Following, PrefetchPlan};
use super::candidate::{Candidate, Candidates};
use super::clock::Clock;
use super::foreseen::{Foreseen, ForeseenPages};
use super::part::Parts;

/// Most pages at once that are foreseen, not sent for, and not given up.
const WAITING: usize = 2048;

/// What is foreseen, and how often it came true.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pages: ForeseenPages,
    parts: Parts,
    /// Foreseen pages that were not sent for, and when they were foreseen, oldest first.
    waiting: VecDeque<(PageId, u16)>,
    clock: Clock,
}

/// What is planned at a fault.
pub(super) struct Planning<'a> {
    pub page: PageId,
    pub is_far: &'a dyn Fn(PageId) -> bool,
    pub plan: &'a mut PrefetchPlan,
    /// How many more pages may be planned.
    pub left: u32,
    /// Runs of it that others planned.
    pub before: usize,
}

impl Planning<'_> {
    /// Adds a page to the plan, unless it is there; false if there is no room.
    fn add(&mut self, page: PageId) -> bool {
        if self.before > 0 && self.plan.runs().take(self.before).any(|run| run.contains(page)) {
            return true;
        }
        let fits = self.left > 0 && self.plan.push_page(page);
        self.left -= u32::from(fits);
        fits
    }
}

impl Ledger {
    pub fn new() -> Self {
        Self {
            pages: ForeseenPages::new(),
            parts: Parts::new(),
            waiting: VecDeque::with_capacity(WAITING),
            clock: Clock::new(),
        }
    }

    /// A fault begins. Calls `unused` with each page that was not used in time, and those who would have sent for it.
    pub fn begin(
        &mut self,
        page: PageId,
        kind: FaultKind,
        mut unused: impl FnMut(PageId, Candidates),
    ) {
        self.clock.tick(kind == FaultKind::Demand);
        while let Some((page, at)) = self.waiting.front().copied()
            && !self.clock.is_recent(at)
        {
            self.waiting.pop_front();
            if let Some(by) = self.give_up(page, at) {
                unused(page, by);
            }
        }
        self.parts.enter(page);
    }

    /// Gives up a page that was foreseen at some time, if it was not sent for since.
    fn give_up(&mut self, page: PageId, at: u16) -> Option<Candidates> {
        let waits = |known: &Foreseen| known.at == at && known.sent.is_none();
        let foreseen = self.pages.get(page).filter(waits)?;
        self.pages.take(page);
        self.parts.answer(&foreseen, false);
        Some(foreseen.by)
    }

    /// Takes note of a fault. Returns what kind of fault each candidate is told of: that which it would have been without
    /// the others. The trend looks at all faults in a row: it is not told of pages that pointers brought, and not of those
    /// where others go on, when the program has come through what they brought without a fault. The graph is for what
    /// nobody else foresees: it is told of nothing that others sent for.
    pub fn judge(
        &mut self,
        page: PageId,
        kind: FaultKind,
    ) -> impl Fn(Candidate) -> Option<FaultKind> + use<> {
        let foreseen = self.pages.take(page);
        // A page that was demanded long after it was sent for may have been here, used unseen, and gone.
        let in_time =
            |known: &Foreseen| kind != FaultKind::Demand || self.clock.is_recent(known.at);
        let came_true = foreseen.filter(in_time);
        if let Some(foreseen) = came_true {
            self.parts.answer(&foreseen, true);
        }
        move |candidate| match (foreseen, kind) {
            (Some(Foreseen { by, sent: Some(who), .. }), _)
                if candidate == Candidate::Graph && who != candidate && !by.has(candidate) =>
            {
                None
            }
            (Some(Foreseen { by, sent: None, .. }), FaultKind::Demand)
                if by.has(candidate) && came_true.is_some() =>
            {
                Some(FaultKind::Used)
            }
            (Some(Foreseen { by, sent: Some(who), .. }), _)
                if !by.is_empty() && !by.has(candidate) =>
            {
                let is_one_of_many = who == Candidate::Pointers && candidate == Candidate::Trend;
                (!is_one_of_many).then_some(FaultKind::Demand)
            }
            (Some(Foreseen { by, sent: Some(who), .. }), _) if by.is_empty() => {
                let is_one_of_few = who != candidate && candidate == Candidate::Trend;
                (!is_one_of_few).then_some(kind)
            }
            _ => Some(kind),
        }
    }

    /// In which order those who foresee pages are heard here.
    pub fn order(&self) -> [Candidate; 3] {
        let mut order = [Candidate::Window, Candidate::Trend, Candidate::Graph];
        if let Some(part) = self.parts.here() {
            for at in [1, 2, 1] {
                if part.outranks(order[at], order[at - 1]) {
                    order.swap(at, at - 1);
                }
            }
        }
        order
    }

    /// Whether a candidate's pages are fetched here.
    pub fn is_on(&self, candidate: Candidate) -> bool {
        self.parts.here().is_some_and(|part| part.is_on(candidate))
    }

    /// Plans what a candidate foresees, if it is on here, and else only takes note of it.
    pub fn add(&mut self, candidate: Candidate, draft: &PrefetchPlan, planning: &mut Planning) {
        let is_on = self.is_on(candidate);
        let mut sent = 0;
        planning.before = planning.plan.runs().count();
        for page in draft.runs().flat_map(|run| run.pages()) {
            let is_far = (planning.is_far)(page);
            if !is_far || self.is_planned(page) {
                self.agree(candidate, page);
                // It may have to leave for what is fetched before it, and be fetched again.
                if is_on && !is_far {
                    planning.add(page);
                }
            } else if is_on && planning.add(page) {
                self.send(candidate, page);
                sent += 1;
            } else {
                self.foresee(candidate, page);
            }
        }
        if sent > 0 {
            self.sent(candidate, sent);
            let next = next_after(draft, planning.page).filter(|page| (planning.is_far)(*page));
            if let Some(next) = next {
                self.expect_next(candidate, next);
            }
        }
    }

    /// Whether somebody sends for a page at this fault.
    fn is_planned(&self, page: PageId) -> bool {
        let is_now = |known: &Foreseen| known.at == self.clock.now() && known.sent.is_some();
        self.pages.get(page).is_some_and(|known| is_now(&known) && !known.by.is_empty())
    }

    /// A candidate foresees a page that is here or on its way.
    fn agree(&mut self, candidate: Candidate, page: PageId) {
        if let Some(known) = self.pages.get(page).filter(|known| !known.by.is_empty()) {
            self.pages.set(page, Foreseen { by: known.by.with(candidate), ..known });
        }
    }

    /// A candidate foresees a far page that is not sent for.
    fn foresee(&mut self, candidate: Candidate, page: PageId) {
        let waits = |known: &Foreseen| known.sent.is_none() && self.clock.is_recent(known.at);
        if let Some(known) = self.pages.get(page).filter(waits) {
            self.pages.set(page, Foreseen { by: known.by.with(candidate), ..known });
            return;
        }
        if self.waiting.len() == WAITING
            && let Some((oldest, at)) = self.waiting.pop_front()
        {
            self.give_up(oldest, at);
        }
        let at = self.clock.now();
        self.waiting.push_back((page, at));
        let (by, part) = (Candidates::of(candidate), self.parts.number());
        self.pages.set(page, Foreseen { by, sent: None, at, part });
    }

    /// A candidate sends for a far page.
    fn send(&mut self, candidate: Candidate, page: PageId) {
        let known = self.pages.get(page).filter(|known| self.clock.is_recent(known.at));
        let by = known.map_or(Candidates::default(), |known| known.by).with(candidate);
        let (at, part) = (self.clock.now(), self.parts.number());
        self.pages.set(page, Foreseen { by, sent: Some(candidate), at, part });
    }

    /// A candidate has sent for so many pages.
    fn sent(&mut self, candidate: Candidate, pages: u16) {
        self.clock.comes(pages);
        if let Some(part) = self.parts.here_mut() {
            part.sends(candidate);
        }
    }

    /// Takes note of the page where what was sent for goes on: if the program comes there, it has used what lies before.
    /// Runs see few other uses.
    fn expect_next(&mut self, candidate: Candidate, page: PageId) {
        if self.pages.get(page).is_none() {
            let (at, part) = (self.clock.now(), self.parts.number());
            let by = Candidates::default();
            self.pages.set(page, Foreseen { by, sent: Some(candidate), at, part });
        }
    }

    /// A pointer leads to a far page, or to one that is here because somebody sent for it.
    pub fn foreseen_by_pointer(&mut self, page: PageId, sent: bool) {
        let candidate = Candidate::Pointers;
        let is_here = |known: &Foreseen| !sent && known.sent.is_some();
        if self.is_planned(page) || self.pages.get(page).is_some_and(|known| is_here(&known)) {
            self.agree(candidate, page);
        } else if sent {
            self.send(candidate, page);
            self.sent(candidate, 1);
        } else {
            self.foresee(candidate, page);
        }
    }

    /// A page left unused; returns who foresaw it, as far as is known.
    pub fn unused(&mut self, page: PageId) -> Option<Candidates> {
        let Some(foreseen) = self.pages.take(page) else {
            self.parts.unused(page);
            return None;
        };
        if foreseen.sent.is_some() {
            self.clock.left(foreseen.at);
        }
        self.parts.answer(&foreseen, false);
        Some(foreseen.by)
    }

    /// Most pages that are likely to be used before they leave if they are fetched at once, one by one.
    pub fn room(&self) -> u32 {
        self.clock.room()
    }

    /// What is to be done about the pointers in a page.
    pub fn pointers(&self, page: PageId) -> Following {
        self.parts.pointers(page)
    }
}

/// Where the pages of a plan go on that was made at a fault on `page`.
fn next_after(plan: &PrefetchPlan, page: PageId) -> Option<PageId> {
    let (before, last) = plan.runs().fold((page, None), |(before, last), run| {
        (last.map_or(before, |run: farside_trace::PageRange| run.first), Some(run))
    });
    let last = last?;
    let next = if last.count > 1 {
        if last.first > page { Some(last.end()) } else { last.first.0.checked_sub(1) }
    } else {
        last.first.0.checked_add_signed(last.first.0.wrapping_sub(before.0) as i64)
    };
    next.map(PageId)
}
