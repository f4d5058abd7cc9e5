//! A program that needs a share.

use farside_trace::PAGE_SIZE;

use crate::curve::Curve;
use crate::simulation::Costs;

/// What is known of a program: its curve, and what its work and its misses take.
#[derive(Clone, Debug)]
pub struct Program {
    curve: Curve,
    cold: u64,
    /// Run time with enough memory.
    plain_ns: f64,
    fault_ns: f64,
    least: usize,
}

impl Program {
    /// A program with `curve`, which makes `data_accesses` accesses of its own (records of the
    /// trace times their weights). Times are those of the timed model without prefetching.
    pub fn new(curve: Curve, data_accesses: u64, costs: &Costs) -> Self {
        let cold = curve.misses(usize::MAX);
        let work_ns = costs.access_ns * data_accesses as f64;
        Self {
            cold,
            plain_ns: work_ns + costs.first_touch_ns * cold as f64,
            fault_ns: costs.fault_ns + costs.latency_ns + costs.byte_ns * PAGE_SIZE as f64,
            curve,
            least: 1,
        }
    }

    /// The same program, whose share has at least `pages` pages; at least one.
    pub fn with_least(self, pages: usize) -> Self {
        Self { least: pages.max(1), ..self }
    }

    /// The curve.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// Different pages that it touches: its first touches.
    pub fn footprint(&self) -> u64 {
        self.cold
    }

    /// The smallest memory in which no page has to be fetched.
    pub fn enough(&self) -> usize {
        self.curve.steps().last().map_or(0, |(pages, _)| *pages)
    }

    /// Projected time with `pages` pages.
    pub fn time_ns(&self, pages: usize) -> f64 {
        self.plain_ns + self.fault_ns * (self.curve.misses(pages) - self.cold) as f64
    }

    /// Projected time when so many pages have to be fetched, as a multiple of that with enough memory; at least 1.
    pub fn slowdown_of(&self, faults: u64) -> f64 {
        match faults {
            0 => 1.0,
            faults => 1.0 + self.fault_ns * faults as f64 / self.plain_ns,
        }
    }
}

impl farside_sharing::Program for Program {
    fn least(&self) -> usize {
        self.least
    }

    /// First touches included.
    fn misses(&self, pages: usize) -> f64 {
        self.curve.misses(pages) as f64
    }

    fn slowdown(&self, pages: usize) -> f64 {
        self.slowdown_of(self.curve.misses(pages) - self.cold)
    }

    fn next_step(&self, pages: usize) -> Option<usize> {
        let steps = self.curve.steps();
        let behind = steps.partition_point(|(size, _)| *size <= pages);
        steps.get(behind).map(|(size, _)| *size)
    }
}
