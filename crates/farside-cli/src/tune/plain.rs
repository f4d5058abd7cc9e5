//! Sections that have room for all that they hold, and so are plain memory: nothing is looked up there, or comes and goes, so
//! that lines, structures and what is sent for make no difference.

use std::collections::BTreeSet;

use farside_tune::{Configuration, Layout, Proposal, Section};
use serde_json::Value;

use super::journal::{Step, Tuning};

/// The step in which they are paged.
pub const PAGED: &str = "no sections for what has room";

/// Sections of a run that were plain memory.
pub fn plain_sections(report: &Value) -> BTreeSet<String> {
    let sections = report["sections"].as_array().map_or(&[][..], Vec::as_slice);
    let plain = sections.iter().filter(|it| it["plain"] == true);
    plain.filter_map(|it| it["name"].as_str()).map(str::to_owned).collect()
}

impl Tuning {
    /// Those of [what is gone on from](Tuning::base), as its last run has told.
    pub fn plain(&self) -> BTreeSet<String> {
        let base = self.base();
        let step = self.steps.iter().rev().find(|it| it.configuration == *base);
        step.map(|it| it.plain.clone()).unwrap_or_default()
    }
}

/// All of them paged, if others are sections: the program uses them as it does all memory then, without a look at what an address
/// is of. None if that was tried, or there are none.
pub fn without_sections(tuning: &Tuning) -> Option<Step> {
    let (base, plain) = (tuning.base(), tuning.plain());
    let is_alone = |name: &str| {
        base.sections
            .iter()
            .all(|it| it.with.as_deref() != Some(name) && (it.name != name || it.with.is_none()))
    };
    let names: Vec<&String> = plain.iter().filter(|name| is_alone(name)).collect();
    let configuration = names.iter().fold(base.clone(), |rest, name| rest.without(name));
    let is_tried = tuning.steps.iter().any(|it| it.configuration == configuration);
    if names.is_empty() || configuration.sections.is_empty() || is_tried {
        return None;
    }
    let words = |name: &&String| format!("'{name}' has room, and is paged");
    Some(Step::new(PAGED, configuration, names.iter().map(words).collect()))
}

/// A layout for a proposal, with the lines and the structure that it has in `latest` if it is one of the `plain` sections there
/// and stays one.
pub fn as_before(
    taken: Layout,
    proposal: &Proposal,
    latest: &Configuration,
    plain: &BTreeSet<String>,
) -> Layout {
    let stays = plain.contains(&proposal.name) && taken.capacity >= proposal.bytes;
    match latest.section(&proposal.name).filter(|it| stays && it.with.is_none()) {
        Some(Section { line, ways, .. }) => Layout { line: *line, ways: *ways, ..taken },
        None => taken,
    }
}

#[cfg(test)]
mod tests {
    use farside_tune::{Counts, Pattern};

    use super::*;

    fn configuration(line: u64) -> Configuration {
        let section = serde_json::json!({ "name": "a", "sites": [], "capacity": 65536, "line": line, "ways": 2 });
        let sections = vec![serde_json::from_value(section).unwrap()];
        Configuration { sections, ..Configuration::default() }
    }

    #[test]
    fn plain_sections_are_those_of_the_last_run() {
        let report = serde_json::json!({ "sections": [
            { "name": "a", "plain": true }, { "name": "b", "plain": false }, { "name": "c" },
        ] });
        assert_eq!(plain_sections(&report), ["a".to_owned()].into());
        assert!(plain_sections(&serde_json::json!({})).is_empty());
        let best = configuration(64);
        let step = |line, plain: &[&str]| Step {
            plain: plain.iter().map(|it| (*it).to_owned()).collect(),
            ..Step::new("sections", configuration(line), Vec::new())
        };
        let steps = vec![step(64, &["a"]), step(128, &["b"])];
        assert_eq!(Tuning { steps, best, ..Tuning::default() }.plain(), ["a".to_owned()].into());
        assert!(Tuning::default().plain().is_empty());
    }

    #[test]
    fn what_has_room_is_paged_if_that_is_faster() {
        let mut best = configuration(64);
        let other = Section { name: "b".to_owned(), ..best.sections[0].clone() };
        best.sections.push(other);
        (best.sections[0].holds, best.paged) = (1000, 24);
        let step = |plain: &[&str]| Step {
            plain: plain.iter().map(|it| (*it).to_owned()).collect(),
            ..Step::new("sections", best.clone(), Vec::new())
        };
        let tuning = |plain: &[&str], best: &Configuration| Tuning {
            steps: vec![Step { configuration: best.clone(), ..step(plain) }],
            best: best.clone(),
            ..Tuning::default()
        };
        let mut one = tuning(&["a"], &best);
        let paged = without_sections(&one).expect("a step");
        let names: Vec<&str> =
            paged.configuration.sections.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((names, paged.configuration.paged), (vec!["b"], 1024));
        one.steps.push(paged);
        assert_eq!(without_sections(&one), None, "it was tried");
        assert_eq!(without_sections(&tuning(&[], &best)), None);
        assert_eq!(without_sections(&tuning(&["a", "b"], &best)), None, "nothing would be left");
        let mut shared = best.clone();
        shared.sections[1].with = Some("a".to_owned());
        assert_eq!(without_sections(&tuning(&["a"], &shared)), None, "another one has its memory");
    }

    #[test]
    fn what_stays_plain_keeps_its_lines() {
        let proposal = Proposal {
            name: "a".to_owned(),
            sites: Vec::new(),
            pattern: Pattern::Random { granularity: 64, at_once: 1 },
            bytes: 60_000,
        };
        let layout = |capacity| Layout {
            line: 512,
            ways: 1,
            capacity,
            counts: Counts::default(),
            seconds: 1.0,
        };
        let line_of = |capacity, plain: &[&str]| {
            let plain = plain.iter().map(|it| (*it).to_owned()).collect();
            let taken = as_before(layout(capacity), &proposal, &configuration(64), &plain);
            (taken.line, taken.ways)
        };
        assert_eq!(line_of(65536, &["a"]), (64, 2));
        assert_eq!(line_of(65536, &["b"]), (512, 1), "it is not plain");
        assert_eq!(line_of(32768, &["a"]), (512, 1), "it would not stay so");
    }
}
