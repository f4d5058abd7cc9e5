//! Runs that tell how sections do: those that measure themselves, and those that show which of two builds is faster.

use std::path::PathBuf;
use std::time::Duration;

use farside_tune::{Configuration, Profile, Proposal, Verdict, compare_in_turn, level};

use super::build::{Built, Variant};
use super::decide;
use super::journal::{Outcome, Step, Tuning, median};
use super::plain::plain_sections;
use super::search::Search;
use super::trial::{Broken, Ran, paged_bytes};
use crate::Failure;

/// How many times as long as in paged memory a run with sections that measure themselves may take, and how many seconds more,
/// before they have room for everything.
const MEASURING: (f64, f64) = (3.0, 5.0);

/// So many seconds for runs that do not tell anything are long. What is over sooner costs little to be run again.
pub(super) const LONG: f64 = 30.0;

/// What takes so many times as long as something else is not run again to know that it is slower, nor run to its end; and so
/// many seconds may be the start of the program.
const FAR: f64 = 2.0;
const STARTED: f64 = 0.5;

/// What a run with sections that measure themselves told.
pub(super) struct Measured {
    /// What they measured.
    pub profile: Profile,
    /// The file with their accesses.
    pub trace: PathBuf,
    /// Whether there was room for all they hold.
    pub has_room: bool,
    /// Bytes that the program used besides its sections, at most, if that can be told.
    pub paged: Option<u64>,
}

impl Search<'_> {
    /// A run with sections that measure themselves; with room for all they hold, if they are far too small, or otherwise
    /// unlike what the program needs, which is not known before.
    pub(super) fn measured_run(
        &mut self,
        sections: &Configuration,
        proposals: &[Proposal],
    ) -> Result<Measured, Broken> {
        let usual = self.trials.patience;
        let slowest = self.trials.paged.as_secs_f64();
        let enough = Duration::from_secs_f64(MEASURING.0 * slowest + MEASURING.1);
        self.trials.patience = Some(usual.map_or(enough, |usual| usual.min(enough)));
        let ran = self.measured_with(sections, self.room.local, "measures sections");
        self.trials.patience = usual;
        match ran {
            Err(Broken::Hangs) => {}
            ran => return ran,
        }
        let room = self.room.for_all();
        let sections = decide::first(self.candidates, proposals, &self.network, room);
        let what = "measures sections with room for everything";
        let measured = self.measured_with(&sections, room.local, what)?;
        Ok(Measured { has_room: true, ..measured })
    }

    fn measured_with(
        &mut self,
        sections: &Configuration,
        local: u64,
        what: &str,
    ) -> Result<Measured, Broken> {
        let count = sections.sections.len();
        self.progress.say(format!("builds with {count} sections that measure themselves"));
        let built = self.builder.build(Variant { sections, profiled: true });
        let built = built.map_err(|failure| Broken::Fails(failure.message))?;
        self.progress.say(what);
        let (ran, profile, trace) = self.trials.profile(&built, local)?;
        self.trials.insist(&ran, self.printed)?;
        let paged = paged_bytes(&ran.report);
        Ok(Measured { profile, trace, has_room: false, paged })
    }

    /// Builds a step and runs it in turn with the best so far, until it is known which is faster, or it cannot be
    /// known.
    pub(super) fn measure(
        &mut self,
        tuning: &mut Tuning,
        step: &mut Step,
        best: Option<&Built>,
    ) -> Result<Option<Built>, Failure> {
        if matches!(step.outcome, Outcome::Broken(_)) {
            return Ok(None);
        }
        let what = format!("step {}, {}", tuning.steps.len() + 1, step.what);
        self.progress.say(format!("{what}: builds"));
        let built =
            match self.builder.build(Variant { sections: &step.configuration, profiled: false }) {
                Ok(built) => built,
                Err(why) => {
                    step.outcome = Outcome::Broken(why.message);
                    return Ok(None);
                }
            };
        let notes = built.notes();
        tuning.learn(&step.configuration, &notes);
        if let Some(refused) = tuning.refused(&step.configuration, &notes) {
            step.outcome = refused;
            return Ok(None);
        }
        let has_sections = best.is_some();
        let best = best.unwrap_or(self.paged);
        // Times of another moment say little, unless they are far apart.
        let mut others = Vec::new();
        let level = level(looks(self.effort.repetitions));
        step.beside.clone_from(&tuning.times);
        for round in 1..=3 * self.effort.repetitions {
            self.progress.say(format!("{what}: run {round}"));
            // What was never seen to work with sections has the time to show that it does.
            let patience = has_sections.then(|| patience_beside(&tuning.times));
            if let Err(outcome) = self.run_step(&built, step, &tuning.times, patience) {
                step.outcome = outcome;
                return Ok(None);
            }
            if are_far_above(&tuning.times, &step.times) {
                step.outcome = Outcome::Kept;
                return Ok(Some(built));
            }
            let failed = |broken: Broken| {
                Failure::own(format!("what ran before does not any more: {broken}"))
            };
            others.push(self.one(best).map_err(failed)?);
            let is_open = compare_in_turn(&others, &step.times, level) == Verdict::Open;
            let is_worth_it = spent(&[&others, &step.times]) < LONG
                || promises(&others, &step.times, self.wanted(round));
            if round >= self.effort.repetitions && !(is_open && is_worth_it) {
                break;
            }
        }
        step.outcome = match compare_in_turn(&others, &step.times, level) {
            Verdict::Faster => Outcome::Kept,
            Verdict::Slower => Outcome::RolledBack,
            Verdict::Open => Outcome::Open,
        };
        step.beside.clone_from(&others);
        tuning.times = others;
        Ok(Some(built))
    }

    /// What a step has to look like gaining after so many rounds to be worth more of them, as a share of the time: anything
    /// at first, and later what it has to gain to be followed by others of its kind.
    fn wanted(&self, rounds: u32) -> f64 {
        if rounds < 2 * self.effort.repetitions { 0.0 } else { self.effort.gain }
    }

    /// Runs a step once, for no longer than `patience`, if there is one; or tells what comes of it. These are the times of
    /// the best so far.
    fn run_step(
        &mut self,
        built: &Built,
        step: &mut Step,
        best: &[f64],
        patience: Option<Duration>,
    ) -> Result<(), Outcome> {
        let usual = self.trials.patience;
        let cut = patience.filter(|patience| usual.is_none_or(|usual| *patience < usual));
        self.trials.patience = cut.or(usual);
        let ran = self.ran(built);
        self.trials.patience = usual;
        match (ran, cut) {
            (Ok(ran), _) => {
                step.times.push(ran.seconds);
                step.plain = plain_sections(&ran.report);
            }
            (Err(Broken::Hangs), Some(cut)) => {
                (step.times, step.is_cut) = (vec![cut.as_secs_f64()], true);
                return Err(Outcome::RolledBack);
            }
            (Err(why), _) => return Err(Outcome::Broken(why.to_string())),
        }
        match are_far_above(&step.times, best) {
            true => Err(Outcome::RolledBack),
            false => Ok(()),
        }
    }

    pub(super) fn one(&self, built: &Built) -> Result<f64, Broken> {
        self.ran(built).map(|ran| ran.seconds)
    }

    pub(super) fn ran(&self, built: &Built) -> Result<Ran, Broken> {
        let ran = self.trials.run(built, self.room.local)?;
        self.trials.insist(&ran, self.printed)?;
        Ok(ran)
    }
}

/// How often it is looked whether runs tell which of two is faster: with each from the third on, and not before all were made
/// that there are at least.
fn looks(repetitions: u32) -> u32 {
    3 * repetitions - repetitions.max(3) + 1
}

/// Seconds of all of these runs.
fn spent(runs: &[&[f64]]) -> f64 {
    runs.iter().copied().flatten().sum()
}

/// Whether a step whose runs took this long looks as if it gained more than a share of the time beside others. The first
/// run of a build tells the next ones what can be plain memory, and is slower.
fn promises(others: &[f64], step: &[f64], wanted: f64) -> bool {
    let step = if step.len() > 2 { &step[1..] } else { step };
    median(step) < (1.0 - wanted) * median(others)
}

/// How long a run may take that is no faster than others by far.
fn patience_beside(others: &[f64]) -> Duration {
    let slowest = others.iter().copied().fold(0.0, f64::max);
    Duration::from_secs_f64(FAR * slowest + STARTED)
}

/// Whether every one of some runs takes more than twice as long as the slowest of others: no more of them are needed.
pub(super) fn are_far_above(some: &[f64], others: &[f64]) -> bool {
    let slowest = others.iter().copied().fold(0.0, f64::max);
    !some.is_empty() && !others.is_empty() && some.iter().all(|it| *it > FAR * slowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_no_faster_needs_no_more_runs() {
        assert!(!promises(&[2.0, 3.0, 2.5], &[2.0, 2.6, 2.5, 2.5], 0.0));
        // The first run says little.
        assert!(promises(&[2.0, 3.0, 2.5], &[9.0, 2.4, 2.4, 2.9], 0.0));
        assert!(!promises(&[2.0, 3.0, 2.5], &[9.0, 2.46, 2.4, 2.9], 0.02));
        assert_eq!(spent(&[&[1.0, 2.0], &[4.0]]), 7.0);
    }

    #[test]
    fn looks_are_counted() {
        assert_eq!([1, 2, 3, 5].map(looks), [1, 4, 7, 11]);
    }

    #[test]
    fn what_is_far_above_needs_no_more_runs() {
        assert!(are_far_above(&[4.1, 5.0], &[1.0, 2.0]));
        assert!(!are_far_above(&[3.9, 5.0], &[1.0, 2.0]));
        assert!(!are_far_above(&[], &[1.0]));
        assert!(!are_far_above(&[1.0], &[]));
        assert!(are_far_above(&[patience_beside(&[1.0, 2.0]).as_secs_f64()], &[1.0, 2.0]));
    }
}
