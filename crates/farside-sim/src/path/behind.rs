//! Simulations whose policies know what the hardware records.

use farside_policy::prefetch::Prefetcher;
use farside_policy::replacement::ReplacementPolicy;
use farside_trace::Access;
use rayon::prelude::*;

use super::{Counts, Geometry, Path, SpacePage};
use crate::simulation::{Outcome, Simulation};

/// A simulation of any policy and any prefetcher.
pub type AnySimulation = Simulation<Box<dyn ReplacementPolicy>, Box<dyn Prefetcher>>;

/// Simulations behind the same hardware, on all processors. Whether a page is resident is checked on
/// every access; policies and prefetchers are told of those that are recorded, and of faults.
pub struct BehindPath {
    path: Path,
    simulations: Vec<AnySimulation>,
    recorded: Vec<bool>,
}

impl BehindPath {
    /// Simulations before their first access, and empty hardware.
    pub fn new(geometry: Geometry, simulations: Vec<AnySimulation>) -> Self {
        Self { path: Path::new(geometry), simulations, recorded: Vec::new() }
    }

    /// The program makes accesses.
    pub fn feed(&mut self, accesses: &[Access]) {
        let path = &mut self.path;
        let recorded =
            |access: &Access| path.access(SpacePage { space: 0, page: access.page }, |_| ());
        self.recorded.clear();
        self.recorded.extend(accesses.iter().map(recorded));
        let recorded = &self.recorded;
        self.simulations.par_iter_mut().for_each(|simulation| {
            for (access, recorded) in accesses.iter().zip(recorded) {
                if *recorded {
                    simulation.access(*access);
                } else {
                    simulation.access_unseen(*access);
                }
            }
        });
    }

    /// What the hardware counted.
    pub fn counts(&self) -> Counts {
        self.path.counts()
    }

    /// What came out of each simulation, in their order.
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.simulations.iter().map(Simulation::outcome).collect()
    }
}
