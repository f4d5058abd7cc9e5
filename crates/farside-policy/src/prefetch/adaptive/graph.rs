//! The page proximity graph as one of several: what it learns of is what nobody else foresees.

use farside_trace::PageId;

use super::super::{FaultKind, PrefetchPlan, Prefetcher, ProximityInRun, ProximityOptions};

/// Pages of the stack that are looked at on a fault: half of the paper's. In small memories more of them are met twice by
/// chance.
const WINDOW: usize = 32;

/// As many are enough to see whether any order comes again.
const GLANCE: usize = 8;

/// Faults that it did not foresee, for each page that it knows, after which it goes on with a sample: an order that comes
/// again has shown by then.
const PATIENCE: u64 = 6;

/// And at least so many of them.
const LEAST_PATIENCE: u64 = 4096;

/// If less than this share of the pages with a set, in parts of 65,536, is followed by something of it, the program uses its
/// pages in no order, and only the sample is known from then on. Of an order that comes again nearly all are.
const BY_CHANCE: u16 = u16::MAX / 16;

/// From this share of the sample on all are known again.
const IN_ORDER: u16 = u16::MAX / 4;

/// What is known of fewer pages stays in the processor's caches, so that it costs little to learn even what comes by chance:
/// it may come once more.
const COLD: usize = 1 << 15;

/// One page that is used in time makes up for so many of them: some are by chance.
const CREDIT: u64 = 32;

/// So many faults have to be made up for by pages of the sample until all are known again.
const TIRED: u64 = 8 * CREDIT;

/// One stretch of pages in so many is in the sample.
const SAMPLE: u64 = 8;

/// Pages of a stretch.
const STRETCH: u64 = 8;

/// [`ProximityInRun`] that does not cost much where it is of no use.
///
/// To learn from a fault takes about as long as to fetch a page, if what is known is more than the processor's caches hold. If
/// nothing comes of it, the program is likely to use its pages in no order: nothing that it asks for is used, or, which shows
/// much sooner, what followed a page before does not follow it again. Of a sample of the pages it would be known all the same
/// if there was one.
///
/// Sets and depth are the paper's, so that a page that is known takes 60 bytes. With small sets and a long walk, as
/// [`ProximityInRun`] has them by itself, a simulated ocean took 1.42 times as long as with the best of the others.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    proximity: ProximityInRun,
    /// Faults that it did not foresee, less those that pages make up for which were used.
    useless: u64,
    /// Only a sample is known, since nothing that it asked for was of use.
    is_tired: bool,
    /// Or since pages come by chance.
    is_lost: bool,
}

impl Graph {
    /// A graph that asks for at most `most` pages at once, and knows of none.
    pub fn new(most: u32) -> Self {
        let options = ProximityOptions { most, window: WINDOW, ..ProximityOptions::PAPER };
        Self {
            proximity: ProximityInRun::cautious(options),
            useless: 0,
            is_tired: false,
            is_lost: false,
        }
    }

    /// A fault of which somebody is told who sees only what nobody else foresees.
    pub fn fault(
        &mut self,
        page: PageId,
        kind: FaultKind,
        most: u32,
        is_far: &dyn Fn(PageId) -> bool,
        plan: &mut PrefetchPlan,
    ) {
        self.judge(kind);
        if (self.is_tired || self.is_lost) && !is_sampled(page) {
            return;
        }
        self.proximity.ask_for_at_most(most);
        self.proximity.look_at(if self.is_lost { GLANCE } else { WINDOW });
        self.proximity.fault_seeing(page, kind, is_far, plan);
    }

    /// A page that it foresaw was not used.
    pub fn unused(&mut self, page: PageId) {
        self.proximity.unused(page);
    }

    /// Finds out whether it is of use.
    fn judge(&mut self, kind: FaultKind) {
        self.useless = match kind {
            FaultKind::Demand => self.useless + 1,
            FaultKind::Late | FaultKind::Used => self.useless.saturating_sub(CREDIT),
        };
        let again = self.proximity.again();
        self.is_lost = match self.is_lost {
            true => again < IN_ORDER,
            false => again < BY_CHANCE && self.proximity.known() >= COLD,
        };
        if self.is_tired {
            self.useless = self.useless.min(TIRED);
            self.is_tired = self.useless > 0;
        } else if self.useless > (self.proximity.known() as u64 * PATIENCE).max(LEAST_PATIENCE) {
            self.is_tired = true;
        }
    }
}

fn is_sampled(page: PageId) -> bool {
    let spread = (page.0 / STRETCH).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    spread.is_multiple_of(SAMPLE)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A number by chance, the same in each run of the test.
    fn chance(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    /// Uses pages, none of which stays unless it was asked for of late; how many were waited for.
    fn waited(graph: &mut Graph, pages: impl IntoIterator<Item = u64>) -> usize {
        let (mut asked, mut waited) = (HashMap::new(), 0);
        for (at, page) in pages.into_iter().map(PageId).enumerate() {
            let in_time = asked.remove(&page).is_some_and(|then| at - then < 200);
            let kind = if in_time { FaultKind::Used } else { FaultKind::Demand };
            waited += usize::from(!in_time);
            let mut plan = PrefetchPlan::new();
            graph.fault(page, kind, 64, &|_| true, &mut plan);
            asked.extend(plan.runs().flat_map(|run| run.pages()).map(|page| (page, at)));
        }
        waited
    }

    #[test]
    fn a_program_without_order_comes_to_be_known_by_a_sample_until_it_has_one() {
        let (mut graph, mut state) = (Graph::new(64), 1);
        waited(&mut graph, (0..40_000).map(|_| chance(&mut state) % 4000));
        assert!(graph.is_tired);
        let known = graph.proximity.known();
        waited(&mut graph, 1_000_000..1_008_000);
        let more = graph.proximity.known() - known;
        assert!((500..2000).contains(&more), "{more} of 8,000");
        let mut order: Vec<u64> = (2_000_000..2_004_000).collect();
        (1..order.len()).rev().for_each(|at| order.swap(at, chance(&mut state) as usize % at));
        for _ in 0..6 {
            waited(&mut graph, order.iter().copied());
        }
        let last = waited(&mut graph, order.iter().copied());
        assert!(!graph.is_tired && last < order.len() / 10, "{last}");
    }

    #[test]
    fn pages_that_come_by_chance_are_seen_to_before_each_has_come_twice() {
        let (mut graph, mut state) = (Graph::new(64), 1);
        let pages = 2 * COLD as u64;
        waited(&mut graph, (0..pages).map(|_| chance(&mut state) % pages));
        assert!(graph.is_lost && !graph.is_tired);
        // An order shows as soon as it comes again.
        let mut order: Vec<u64> = (2_000_000..2_000_000 + pages).collect();
        (1..order.len()).rev().for_each(|at| order.swap(at, chance(&mut state) as usize % at));
        let mut pass = || waited(&mut graph, order.iter().copied());
        let passes = [pass(), pass(), pass(), pass(), pass()];
        assert!(passes[4] < order.len() / 10, "{passes:?}");
        assert!(!graph.is_lost);
    }

    #[test]
    fn of_few_pages_all_are_known() {
        let (mut graph, mut state) = (Graph::new(64), 1);
        waited(&mut graph, (0..3 * 16_000).map(|_| chance(&mut state) % 16_000));
        assert!(!graph.is_lost && graph.proximity.again() < BY_CHANCE);
    }
}
