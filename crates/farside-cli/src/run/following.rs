//! What came of following a tape: the lines of the summary, the object in the statistics, and the line that says
//! that the program has left its tape.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::report::grouped;
use super::supervisor::complain;
use crate::figures::Figures;

/// The tape of a run, before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Where it is.
    pub tape: PathBuf,
    /// Its steps, as they are followed under the run's limit.
    pub steps: u64,
}

/// How far a run came on its tape, and how well that went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Following {
    /// The tape.
    pub tape: String,
    /// Its steps.
    pub steps: u64,
    /// Steps that the program has passed.
    pub steps_passed: u64,
    /// The same as a percentage.
    pub percent_passed: f64,
    /// Key pages whose use was a fault, which told where the program is.
    pub key_pages_hit: u64,
    /// Key pages that the program passed without a fault.
    pub key_pages_missed: u64,
    /// Faults that were waited for, though the tape should have brought the page in time.
    pub demand_faults: u64,
    /// Faults on pages that were on their way.
    pub late_hits: u64,
    /// Pages that were fetched and left, or were freed, without a known use.
    pub prefetched_unused: u64,
    /// How often a thread was taken to have left the tape.
    pub times_left: u64,
    /// Faults that the tape did not expect.
    pub faults_not_on_tape: u64,
    /// Faults that were where the tape says.
    pub faults_on_tape: u64,
    /// Far pages that the tape does not know, and that were waited for, or foreseen without it.
    pub pages_elsewhere: u64,
}

impl Following {
    /// Puts together what the counters say.
    pub fn new(followed: &Followed, figures: &Figures) -> Self {
        let passed = figures.get("tape_steps").min(followed.steps);
        Self {
            tape: followed.tape.display().to_string(),
            steps: followed.steps,
            steps_passed: passed,
            percent_passed: match followed.steps {
                0 => 100.0,
                steps => passed as f64 * 100.0 / steps as f64,
            },
            key_pages_hit: figures.get("tape_keys_met"),
            key_pages_missed: figures.get("tape_keys_missed"),
            demand_faults: figures.get("demand_faults"),
            late_hits: figures.get("late_hits"),
            prefetched_unused: figures.get("prefetched_unused"),
            times_left: figures.get("tape_lost"),
            faults_not_on_tape: figures.get("tape_missed"),
            faults_on_tape: figures.get("tape_met"),
            pages_elsewhere: figures.get("tape_unknown"),
        }
    }

    /// Whether the program does something else than its tape says, and not only here and there, as where threads meet:
    /// it has left it, and then done little of the rest, or mostly waited for what was not on it, or used as many other
    /// pages as one for each eight steps.
    pub fn is_outdated(&self) -> bool {
        self.times_left > 0
            && (self.percent_passed < 75.0
                || self.faults_not_on_tape > 2 * self.faults_on_tape
                || 8 * self.pages_elsewhere > self.steps_passed)
    }

    /// Lines for the summary.
    pub fn summary(&self) -> String {
        let left = match self.times_left {
            0 => "never left it".to_owned(),
            1 => "left it once".to_owned(),
            times => format!("left it {} times", grouped(times)),
        };
        format!(
            "farside: tape: passed {} of {} steps ({:.1}%); key pages: {} hit, {} missed\n\
             farside: tape: {left}; {} faults were not on it\n",
            grouped(self.steps_passed),
            grouped(self.steps),
            self.percent_passed,
            grouped(self.key_pages_hit),
            grouped(self.key_pages_missed),
            grouped(self.faults_not_on_tape),
        )
    }
}

/// Says once that the program has left its tape.
#[derive(Debug)]
pub struct Watch {
    wanted: bool,
}

impl Watch {
    /// Says so if it is `wanted`.
    pub fn new(wanted: bool) -> Self {
        Self { wanted }
    }

    /// Whether there may be something to say.
    pub fn is_on(&self) -> bool {
        self.wanted
    }

    /// Looks at the counters.
    pub fn look(&mut self, figures: &Figures) {
        if self.wanted && figures.get("tape_lost") > 0 {
            self.wanted = false;
            complain(
                "the program does not do what its tape says; until it does again, pages are fetched as \
                 without a tape",
            );
        }
    }
}
