//! Where and when: the heat map, the phases and the regions of a trace.

use std::path::Path;

use farside_sim::heat::Heat;
use farside_sim::phases::{Phase, PhaseUse, phases};
use farside_sim::regions::{RegionCurves, RegionMisses, Regions};
use farside_trace::PageId;

use super::super::trace::read;
use super::find::Findings;
use crate::Failure;

/// Stretches of time and ranges of pages in the heat map.
const GRID: (usize, usize) = (400, 256);

/// Stretches of time and ranges of pages by which phases are told apart.
const PHASE_GRID: (usize, usize) = (128, 128);

/// Most phases.
const MOST_PHASES: usize = 12;

/// Most regions, besides what is put together as "other".
const MOST_REGIONS: usize = 32;

/// What was found.
pub struct Places {
    pub heat: Heat,
    pub regions: Regions,
    /// Accesses to each region.
    pub accesses: Vec<u64>,
    /// Misses of each policy in each region.
    pub misses: Vec<Vec<RegionMisses>>,
    pub phases: Vec<PhaseRow>,
}

/// A phase and what it touches.
pub struct PhaseRow {
    pub phase: Phase,
    pub pages: u64,
    /// The region it uses most, and its share of the accesses.
    pub main: Option<(usize, f64)>,
}

impl Places {
    /// The policy with the fewest misses in a region at all shares together.
    pub fn best(&self, region: usize) -> Option<&RegionMisses> {
        // Of equals the first: LRU, if it is among them.
        self.misses.get(region)?.iter().min_by_key(|row| row.sum())
    }
}

/// Reads the trace twice: phases are known when the heat map is.
pub fn place(trace: &Path, found: &Findings) -> Result<Places, Failure> {
    let regions = Regions::new(&found.ranks, &found.names, MOST_REGIONS);
    let count = regions.list().len();
    let mut heat = Heat::new(found.accesses, found.footprint(), GRID.0, GRID.1);
    let mut curves = RegionCurves::new(count);
    read(trace, "locating", |accesses| {
        for access in accesses {
            if let Some(rank) = found.ranks.rank(access.page) {
                heat.add(rank);
                curves.add(access.page, regions.of(rank));
            }
        }
    })?;
    let phases = phases(&heat.shrunk(PHASE_GRID.0, PHASE_GRID.1), MOST_PHASES);
    let mut used = PhaseUse::new(&phases, count);
    each_with_region(trace, "telling phases apart", found, &regions, |pages| {
        pages.iter().for_each(|(page, region)| used.add(*page, usize::from(*region)));
    })?;
    let misses = |(region, of)| curves.misses(region, of).to_vec();
    let row = |(number, phase): (usize, Phase)| PhaseRow {
        pages: used.pages()[number],
        main: used.main_region(number),
        phase,
    };
    Ok(Places {
        heat,
        accesses: (0..count).map(|region| curves.accesses(region)).collect(),
        misses: regions.list().iter().enumerate().map(misses).collect(),
        phases: phases.into_iter().enumerate().map(row).collect(),
        regions,
    })
}

/// Gives the pages of all accesses, and the regions they lie in, to `take`, some thousands at a time.
pub fn each_with_region(
    trace: &Path,
    what: &'static str,
    found: &Findings,
    regions: &Regions,
    mut take: impl FnMut(&[(PageId, u8)]),
) -> Result<(), Failure> {
    let mut placed = Vec::new();
    read(trace, what, |accesses| {
        placed.clear();
        placed.extend(accesses.iter().filter_map(|access| {
            let rank = found.ranks.rank(access.page)?;
            Some((access.page, regions.of(rank) as u8))
        }));
        take(&placed);
    })
}
