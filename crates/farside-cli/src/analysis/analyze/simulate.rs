//! What has to be simulated: policies without a curve in one pass, and prefetchers.

use std::path::Path;

use farside_sim::regions::RegionReplays;
use farside_sim::simulation::{Costs, Memory, Outcome};
use farside_sim::sweep::{Setup, Sweep};
use serde::Serialize;

use super::super::names::prefetchers;
use super::super::trace::read;
use super::find::Findings;
use super::place::{Places, each_with_region};
use crate::Failure;

/// Shares of the footprint at which policies are simulated, in percent.
pub const SHARES: [usize; 10] = [2, 5, 10, 20, 30, 40, 50, 60, 75, 90];

/// Policies that are simulated there.
pub const POLICIES: [&str; 8] =
    ["fifo", "second-chance", "clock1", "2q", "arc", "lirs", "s3-fifo", "clock-pro"];

/// Belady's MIN, which is simulated there too if its curve is not known.
pub const OPT: &str = "opt";

/// Most accesses with which it can be: it takes four bytes for each.
const MOST_FOR_OPT: u64 = 1 << 28;

/// Policies that are simulated in each region by itself.
const REGION_POLICIES: [&str; 5] = ["second-chance", "2q", "arc", "lirs", "s3-fifo"];

/// The policy under which prefetchers are held against each other: the one that `farside run` has.
const UNDER: &str = "second-chance";

/// The prefetcher that knows what comes.
pub const KNOWING: &str = "tape";

/// Most pages that a prefetcher with a window fetches at once.
const WINDOW: u32 = 64;

/// Bytes that a simulation takes for each page of the trace, about.
const PAGE_BYTES: usize = 48;

/// Bytes that all simulations of one pass may take.
const PASS_BYTES: usize = 2 << 30;

/// Misses of a policy with a memory.
#[derive(Debug, Serialize)]
pub struct PolicyMisses {
    pub replacement: String,
    pub local_pages: usize,
    pub misses: u64,
}

/// What a prefetcher did with the compared memory.
#[derive(Debug, Serialize)]
pub struct PrefetcherRow {
    pub prefetch: String,
    pub replacement: String,
    pub local_pages: usize,
    pub misses: u64,
    pub demand_faults: u64,
    pub prefetched: u64,
    pub prefetch_used: u64,
    pub prefetch_late: u64,
    pub prefetch_unused: u64,
    pub coverage: f64,
    pub accuracy: f64,
    pub projected_time_ns: u64,
}

/// What came out.
pub struct Simulated {
    /// The size at which policies and prefetchers are held against each other.
    pub compared_pages: usize,
    pub policies: Vec<PolicyMisses>,
    pub prefetchers: Vec<PrefetcherRow>,
}

impl Simulated {
    /// Nothing was simulated.
    pub fn without(compared_pages: usize) -> Self {
        Self { compared_pages, policies: Vec::new(), prefetchers: Vec::new() }
    }

    /// The prefetcher with the least projected time of those that do not know what comes; of equals the
    /// simplest.
    pub fn best_prefetcher(&self) -> Option<&PrefetcherRow> {
        let guessing = self.prefetchers.iter().filter(|row| row.prefetch != KNOWING);
        guessing.min_by_key(|row| row.projected_time_ns)
    }

    /// What a prefetcher by that name did.
    pub fn prefetcher(&self, name: &str) -> Option<&PrefetcherRow> {
        self.prefetchers.iter().find(|row| row.prefetch == name)
    }
}

/// Simulations that fit into memory at once.
fn at_once(footprint: usize) -> usize {
    (PASS_BYTES / PAGE_BYTES / footprint.max(1)).max(2)
}

/// Policies at shares of the footprint and at `compared` pages, and prefetchers there. Reads the trace
/// as often as memory asks for.
pub fn simulate(
    trace: &Path,
    found: &Findings,
    compared: usize,
    costs: Costs,
) -> Result<Simulated, Failure> {
    let footprint = found.footprint() as usize;
    let setup = |replacement: &str, prefetch: &str, pages: usize| Setup {
        replacement: replacement.to_owned(),
        prefetch: prefetch.to_owned(),
        window: WINDOW,
        memory: Memory::new(pages),
    };
    let mut sizes: Vec<usize> = SHARES.iter().map(|share| footprint * share / 100).collect();
    sizes.push(compared);
    sizes.iter_mut().for_each(|pages| *pages = (*pages).max(1));
    sizes.sort_unstable();
    sizes.dedup();
    let mut setups: Vec<Setup> = Vec::new();
    let opt = found.opt.is_none() && found.accesses <= MOST_FOR_OPT;
    for policy in POLICIES.into_iter().chain(opt.then_some(OPT)) {
        setups.extend(sizes.iter().map(|pages| setup(policy, "none", *pages)));
    }
    let policies = setups.len();
    setups.extend(prefetchers().map(|(name, _)| setup(UNDER, name, compared)));
    let mut outcomes = Vec::new();
    for some in setups.chunks(at_once(footprint)) {
        let mut sweep = Sweep::new(some, costs).map_err(|e| Failure::own(e.to_string()))?;
        read(trace, "simulating", |accesses| sweep.feed(accesses))?;
        outcomes.extend(sweep.finish());
    }
    let both = |(setup, outcome): (Setup, Option<Outcome>)| outcome.map(|found| (setup, found));
    let mut rows: Vec<(Setup, Outcome)> =
        setups.into_iter().zip(outcomes).filter_map(both).collect();
    let prefetchers = rows.split_off(policies.min(rows.len()));
    Ok(Simulated {
        compared_pages: compared,
        policies: rows.into_iter().map(policy_row).collect(),
        prefetchers: prefetchers.into_iter().map(prefetcher_row).collect(),
    })
}

fn policy_row((setup, outcome): (Setup, Outcome)) -> PolicyMisses {
    PolicyMisses {
        replacement: setup.replacement,
        local_pages: setup.memory.pages,
        misses: outcome.misses,
    }
}

fn prefetcher_row((setup, outcome): (Setup, Outcome)) -> PrefetcherRow {
    PrefetcherRow {
        prefetch: setup.prefetch,
        replacement: setup.replacement,
        local_pages: setup.memory.pages,
        misses: outcome.misses,
        demand_faults: outcome.demand_faults(),
        prefetched: outcome.prefetched,
        prefetch_used: outcome.prefetch_used,
        prefetch_late: outcome.prefetch_late,
        prefetch_unused: outcome.prefetch_unused,
        coverage: outcome.coverage(),
        accuracy: outcome.accuracy(),
        projected_time_ns: outcome.projected_time_ns,
    }
}

/// Policies in each region by itself; adds to the misses of LRU and MRU, which are known.
pub fn policies_of_regions(
    trace: &Path,
    found: &Findings,
    places: &mut Places,
) -> Result<(), Failure> {
    let shares = farside_sim::regions::SHARES.len();
    let at_once = (at_once(found.footprint() as usize) / shares).max(1);
    for some in REGION_POLICIES.chunks(at_once) {
        let mut replays = RegionReplays::new(places.regions.list(), some);
        each_with_region(trace, "simulating regions", found, &places.regions, |pages| {
            replays.feed(pages);
        })?;
        for (region, misses) in places.misses.iter_mut().enumerate() {
            misses.extend(replays.misses(region));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_prefetcher_is_one_that_does_not_know_what_comes() {
        let row = |prefetch: &str, time: u64| {
            let memory = Memory::new(10);
            let setup = Setup {
                replacement: UNDER.to_owned(),
                prefetch: prefetch.to_owned(),
                window: WINDOW,
                memory,
            };
            prefetcher_row((setup, Outcome { projected_time_ns: time, ..Outcome::default() }))
        };
        let prefetchers =
            vec![row("none", 100), row("linux", 90), row("leap", 90), row(KNOWING, 50)];
        let found = Simulated { prefetchers, ..Simulated::without(10) };
        assert_eq!(found.best_prefetcher().map(|row| row.prefetch.as_str()), Some("linux"));
        assert_eq!(found.prefetcher(KNOWING).map(|row| row.projected_time_ns), Some(50));
    }
}
