//! Proximity as a run has it: few uses are told, and what is asked for counts as used.

use std::collections::HashSet;

use crate::support::faults::{demand, fetched, pages};
use farside_policy::prefetch::{
    FaultKind, PrefetchPlan, Prefetcher, ProximityInRun, ProximityOptions,
};
use farside_trace::PageId;

fn small() -> ProximityOptions {
    ProximityOptions { set: 3, window: 3, depth: 2, ..ProximityOptions::default() }
}

/// A graph that has seen some pages so often that it asks for what follows the first of them.
fn taught(order: &[u64]) -> ProximityInRun {
    let mut graph = ProximityInRun::new(small());
    for _ in 0..2 {
        for page in order {
            graph.fault(PageId(*page), FaultKind::Demand, &mut PrefetchPlan::new());
        }
    }
    graph
}

#[test]
fn what_came_after_a_page_once_is_not_asked_for() {
    let order = [10, 90, 30, 70, 50, 20, 80];
    let mut graph = ProximityInRun::new(small());
    for _ in 0..2 {
        for page in order {
            assert_eq!(demand(&mut graph, page), [], "{page}");
        }
    }
    // What comes after these comes a third time, and what came after those has come twice.
    assert_eq!(demand(&mut graph, 10), pages([90, 30, 70, 50, 20, 80]));
}

#[test]
fn a_cautious_walk_goes_on_only_from_what_it_knew_before() {
    let order = [10, 90, 30, 70, 50, 20, 80];
    let mut graph = ProximityInRun::cautious(small());
    for page in order.into_iter().chain(order) {
        assert_eq!(demand(&mut graph, page), [], "{page}");
    }
    assert_eq!(demand(&mut graph, 10), pages([90, 30, 70]));
}

#[test]
fn the_use_of_one_of_the_last_leads_on() {
    let order = [10, 90, 30, 70, 50, 20, 80, 60, 110, 130];
    let mut graph = taught(&order);
    let asked = demand(&mut graph, 10);
    assert_eq!(asked, pages([90, 30, 70, 50, 20, 80]));
    assert_eq!(fetched(&mut graph, 90, FaultKind::Used), [], "one of the first");
    assert_eq!(fetched(&mut graph, 50, FaultKind::Used), pages([20, 80, 60, 110, 130, 10]));
    assert_eq!(fetched(&mut graph, 50, FaultKind::Used), [], "it leads on once");
}

#[test]
fn the_middle_one_of_those_that_are_far_is_to_be_told() {
    let mut graph = taught(&[10, 90, 30, 70, 50, 20, 80, 60, 110, 130]);
    let mut told = |far: &[u64]| {
        let mut plan = PrefetchPlan::new();
        let is_far = |page: PageId| far.contains(&page.0);
        graph.fault_seeing(PageId(10), FaultKind::Demand, &is_far, &mut plan);
        plan.leads_on().map(|page| page.0)
    };
    assert_eq!(told(&[90, 30, 70, 50, 20, 80]), Some(50));
    assert_eq!(told(&[70, 20, 80]), Some(20));
    assert_eq!(told(&[80]), Some(80));
    assert_eq!(told(&[]), None);
}

#[test]
fn what_is_asked_for_counts_as_used_in_its_order() {
    let order = [10, 90, 30, 70, 50, 20, 80];
    let mut graph = taught(&order);
    // The program goes on without a word of it, and faults where it begins again.
    demand(&mut graph, 10);
    assert_eq!(demand(&mut graph, 10), pages([90, 30, 70, 50, 20, 80]));
}

#[test]
fn who_leaves_unused_is_not_asked_for_long() {
    let order = [10, 90, 30, 70, 50, 20, 80];
    let mut graph = taught(&order);
    let mut rounds = 0;
    while demand(&mut graph, 10).iter().any(|run| run.contains(PageId(90))) {
        graph.unused(PageId(90));
        rounds += 1;
        assert!(rounds < 5, "it leaves again and again");
    }
    assert!(rounds > 0);
}

#[test]
fn the_unused_page_of_another_name_does_no_harm() {
    let mut graph = taught(&[1, 2, 3, 4]);
    graph.unused(PageId(2));
    graph.unused(PageId(99));
    demand(&mut graph, 1);
    graph.unused(PageId(2));
    graph.unused(PageId(2));
}

/// How many faults and fetches a program of `pages` pages has that uses them in the orders that `next` gives, with room
/// for half of them, first in, first out; one use in eight of what was fetched ahead is told.
fn simulate(pages: u64, rounds: u64, mut next: impl FnMut(u64) -> Vec<u64>) -> (u64, u64) {
    let mut graph = ProximityInRun::new(ProximityOptions::OF_RUNS);
    let mut queue = std::collections::VecDeque::new();
    let (mut here, mut unseen) = (HashSet::new(), HashSet::new());
    let (mut faults, mut fetches, mut told) = (0, 0, 0_u64);
    let mut plan = PrefetchPlan::new();
    for page in (0..rounds).flat_map(&mut next) {
        plan.clear();
        if here.contains(&page) {
            if unseen.remove(&page) {
                told += 1;
                if told % 8 == 0 {
                    graph.fault(PageId(page), FaultKind::Used, &mut plan);
                }
            }
        } else {
            faults += 1;
            here.insert(page);
            queue.push_back(page);
            graph.fault(PageId(page), FaultKind::Demand, &mut plan);
        }
        for page in plan.runs().flat_map(|run| run.pages()) {
            if here.insert(page.0) {
                fetches += 1;
                queue.push_back(page.0);
                unseen.insert(page.0);
            }
        }
        while queue.len() as u64 > pages / 2 {
            let gone = queue.pop_front().unwrap();
            here.remove(&gone);
            if unseen.remove(&gone) {
                told += 1;
                if told % 8 == 0 {
                    graph.unused(PageId(gone));
                }
            }
        }
    }
    (faults, faults + fetches)
}

/// A number by chance, the same in each run of the test.
fn chance(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn an_order_by_chance_that_repeats_is_learnt() {
    let (pages, rounds) = (4000, 20);
    let mut state = 1;
    let mut order: Vec<u64> = (0..pages).collect();
    (1..order.len()).rev().for_each(|at| order.swap(at, chance(&mut state) as usize % (at + 1)));
    let (faults, moved) = simulate(pages, rounds, |_| order.clone());
    // The first three rounds are for learning.
    assert!(faults < pages * (3 + rounds / 10), "{faults}");
    assert!(moved <= pages * rounds * 101 / 100, "{moved}");
}

#[test]
fn uses_by_chance_fetch_hardly_anything() {
    let (pages, rounds) = (4000, 20);
    let mut state = 2;
    let (faults, moved) =
        simulate(pages, rounds, |_| (0..pages).map(|_| chance(&mut state) % pages).collect());
    assert!(moved < faults * 110 / 100, "{moved} for {faults}");
}
