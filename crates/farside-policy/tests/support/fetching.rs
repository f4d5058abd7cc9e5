//! Demand paging as in a run in which pages are fetched ahead: few uses are seen, and few of those of fetched pages.

use farside_policy::prefetch::{FaultKind, PrefetchPlan, Prefetcher};
use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::PageId;

use super::run::{Place, WATCH_BATCH};

/// Of one run of several pages in so many, one page is seen to be used.
const SAMPLE_EVERY: u64 = 8;

/// What a page that is here was fetched for.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Ahead {
    /// The program came to it.
    No,
    /// It was fetched ahead; nobody looks whether it is used.
    Unseen,
    /// It was fetched ahead, and the prefetcher is told of its use, or that it left without one.
    Seen,
}

/// What came, and what of it was of no use.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages that the program waited for, but for those that it came to for the first time.
    pub demand: usize,
    /// Pages that were fetched ahead.
    pub ahead: usize,
    /// Those of them that left before they were used.
    pub unused: usize,
}

impl Counts {
    /// What it costs, where a page that is waited for costs as much as four that are fetched beside it.
    pub fn cost(self) -> usize {
        4 * self.demand + self.ahead
    }
}

/// Demand paging as in a run, where a prefetcher is told of what it is told of there.
pub struct Fetching<P> {
    pub policy: P,
    prefetcher: Box<dyn Prefetcher>,
    capacity: usize,
    pages: Vec<(Place, Ahead)>,
    watched: Vec<(PageId, Slot)>,
    /// Runs of several pages so far.
    runs: u64,
    counts: Counts,
}

impl<P: ReplacementPolicy> Fetching<P> {
    pub fn new(mut policy: P, prefetcher: Box<dyn Prefetcher>, capacity: usize) -> Self {
        policy.set_capacity(capacity);
        let (pages, watched) = (Vec::new(), Vec::new());
        Self { policy, prefetcher, capacity, pages, watched, runs: 0, counts: Counts::default() }
    }

    /// Uses pages one after the other; what came for them.
    pub fn counts(&mut self, pages: impl IntoIterator<Item = u64>) -> Counts {
        pages.into_iter().for_each(|page| self.reference(PageId(page)));
        std::mem::take(&mut self.counts)
    }

    fn reference(&mut self, page: PageId) {
        let index = page.0 as usize;
        if index >= self.pages.len() {
            self.pages.resize(index + 1, (Place::Untouched, Ahead::No));
        }
        let (place, ahead) = self.pages[index];
        let arrival = match place {
            Place::Mapped(_) => {
                self.pages[index].1 = Ahead::No;
                return;
            }
            Place::Watched(slot) => {
                self.policy.access(slot);
                self.pages[index] = (Place::Mapped(slot), Ahead::No);
                if ahead == Ahead::Seen {
                    self.fault(page, FaultKind::Used);
                }
                return;
            }
            Place::Far => Arrival::Demand,
            Place::Untouched => Arrival::FirstTouch,
        };
        self.policy.expect(page);
        self.make_room();
        self.pages[index] = (Place::Mapped(self.policy.insert(page, arrival)), Ahead::No);
        if arrival == Arrival::Demand {
            self.counts.demand += 1;
            self.fault(page, FaultKind::Demand);
        }
        self.watch();
    }

    fn make_room(&mut self) {
        if self.policy.len() < self.capacity {
            return;
        }
        let victim = self.policy.victim().expect("a full memory has a victim");
        let left = std::mem::replace(&mut self.pages[victim.0 as usize], (Place::Far, Ahead::No));
        self.counts.unused += usize::from(left.1 != Ahead::No);
        if left.1 == Ahead::Seen {
            self.prefetcher.unused(victim);
        }
    }

    fn watch(&mut self) {
        self.policy.watch(WATCH_BATCH, &mut self.watched);
        for (page, slot) in self.watched.drain(..) {
            self.pages[page.0 as usize].0 = Place::Watched(slot);
        }
    }

    /// Fetches what the prefetcher foresees of a fault.
    fn fault(&mut self, page: PageId, kind: FaultKind) {
        let mut plan = PrefetchPlan::new();
        let far =
            |page: PageId| self.pages.get(page.0 as usize).is_some_and(|it| it.0 == Place::Far);
        self.prefetcher.fault_seeing(page, kind, &far, &mut plan);
        for run in plan.runs() {
            let known = (self.pages.len() as u64).min(run.end()).saturating_sub(run.first.0);
            self.runs += u64::from(known > 1);
            let chance = self.runs.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let is_sampled = known > 1 && self.runs.is_multiple_of(SAMPLE_EVERY);
            for (at, page) in run.pages().enumerate().take(known as usize) {
                if self.pages[page.0 as usize].0 != Place::Far {
                    continue;
                }
                self.counts.ahead += 1;
                self.make_room();
                let slot = self.policy.insert(page, Arrival::Prefetch);
                self.pages[page.0 as usize] = match is_sampled && at as u64 == chance % known {
                    true => (Place::Watched(slot), Ahead::Seen),
                    false => (Place::Mapped(slot), Ahead::Unseen),
                };
            }
        }
    }
}
