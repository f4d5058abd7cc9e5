//! Plans of traces, and their checks.

use std::collections::{BTreeMap, VecDeque};

use farside_sim::plan::{
    CheckError, Checker, Counts, Derivation, NextFetches, PlanError, PlanOptions, PlanPolicy,
    Planner,
};
use farside_trace::tape::{Step, TapeRegion};
use farside_trace::{Access, Block, PageId};
use proptest::prelude::*;

/// Steps by plan and thread.
pub type Steps = Vec<BTreeMap<u32, Vec<Step>>>;

#[allow(dead_code, reason = "not every test file plans for one thread")]
pub fn options(policy: PlanPolicy, capacities: &[u64], microset: usize) -> PlanOptions {
    PlanOptions { policy, capacities: capacities.to_vec(), threads: 1, microset }
}

pub fn plan(
    options: &PlanOptions,
    blocks: &[Block],
) -> Result<(Steps, Vec<TapeRegion>), PlanError> {
    let mut planned: Steps = vec![BTreeMap::new(); options.capacities.len()];
    let mut sink = |plan: usize, thread: u32, steps: &[Step]| {
        planned[plan].entry(thread).or_default().extend_from_slice(steps);
        Ok::<_, PlanError>(())
    };
    let mut planner = Planner::new(options)?;
    for block in blocks {
        planner.feed(block, &mut sink)?;
    }
    let regions = planner.finish(&mut sink)?;
    Ok((planned, regions))
}

/// Checks the steps of the plan of this number.
pub fn check(
    options: &PlanOptions,
    number: usize,
    steps: &BTreeMap<u32, Vec<Step>>,
    blocks: &[Block],
) -> Result<Counts, CheckError> {
    let mut steps: BTreeMap<u32, VecDeque<Step>> =
        steps.iter().map(|(thread, steps)| (*thread, steps.iter().copied().collect())).collect();
    let mut next = |thread: u32| {
        Ok::<_, CheckError>(steps.get_mut(&thread).and_then(|steps| steps.pop_front()))
    };
    let mut checker = Checker::new(options, number);
    for block in blocks {
        checker.feed(block, &mut next)?;
    }
    checker.finish(&mut next)
}

/// The steps of a thread with `extra` pages more.
#[allow(dead_code, reason = "not every test file derives")]
pub fn derive(policy: PlanPolicy, capacity: u64, extra: u64, steps: &[Step]) -> Vec<Step> {
    let mut derivation = match policy {
        PlanPolicy::Lru => Derivation::lru(capacity, extra),
        PlanPolicy::Min => {
            let mut next = NextFetches::new();
            assert!(steps.iter().all(|step| next.push(*step)));
            Derivation::min(capacity, extra, next)
        }
    };
    let mut derived = Vec::new();
    steps.iter().for_each(|step| derivation.step(*step, &mut derived));
    derived
}

/// Reads by thread 0.
#[allow(dead_code, reason = "not every test file plans lists of pages")]
pub fn block(pages: &[PageId]) -> Block {
    Block { first: 0, accesses: pages.iter().map(|p| Access::from(*p)).collect(), events: vec![] }
}

/// A trace as a recorder makes it: each page once in a microset of a thread.
#[allow(dead_code, reason = "not every test file plans microsets")]
pub fn microsets(raw: &[(u32, u64)], microset: usize) -> Vec<Access> {
    let mut current: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut accesses = Vec::new();
    for (thread, page) in raw {
        let pages = current.entry(*thread).or_default();
        if pages.contains(page) {
            continue;
        }
        if pages.len() == microset {
            pages.clear();
        }
        pages.push(*page);
        // Some are written, by no rule.
        let write = (accesses.len() as u64 * 7 + page) % 5 < 2;
        accesses.push(Access { thread: *thread, write, ..Access::from(PageId(*page)) });
    }
    accesses
}

/// Random uses: by thread and page, with much reuse.
#[allow(dead_code, reason = "not every test file is about any trace")]
pub fn uses(threads: u32, pages: u64) -> impl Strategy<Value = Vec<(u32, u64)>> {
    let page = prop_oneof![0..pages, 0..pages / 4 + 1];
    prop::collection::vec((0..threads, page), 0..600)
}
