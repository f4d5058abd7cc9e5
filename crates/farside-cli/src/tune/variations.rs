//! What can only be tried: simpler structures, and sections that may be better off in paged memory (Mira, sections 3.1 and
//! 3.3).

use farside_tune::Configuration;

use super::journal::{Outcome, Step, Tuning};
use super::search::structure;

/// Variations of the best configuration that were not tried yet, the likeliest to gain something first.
pub fn variations(tuning: &Tuning) -> Vec<Step> {
    let best = &tuning.best;
    let simpler = best.sections.iter().filter_map(|section| {
        let ways = simpler(section.ways)?;
        let changes = format!(
            "'{}': {} instead of {}",
            section.name,
            structure(ways),
            structure(section.ways)
        );
        let mut configuration = best.clone();
        configuration
            .sections
            .iter_mut()
            .filter(|it| it.name == section.name)
            .for_each(|it| it.ways = ways);
        Some(step("a simpler structure", configuration, changes))
    });
    let without = best.sections.iter().map(|section| {
        let mut configuration = best.clone();
        configuration.sections.retain(|it| it.name != section.name);
        step("without a section", configuration, format!("'{}' is paged", section.name))
    });
    let without = without.filter(|it| !it.configuration.sections.is_empty());
    let tried = |step: &Step| tuning.steps.iter().any(|it| it.configuration == step.configuration);
    simpler.chain(without).filter(|step| !tried(step)).collect()
}

/// The next simpler structure: anywhere, sets of 16, half as many, direct.
fn simpler(ways: u32) -> Option<u32> {
    match ways {
        0 => Some(16),
        1 => None,
        ways => Some(ways / 2),
    }
}

fn step(what: &str, configuration: Configuration, changes: String) -> Step {
    Step {
        what: what.to_owned(),
        configuration,
        changes: vec![changes],
        foreseen: None,
        times: Vec::new(),
        outcome: Outcome::Open,
        curves: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farside_tune::Section;

    #[test]
    fn structures_become_simpler_step_by_step_and_nothing_is_tried_twice() {
        let section = |name: &str, ways| Section {
            name: name.to_owned(),
            sites: Vec::new(),
            capacity: 65536,
            line: 64,
            ways,
            ahead: None,
        };
        let best = Configuration { sections: vec![section("a", 0), section("b", 1)] };
        let mut tuning = Tuning { best, ..Tuning::default() };
        let all = variations(&tuning);
        let shapes: Vec<Vec<u32>> = all
            .iter()
            .map(|it| it.configuration.sections.iter().map(|it| it.ways).collect())
            .collect();
        assert_eq!(shapes, [vec![16, 1], vec![1], vec![0]]);
        tuning.steps.extend(all.into_iter().take(2));
        assert_eq!(variations(&tuning).len(), 1);
    }
}
