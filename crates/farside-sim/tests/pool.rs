//! One memory for several programs: against a plain simulation of the same rules.

use std::convert::Infallible;

use farside_policy::replacement::{Lru, NAMES, OMNISCIENT, by_name};
use farside_sim::curve::LruDistances;
use farside_sim::partition::pool::{Pool, Usage};
use farside_sim::simulation::Costs;
use farside_trace::{Access, PAGE_SIZE, PageId};
use proptest::collection::vec;
use proptest::prelude::*;

fn access(page: u64, weight: u32) -> Access {
    Access { weight, ..Access::from(PageId(page)) }
}

fn pages(pages: impl IntoIterator<Item = u64>) -> Vec<Access> {
    pages.into_iter().map(|page| access(page, 1)).collect()
}

fn run(policy: &str, memory: usize, traces: &[Vec<Access>]) -> Vec<Usage> {
    let pool = Pool::new(by_name(policy).unwrap(), memory, traces.len(), Costs::default());
    let traces = traces.iter().map(|trace| trace.iter().copied().map(Ok::<_, Infallible>));
    pool.run(&mut traces.collect::<Vec<_>>(), |_| ()).unwrap()
}

/// Misses and time of each program, by lists that are searched from end to end.
fn plain(memory: usize, traces: &[Vec<Access>]) -> Vec<(u64, f64)> {
    let costs = Costs::default();
    let fault_ns = costs.fault_ns + costs.latency_ns + costs.byte_ns * PAGE_SIZE as f64;
    let mut touched = Vec::new();
    let mut lru: Vec<(usize, PageId)> = Vec::new();
    let mut found: Vec<(u64, f64)> = vec![(0, 0.0); traces.len()];
    let mut next: Vec<Option<usize>> = vec![Some(0); traces.len()];
    loop {
        let earlier = |a: &usize, b: &usize| found[*a].1.total_cmp(&found[*b].1);
        let running = (0..traces.len()).filter(|p| next[*p].is_some());
        let Some(program) = running.min_by(earlier) else { return found };
        let at = next[program].unwrap();
        let Some(access) = traces[program].get(at) else {
            next[program] = None;
            lru.retain(|(owner, _)| *owner != program);
            continue;
        };
        next[program] = Some(at + 1);
        found[program].1 += costs.access_ns * f64::from(access.weight);
        let page = (program, access.page);
        if let Some(place) = lru.iter().position(|other| *other == page) {
            lru.remove(place);
        } else {
            found[program].0 += 1;
            let first = !touched.contains(&page);
            found[program].1 += if first { costs.first_touch_ns } else { fault_ns };
            touched.push(page);
            if lru.len() == memory {
                lru.remove(0);
            }
        }
        lru.push(page);
    }
}

proptest! {
    #[test]
    fn the_pool_does_what_a_plain_simulation_does(
        traces in vec(vec((0u64..30, 1u32..20_000), 0..200), 1..4), memory in 1usize..40
    ) {
        // Also pages far apart, as addresses of real programs are.
        let spread = |page: u64| if page.is_multiple_of(3) { u64::MAX - page } else { page };
        let spread = |(page, weight)| access(spread(page), weight);
        let traces: Vec<Vec<_>> =
            traces.into_iter().map(|trace| trace.into_iter().map(spread).collect()).collect();
        let found = run("lru", memory, &traces);
        let plain = plain(memory, &traces);
        prop_assert_eq!(found.iter().map(|u| (u.misses, u.time_ns)).collect::<Vec<_>>(), plain);
        for (usage, trace) in found.iter().zip(&traces) {
            prop_assert_eq!(usage.accesses, trace.len() as u64);
            let weights = trace.iter().map(|access| u64::from(access.weight));
            prop_assert_eq!(usage.data_accesses, weights.sum::<u64>());
            prop_assert!(usage.mean_pages <= usage.most_pages as f64 && usage.most_pages <= memory);
        }
    }
}

#[test]
fn alone_a_program_misses_as_its_curve_says() {
    let trace = pages((0..20_000).map(|i| (i * i) % 613));
    let mut distances = LruDistances::new();
    for access in &trace {
        distances.reference(access.page);
    }
    let curve = distances.distances().curve();
    for memory in [1, 10, 100, 300, 613, 1000] {
        let usage = run("lru", memory, std::slice::from_ref(&trace))[0];
        assert_eq!(usage.misses, curve.misses(memory), "{memory}");
        assert_eq!(usage.first_touches, curve.misses(usize::MAX));
    }
}

#[test]
fn a_scan_drives_out_what_others_need() {
    // A small loop that is used slowly, beside a scan of memory that never returns.
    let small: Vec<_> = (0..3_000).map(|i| access(i % 50, 10_000)).collect();
    let scan = pages(0..50_000);
    let usages = run("lru", 100, &[small.clone(), scan]);
    assert!(usages[0].misses > 1_000, "{usages:?}");
    assert_eq!(usages[1].misses, 50_000);
    assert!(usages[1].mean_pages > 50.0, "{usages:?}");
    assert_eq!(run("lru", 100, &[small])[0].misses, 50);
}

#[test]
fn a_program_that_ends_gives_its_pages_back() {
    // The first ends long before the second, which then has all memory for its loop.
    let traces = [pages(0..10), pages((0..100_000).map(|i| i % 10))];
    let usages = run("lru", 10, &traces);
    assert!(usages[1].misses < 100, "{usages:?}");
    assert_eq!(usages[1].most_pages, 10);
}

#[test]
fn every_policy_can_serve_a_pool() {
    let names = [NAMES, OMNISCIENT].concat();
    let trace = |seed: u64| pages((0..5_000).map(move |i| (i * i * seed + i) % 97));
    let traces = [trace(3), trace(7), pages((0..5_000).map(|i| i % 60))];
    for (name, _) in names {
        let usages = run(name, 100, &traces);
        for usage in &usages {
            assert!(
                usage.misses > usage.first_touches && usage.misses < 5_000,
                "{name}: {usage:?}"
            );
        }
        assert!(usages.iter().all(|usage| usage.most_pages <= 100), "{name}: {usages:?}");
    }
}

#[test]
fn an_error_in_a_trace_is_passed_on() {
    let pool = Pool::new(Lru::new(), 10, 2, Costs::default());
    let good: Vec<Result<Access, &str>> = vec![Ok(access(1, 1)); 5];
    let bad = vec![Ok(access(1, 1)), Err("torn")];
    assert_eq!(pool.run(&mut [good.into_iter(), bad.into_iter()], |_| ()), Err("torn"));
}
