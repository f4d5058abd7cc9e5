//! What carries out simulations, one or several at once.

use farside_policy::prefetch::{NoPrefetch, Prefetcher};
use farside_policy::replacement::region::{RegionMap, RegionOptions};
use farside_policy::replacement::{
    PolicyVisitor, RegionSpecific, ReplacementPolicy, visit_by_name,
};
use farside_trace::{Access, PAGE_SIZE};

use crate::lru_sizes::{LruCounts, LruSizes};
use crate::path::Geometry;
use crate::simulation::{Costs, Memory, Outcome, Simulation};

/// Simulations that see the same accesses and may share work.
pub trait Engine: Send {
    /// The next accesses.
    fn feed(&mut self, accesses: &[Access]);

    /// The next accesses, of which policies see only some.
    fn feed_seen(&mut self, accesses: &[Access], seen: &[bool]);

    /// What came out of each simulation, now that all accesses are known.
    fn finish(self: Box<Self>) -> Vec<Outcome>;
}

impl<P: ReplacementPolicy, F: Prefetcher> Engine for Simulation<P, F> {
    fn feed(&mut self, accesses: &[Access]) {
        self.accesses(accesses);
    }

    fn feed_seen(&mut self, accesses: &[Access], seen: &[bool]) {
        for (access, seen) in accesses.iter().zip(seen) {
            if *seen {
                self.access(*access);
            } else {
                self.access_unseen(*access);
            }
        }
    }

    fn finish(self: Box<Self>) -> Vec<Outcome> {
        vec![self.outcome()]
    }
}

/// A policy, compiled together with the simulation, and no prefetcher; `None` if there is no such policy.
pub fn without_prefetch(policy: &str, memory: Memory, costs: Costs) -> Option<Box<dyn Engine>> {
    visit_by_name(policy, Start { prefetcher: NoPrefetch, memory, costs })
}

/// A policy with a prefetcher; `None` if there is no such policy.
pub fn with_prefetch(
    policy: &str,
    prefetcher: Box<dyn Prefetcher>,
    memory: Memory,
    costs: Costs,
) -> Option<Box<dyn Engine>> {
    visit_by_name(policy, Start { prefetcher, memory, costs })
}

/// The region-specific policy behind PATH's hardware, which hides just those accesses by which the policy
/// would know that pages are in constant use: it keeps as many pages as the hardware holds, if that is no
/// more than a quarter of the memory.
pub fn region_behind(
    hardware: &Geometry,
    prefetcher: Box<dyn Prefetcher>,
    memory: Memory,
    costs: Costs,
) -> Box<dyn Engine> {
    let held = hardware.sets * hardware.ways + hardware.filter;
    let options = RegionOptions { hot: held.min(memory.pages / 4), ..RegionOptions::default() };
    let policy = RegionSpecific::with_options(RegionMap::default(), options);
    Start { prefetcher, memory, costs }.visit(policy)
}

struct Start<F> {
    prefetcher: F,
    memory: Memory,
    costs: Costs,
}

impl<F: Prefetcher + 'static> PolicyVisitor for Start<F> {
    type Output = Box<dyn Engine>;

    fn visit<P: ReplacementPolicy + 'static>(self, policy: P) -> Box<dyn Engine> {
        Box::new(Simulation::new(policy, self.prefetcher, self.memory, self.costs))
    }
}

/// LRU without prefetching, with all sizes of memory at once.
pub struct LruEngine {
    sizes: LruSizes,
    costs: Costs,
    accesses: u64,
    data_accesses: u64,
}

impl LruEngine {
    /// Memories of the given sizes in pages, in ascending order.
    pub fn new(sizes: &[usize], costs: Costs) -> Self {
        Self { sizes: LruSizes::new(sizes), costs, accesses: 0, data_accesses: 0 }
    }

    fn outcome(&self, counts: LruCounts) -> Outcome {
        let LruCounts { misses, first_touches, written } = counts;
        let (faults, costs) = (misses - first_touches, &self.costs);
        // Nobody waits for the network but the program: every fetch finds it idle.
        let fetch_ns = costs.latency_ns + costs.byte_ns * PAGE_SIZE as f64;
        let work_ns = costs.access_ns * self.data_accesses as f64;
        let touch_ns = costs.first_touch_ns * first_touches as f64;
        let fault_ns = (costs.fault_ns + fetch_ns) * faults as f64;
        Outcome {
            accesses: self.accesses,
            misses,
            first_touches,
            fetched_bytes: faults * PAGE_SIZE as u64,
            written_bytes: written * PAGE_SIZE as u64,
            projected_time_ns: (work_ns + touch_ns + fault_ns).round() as u64,
            waited_ns: first_touches * costs.first_touch_ns as u64
                + faults * (costs.fault_ns as u64 + fetch_ns as u64),
            ..Outcome::default()
        }
    }
}

impl Engine for LruEngine {
    fn feed(&mut self, accesses: &[Access]) {
        self.accesses += accesses.len() as u64;
        self.data_accesses += accesses.iter().map(|access| u64::from(access.weight)).sum::<u64>();
        self.sizes.feed(accesses);
    }

    /// LRU at all sizes at once sees every access.
    fn feed_seen(&mut self, accesses: &[Access], _seen: &[bool]) {
        self.feed(accesses);
    }

    fn finish(self: Box<Self>) -> Vec<Outcome> {
        self.sizes.counts().into_iter().map(|counts| self.outcome(counts)).collect()
    }
}
