//! What a decision changes, in words.

use farside_tune::Configuration;

use super::decide::{self, Decision};
use super::journal::{Curve, Step, Tuning};
use crate::options::Size;

/// A step with a decision; none if it is what is there already, or was tried.
pub fn step_of(tuning: &Tuning, decision: Decision) -> Option<Step> {
    let changes = changes(tuning.base(), &decision);
    let tried = |step: &Step| step.configuration == decision.configuration;
    if changes.is_empty() || tuning.steps.iter().any(tried) {
        return None;
    }
    let what = match (tuning.base(), decision.configuration.shares()) {
        (base, true) if !base.shares() => "sections that share memory",
        (base, _) if base.sections.is_empty() => "sections",
        _ => "sections once more",
    };
    let curve = |it: &decide::Decided| Curve {
        section: it.proposal.name.clone(),
        points: it.layouts.iter().map(|it| (it.capacity, it.counts.misses, it.seconds)).collect(),
    };
    Some(Step {
        curves: decision.sections.iter().map(curve).collect(),
        foreseen: Some(decision.seconds),
        ..Step::new(what, decision.configuration, changes)
    })
}

/// Capacities that differ by less than this share are the same.
const SAME: f64 = 0.1;

/// What a decision changes, and why.
fn changes(best: &Configuration, decision: &Decision) -> Vec<String> {
    let mut changes = Vec::new();
    for it in &decision.sections {
        let (name, taken) = (&it.proposal.name, it.taken);
        let shape = format!("lines of {}, {}", Size(taken.line), structure(taken.ways));
        let Some(old) = best.section(name) else {
            let pattern = it.proposal.pattern;
            let sites = it.proposal.sites.len();
            let bytes = Size(it.proposal.bytes);
            let capacity = Size(taken.capacity);
            changes.push(format!(
                "'{name}' ({sites} sites, {bytes}, {pattern}): {capacity} in {shape}"
            ));
            continue;
        };
        if (old.line, old.ways) != (taken.line, taken.ways) {
            changes.push(format!("'{name}': {shape}"));
        }
        let capacity = old.bytes();
        if (capacity as f64 - taken.capacity as f64).abs() > SAME * taken.capacity as f64 {
            changes.push(format!(
                "'{name}': {} instead of {}",
                Size(taken.capacity),
                Size(capacity)
            ));
        }
    }
    for new in &decision.configuration.sections {
        let before = best.section(&new.name).and_then(|old| old.with.as_ref());
        match (&new.with, before) {
            (with, before) if with.as_ref() == before => {}
            (Some(with), _) => {
                changes.push(format!("'{}' shares the memory of '{with}'", new.name))
            }
            (None, _) => changes.push(format!("'{}' has memory of its own", new.name)),
        }
    }
    let gone =
        best.sections.iter().filter(|old| decision.configuration.section(&old.name).is_none());
    changes.extend(gone.map(|old| format!("'{}' is paged again", old.name)));
    changes
}

/// A structure in words.
pub fn structure(ways: u32) -> String {
    match ways {
        0 => "any line anywhere".to_owned(),
        1 => "direct".to_owned(),
        ways => format!("sets of {ways}"),
    }
}
