//! What was done so far, kept in a file so that tuning can go on after it was stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use farside_tune::{Configuration, Users};
use serde::{Deserialize, Serialize};

use super::build::write;
use crate::Failure;

/// The version of what is understood here.
const VERSION: u32 = 1;

/// All that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    version: u32,
    /// How the program is built.
    pub build: String,
    /// How it is run.
    pub run: Vec<String>,
    /// Its far memory.
    pub far: Vec<String>,
    /// Bytes of far memory that it uses.
    pub footprint: u64,
    /// For each amount of local memory.
    pub tunings: Vec<Tuning>,
}

/// What was done for an amount of local memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Bytes of it.
    pub local: u64,
    /// Seconds of runs with all in paged memory.
    pub paged: Vec<f64>,
    /// Functions that suffer, and the share of their time that they wait, the first most.
    pub suffering: Vec<(String, f64)>,
    /// Large allocations that cannot go to sections.
    #[serde(default)]
    pub stays: Vec<Stays>,
    /// What was tried.
    pub steps: Vec<Step>,
    /// Sections of whose records loops use only some fields, as builds of what was tried have told.
    #[serde(default)]
    pub divisible: BTreeSet<String>,
    /// Sections of which loops send for what they find by indices and pointers, as such builds have told.
    #[serde(default)]
    pub gathered: BTreeSet<String>,
    /// Sections of which loops let lines leave first that they are through with, as such builds have told.
    #[serde(default)]
    pub leaving: BTreeSet<String>,
    /// Sections that several threads may use, as such builds have told.
    #[serde(default)]
    pub shared: BTreeSet<String>,
    /// Places and functions of allocations that stay in paged memory, though a section file names them.
    #[serde(default)]
    pub staying: BTreeSet<(String, String)>,
    /// The threads that use sections, as builds that measure themselves have told.
    #[serde(default)]
    pub users: BTreeMap<String, Users>,
    /// The best configuration.
    pub best: Configuration,
    /// Seconds of runs with it.
    pub times: Vec<f64>,
    /// Whether nothing more is to be gained.
    pub is_done: bool,
    /// Steps that it took until all others together gained next to nothing; see [`Tuning::steps_to_converge`].
    #[serde(default)]
    pub converged: usize,
}

/// An allocation that cannot go to a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stays {
    /// File and line.
    pub place: String,
    /// Most bytes at once.
    pub bytes: u64,
    /// Why.
    pub why: String,
}

/// Something that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What it is.
    pub what: String,
    /// The sections.
    pub configuration: Configuration,
    /// What has changed against what was there, and why.
    pub changes: Vec<String>,
    /// Seconds that were foreseen for sections and paged memory, if they were.
    pub foreseen: Option<f64>,
    /// Seconds of runs.
    pub times: Vec<f64>,
    /// Seconds of runs of the best before it, beside which it was run.
    #[serde(default)]
    pub beside: Vec<f64>,
    /// Whether a run was ended when it had taken so long, which is far longer than the best.
    #[serde(default)]
    pub is_cut: bool,
    /// Sections that were plain memory in its last run, since there was room for all that they hold.
    #[serde(default)]
    pub plain: BTreeSet<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// For each section the seconds that it would cost, by its bytes.
    pub curves: Vec<Curve>,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is faster.
    Kept,
    /// It is slower.
    RolledBack,
    /// It cannot be told whether it is faster.
    Open,
    /// It was not to be measured.
    Broken(String),
    /// It was not run: what was to be improved would stay in paged memory, for this reason.
    Stays(String),
}

/// What a section would cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The section.
    pub section: String,
    /// Bytes of local memory, lines that it misses, and seconds.
    pub points: Vec<(u64, f64, f64)>,
}

impl Journal {
    /// Nothing done yet.
    pub fn new(build: &str, run: Vec<String>, far: Vec<String>, footprint: u64) -> Self {
        let (version, build) = (VERSION, build.to_owned());
        Self { version, build, run, far, footprint, tunings: Vec::new() }
    }

    /// What was done before, if that was the same program.
    ///
    /// # Errors
    /// If it cannot be read, or is of something else.
    pub fn resume(
        directory: &Path,
        build: &str,
        run: &[String],
        far: &[String],
    ) -> Result<Self, Failure> {
        let file = file(directory);
        let name = file.display();
        let text = fs::read(&file).map_err(|error| {
            Failure::usage(format!(
                "there is nothing to resume; start without --resume: {name}: {error}"
            ))
        })?;
        let journal: Self = serde_json::from_slice(&text).map_err(|error| {
            Failure::usage(format!("cannot read {name}: {error}; start without --resume"))
        })?;
        if journal.version != VERSION {
            let version = journal.version;
            return Err(Failure::usage(format!(
                "{name} is of version {version}; start without --resume"
            )));
        }
        if journal.build != build || journal.run != run || journal.far != far {
            return Err(Failure::usage(format!(
                "{name} is of another program, build, or far memory; start without --resume, or name another --state"
            )));
        }
        Ok(journal)
    }

    /// Writes it down, all or nothing.
    pub fn save(&self, directory: &Path) -> Result<(), Failure> {
        let (file, draft) = (file(directory), directory.join("journal.draft"));
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| Failure::own(error.to_string()))?;
        write(&draft, &text)?;
        fs::rename(&draft, &file)
            .map_err(|error| Failure::own(format!("cannot write {}: {error}", file.display())))
    }

    /// What was done for an amount of local memory, which is begun if it was not.
    pub fn tuning(&mut self, local: u64) -> &mut Tuning {
        let place = self.tunings.iter().position(|it| it.local == local).unwrap_or_else(|| {
            self.tunings.push(Tuning { local, ..Tuning::default() });
            self.tunings.len() - 1
        });
        &mut self.tunings[place]
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join("journal.json")
}

/// The median of some times.
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
    }
}

impl Step {
    /// Something that was not tried yet.
    pub fn new(what: &str, configuration: Configuration, changes: Vec<String>) -> Self {
        Self {
            what: what.to_owned(),
            configuration,
            changes,
            foreseen: None,
            times: Vec::new(),
            beside: Vec::new(),
            is_cut: false,
            plain: BTreeSet::new(),
            outcome: Outcome::Open,
            curves: Vec::new(),
        }
    }

    /// How many times as fast it was as the best before it; none if it was not run to its end.
    pub fn gain(&self) -> Option<f64> {
        let gain = median(&self.beside) / median(&self.times);
        (!self.is_cut && gain.is_finite()).then_some(gain)
    }

    /// Seconds that one of its sections is foreseen to cost; none if they were not foreseen.
    pub fn foreseen_of(&self, section: &str) -> Option<f64> {
        let capacity = self.configuration.section(section)?.bytes();
        let curve = self.curves.iter().find(|it| it.section == section)?;
        let point = curve.points.iter().rev().find(|(bytes, ..)| *bytes <= capacity);
        point.map(|(.., seconds)| *seconds)
    }
}

impl Tuning {
    /// The configuration to go on from: the best, or, as long as nothing is faster than paged memory, the fastest
    /// that was measured.
    pub fn base(&self) -> &Configuration {
        let measured = self.steps.iter().filter(|it| !it.times.is_empty());
        let fastest =
            measured.min_by(|one, other| median(&one.times).total_cmp(&median(&other.times)));
        match fastest {
            Some(step) if self.best.sections.is_empty() => &step.configuration,
            _ => &self.best,
        }
    }

    /// How many times faster it is than with all in paged memory.
    pub fn gain(&self) -> f64 {
        median(&self.paged) / median(&self.times)
    }

    /// The number of the first step after which the program is as fast as at the end but for this share of its time; 0 if
    /// that is so from the beginning. Each step counts by what it gained beside the best of that moment, so that a machine
    /// that has become slower or faster since makes no difference.
    pub fn steps_to_converge(&self, share: f64) -> usize {
        if self.best.sections.is_empty() {
            return 0;
        }
        let mut gained = 1.0;
        let kept = |(_, step): &(usize, &Step)| step.outcome == Outcome::Kept;
        let steps = self.steps.iter().enumerate().filter(kept).rev();
        let last = steps.map(|(at, step)| {
            gained *= step.gain().unwrap_or(f64::INFINITY);
            (at + 1, gained)
        });
        let mut last = last.skip_while(|(_, gained)| 1.0 / gained >= 1.0 - share);
        last.next().map_or(0, |(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of which each was kept and so many times as fast as what was before, or not kept.
    fn tuned(gains: &[Option<f64>]) -> Tuning {
        let section = serde_json::json!({ "name": "a", "sites": [], "capacity": 4096, "line": 64, "ways": 1 });
        let sections = vec![serde_json::from_value(section).unwrap()];
        let best = Configuration { sections, ..Configuration::default() };
        let step = |(at, gain): (usize, &Option<f64>)| {
            // The machine is slower each time.
            let seconds = 1.0 + at as f64;
            Step {
                times: vec![seconds],
                beside: vec![seconds * gain.unwrap_or(0.5)],
                outcome: gain.map_or(Outcome::RolledBack, |_| Outcome::Kept),
                ..Step::new("lines", best.clone(), Vec::new())
            }
        };
        let steps = gains.iter().enumerate().map(step).collect();
        Tuning { steps, best, ..Tuning::default() }
    }

    #[test]
    fn tuning_has_converged_when_the_rest_gains_next_to_nothing() {
        let converged = |gains: &[Option<f64>]| tuned(gains).steps_to_converge(0.02);
        assert_eq!(converged(&[]), 0);
        assert_eq!(converged(&[None, None]), 0);
        assert_eq!(converged(&[Some(3.0), None, Some(1.1), Some(1.01), None]), 3);
        // Little by little it is more than that.
        assert_eq!(converged(&[Some(3.0), Some(1.01), None, Some(1.011)]), 2);
        assert_eq!(converged(&[Some(1.01)]), 0);
        let mut nothing = tuned(&[Some(3.0)]);
        nothing.best = Configuration::default();
        assert_eq!(nothing.steps_to_converge(0.02), 0);
        // A step of which it is not known what it gained is none to leave out.
        let mut unknown = tuned(&[Some(3.0), Some(1.01)]);
        unknown.steps[1].beside.clear();
        assert_eq!(unknown.steps_to_converge(0.02), 2);
    }
}
