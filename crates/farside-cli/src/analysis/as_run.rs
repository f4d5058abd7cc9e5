//! Simulations of what `farside run` would count.

use std::path::Path;

use farside_policy::replacement::{self, ReplacementPolicy};
use farside_sim::page_map::{NONE, PageMap};
use farside_sim::paging::{FarMappings, Paging};
use farside_sim::simulation::{Costs, Outcome};
use farside_sim::sweep::Setup;
use farside_trace::{Access, Block, MappingChange, PageRange};
use rayon::prelude::*;

use super::trace::read_blocks;
use crate::Failure;

/// What a program touches of its far memory.
#[derive(Default)]
pub struct FarPages {
    seen: PageMap,
    pages: u64,
}

impl FarPages {
    /// Of the program whose trace is at `path`.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let mut found = Self::default();
        let mut far = FarMappings::new();
        read_blocks(path, "counting pages", |block| {
            each(block, &mut far, |step| {
                if let Step::Access(access) = step {
                    let place = found.seen.entry(access.page);
                    found.pages += u64::from(*place == NONE);
                    *place = 0;
                }
            });
        })?;
        if found.pages == 0 {
            let path = path.display();
            return Err(Failure::usage(format!("{path}: no access to what would be far memory")));
        }
        Ok(found)
    }

    /// Number of different pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}

/// Refuses what `farside run` cannot do.
fn check(setups: &[Setup]) -> Result<(), Failure> {
    for setup in setups {
        if !replacement::of_runs().any(|(name, _)| name == setup.replacement) {
            let names: Vec<_> = replacement::of_runs().map(|(name, _)| name).collect();
            return Err(Failure::usage(format!(
                "--as-run: farside run has no policy {:?}; it has {}",
                setup.replacement,
                names.join(", ")
            )));
        }
        if setup.prefetch != "none" {
            return Err(Failure::usage(format!(
                "--as-run: faults are foretold for --prefetch none only, not {}",
                setup.prefetch
            )));
        }
    }
    Ok(())
}

/// What comes of each setup, and the number of data accesses.
pub fn outcomes(
    path: &Path,
    far_pages: &FarPages,
    setups: &[Setup],
    costs: Costs,
) -> Result<(Vec<Outcome>, u64), Failure> {
    check(setups)?;
    let mut runs = Vec::new();
    for setup in setups {
        let policy = replacement::in_run(&setup.replacement)
            .ok_or_else(|| Failure::usage(format!("no policy {:?}", setup.replacement)))?;
        runs.push(Paging::new(policy, setup.memory.pages, costs, &far_pages.seen));
    }
    let mut far = FarMappings::new();
    let mut data_accesses = 0;
    let mut steps = Vec::new();
    read_blocks(path, "simulating", |block| {
        steps.clear();
        each(block, &mut far, |step| steps.push(step));
        data_accesses += steps.iter().map(Step::weight).sum::<u64>();
        runs.par_iter_mut().for_each(|run| steps.iter().for_each(|step| step.take(run)));
    })?;
    Ok((runs.iter().map(Paging::outcome).collect(), data_accesses))
}

/// What happens to far memory.
enum Step {
    Access(Access),
    /// What was there is gone, and there may be a mapping now.
    Changed {
        range: PageRange,
        is_mapping: bool,
    },
}

impl Step {
    fn weight(&self) -> u64 {
        match self {
            Self::Access(access) => u64::from(access.weight),
            Self::Changed { .. } => 0,
        }
    }

    fn take<P: ReplacementPolicy>(&self, run: &mut Paging<'_, P>) {
        match self {
            Self::Access(access) => run.access(*access),
            Self::Changed { range, is_mapping } => {
                run.release(*range);
                if *is_mapping {
                    run.appear(*range);
                }
            }
        }
    }
}

fn changed(far: &mut FarMappings, change: &MappingChange) -> Step {
    let range = far.apply(change);
    // The heap is many small things: a run keeps large ones elsewhere.
    let is_mapping = matches!(change, MappingChange::Appeared(it) if it.name == "[anon]");
    Step::Changed { range, is_mapping }
}

/// Gives what happens in a block to far memory to `take`, in order.
fn each(block: &Block, far: &mut FarMappings, mut take: impl FnMut(Step)) {
    let mut events = block.events.iter().peekable();
    for (number, access) in (block.first..).zip(&block.accesses) {
        while let Some(event) = events.next_if(|event| event.access <= number) {
            take(changed(far, &event.change));
        }
        if far.contains(access.page) {
            take(Step::Access(*access));
        }
    }
    for event in events {
        take(changed(far, &event.change));
    }
}
