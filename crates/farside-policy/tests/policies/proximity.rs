//! The page proximity graph on hand-made faults, against a model made of vectors, and what it is
//! for.

use std::collections::{HashMap, VecDeque};

use crate::support::faults::{demand, fetched, pages};
use farside_policy::prefetch::{FaultKind, PrefetchPlan, Prefetcher, Proximity, ProximityOptions};
use farside_trace::{PageId, PageRange};
use proptest::prelude::*;

fn small() -> ProximityOptions {
    ProximityOptions { set: 3, window: 4, depth: 2, pages: 100, ..ProximityOptions::default() }
}

fn sets(graph: &Proximity, page: u64) -> Vec<(u64, u16)> {
    graph.set_of(PageId(page)).map(|(page, weight)| (page.0, weight)).collect()
}

#[test]
fn sets_follow_what_came_after_the_last_access() {
    let mut graph = Proximity::new(small());
    for page in [10, 20, 30, 40, 50, 60] {
        assert_eq!(demand(&mut graph, page), [], "nothing is known of a new page");
    }
    // 20 to 50 came after 10; three of them fit.
    let expected = pages([20, 30, 40]);
    assert_eq!(demand(&mut graph, 10), expected);
    assert_eq!(sets(&graph, 10), [(20, 1), (30, 1), (40, 1)]);
    for page in [30, 20, 70] {
        graph.access(PageId(page));
    }
    assert_eq!(demand(&mut graph, 10), pages([20, 30, 70]), "40 lost its weight");
    assert_eq!(sets(&graph, 10), [(20, 2), (30, 2), (70, 1)]);
}

#[test]
fn the_walk_is_breadth_first_along_heavier_edges_first() {
    let options = ProximityOptions { set: 2, window: 2, depth: 2, ..small() };
    let mut graph = Proximity::new(options);
    for _ in 0..2 {
        for page in [1, 5, 9, 13] {
            demand(&mut graph, page);
        }
    }
    assert_eq!(sets(&graph, 1), [(5, 1), (9, 1)]);
    // From 1 to 5 and 9; from 5 to 9 and 13; from 9 to 13 and 1.
    assert_eq!(demand(&mut graph, 1), pages([5, 9, 13]));
    assert_eq!(sets(&graph, 1), [(5, 2), (9, 2)]);
    let mut near = Proximity::new(ProximityOptions { depth: 1, ..options });
    [1, 5, 9, 13].into_iter().for_each(|page| drop(demand(&mut near, page)));
    assert_eq!(demand(&mut near, 1), pages([5, 9]));
}

#[test]
fn the_plan_is_bounded_and_asks_for_resident_pages_to_be_touched() {
    let mut graph = Proximity::new(ProximityOptions { most: 2, ..small() });
    [10, 20, 30, 40].into_iter().for_each(|page| drop(demand(&mut graph, page)));
    let mut plan = PrefetchPlan::new();
    graph.fault(PageId(10), FaultKind::Demand, &mut plan);
    assert!(plan.runs().eq(pages([20, 30])));
    assert!(plan.touches_resident());
    assert_eq!(graph.most_unused(1000), 100);
}

#[test]
fn only_pages_that_the_program_waits_for_lead_to_others() {
    let mut graph = Proximity::new(small());
    [10, 20, 30].into_iter().for_each(|page| graph.access(PageId(page)));
    assert_eq!(fetched(&mut graph, 10, FaultKind::Used), [], "the first use of a page");
    assert_eq!(fetched(&mut graph, 20, FaultKind::Late), pages([30, 10]));
}

#[test]
fn forgotten_pages_are_not_asked_for() {
    let mut graph = Proximity::new(ProximityOptions { pages: 4, ..small() });
    [10, 20, 30].into_iter().for_each(|page| drop(demand(&mut graph, page)));
    assert_eq!(demand(&mut graph, 10), pages([20, 30]));
    // 20 makes room for 50, in its slot.
    [40, 50].into_iter().for_each(|page| graph.access(PageId(page)));
    assert_eq!(sets(&graph, 10), [(30, 1)]);
    [30, 10, 60].into_iter().for_each(|page| graph.access(PageId(page)));
    assert_eq!(demand(&mut graph, 20), [], "a page that was forgotten is new");
}

/// The graph and the stack as the paper describes them.
struct Model {
    options: ProximityOptions,
    /// The most recently accessed page last.
    stack: Vec<u64>,
    sets: HashMap<u64, Vec<(u64, u16)>>,
}

impl Model {
    fn access(&mut self, page: u64) {
        self.stack.retain(|&other| other != page);
        if self.stack.len() == self.options.pages {
            let forgotten = self.stack.remove(0);
            self.sets.remove(&forgotten);
            self.sets.values_mut().for_each(|set| set.retain(|(to, _)| *to != forgotten));
        }
        self.stack.push(page);
    }

    fn fault(&mut self, page: u64) -> Vec<u64> {
        let Some(place) = self.stack.iter().position(|&other| other == page) else {
            self.access(page);
            return Vec::new();
        };
        let window: Vec<u64> =
            self.stack[place + 1..].iter().take(self.options.window).copied().collect();
        let set = self.sets.entry(page).or_default();
        for (to, weight) in set.iter_mut() {
            let gains = window.contains(to);
            *weight = if gains { (*weight + 1).min(self.options.most_weight) } else { *weight - 1 };
        }
        set.retain(|(_, weight)| *weight > 0);
        for near in window {
            if set.len() < self.options.set && set.iter().all(|(to, _)| *to != near) {
                set.push((near, 1));
            }
        }
        set.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        self.access(page);
        self.walk(page)
    }

    fn walk(&self, from: u64) -> Vec<u64> {
        let mut met = vec![from];
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((page, depth)) = queue.pop_front() {
            for &(to, weight) in self.sets.get(&page).into_iter().flatten() {
                if weight < self.options.least_weight {
                    continue;
                }
                if depth < self.options.depth && !met.contains(&to) {
                    met.push(to);
                    queue.push_back((to, depth + 1));
                }
            }
        }
        met[1..].iter().take(self.options.most as usize).copied().collect()
    }
}

proptest! {
    /// No page is forgotten here: an edge to a page that is forgotten and comes back to where it was is one again, and the
    /// model knows of no places.
    #[test]
    fn any_sequence_of_accesses_equals_the_model(
        calls in prop::collection::vec((0..12_u64, any::<bool>()), 0..300),
        (set, window, depth) in (0..5_usize, 0..8_usize, 0..4_usize),
        (most, known, most_weight, least_weight) in (0..12_u32, 12..14_usize, 1..5_u16, 0..4_u16),
    ) {
        let options = ProximityOptions {
            set, window, depth, most, pages: known, most_weight, least_weight, unused_permille: 100,
        };
        let mut graph = Proximity::new(options);
        let mut model = Model { options, stack: Vec::new(), sets: HashMap::new() };
        for (page, faults) in calls {
            // Far apart, so that each page is a run.
            let page = 10 * page;
            if faults {
                let expected: Vec<_> = model.fault(page).into_iter().map(PageId).collect();
                let found: Vec<_> = demand(&mut graph, page);
                let expected: Vec<_> = expected.into_iter().map(PageRange::single).collect();
                prop_assert_eq!(found, expected);
            } else {
                graph.access(PageId(page));
                model.access(page);
            }
            let expected = model.sets.get(&page).cloned().unwrap_or_default();
            prop_assert_eq!(sets(&graph, page), expected);
        }
    }
}

proptest! {
    #[test]
    fn however_many_pages_are_forgotten_only_known_ones_are_asked_for(
        calls in prop::collection::vec((0..40_u64, any::<bool>()), 0..400),
        known in 1..20_usize,
    ) {
        let mut graph = Proximity::new(ProximityOptions { pages: known, ..small() });
        let mut stack: Vec<u64> = Vec::new();
        for (page, faults) in calls {
            let page = 10 * page;
            let asked = if faults { demand(&mut graph, page) } else { Vec::new() };
            graph.access(PageId(page));
            stack.retain(|other| *other != page);
            stack.push(page);
            stack.drain(..stack.len().saturating_sub(known));
            for run in asked {
                prop_assert!(run.first.0 != page && stack.contains(&run.first.0));
            }
        }
    }
}

#[test]
fn a_walk_over_scattered_pages_is_learnt() {
    // The same 500 pages in the same disorder, over and over, of which half fit.
    let order: Vec<u64> = (0..500).map(|i| i * 7919 % 500 * 10).collect();
    let mut graph = Proximity::new(ProximityOptions::default());
    let mut resident: VecDeque<u64> = VecDeque::new();
    let mut faults = Vec::new();
    for round in 0..10 {
        let mut count = 0;
        for &page in &order {
            if resident.contains(&page) {
                graph.access(PageId(page));
                continue;
            }
            count += 1;
            let wanted = demand(&mut graph, page).into_iter().map(|run| run.first.0);
            for page in [page].into_iter().chain(wanted) {
                if !resident.contains(&page) {
                    resident.push_back(page);
                }
            }
            while resident.len() > 250 {
                resident.pop_front();
            }
        }
        faults.push((round, count));
    }
    assert_eq!(faults[0].1, 500, "{faults:?}");
    assert!(faults[9].1 < 50, "a tenth of the pages or less: {faults:?}");
}
