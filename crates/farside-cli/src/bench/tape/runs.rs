//! Runs of the programs: in turn, on warm memory, all with the same output.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::programs::{Name, Ready};
use crate::bench::launch::{Outcome, Output, Place, Scratch, farside};
use crate::bench::row::median;
use crate::bench::{Failure, Shared, skip, warmup};
use crate::progress::Progress;

/// Most memory that is touched before a run, in bytes of a program: two and a half times that is
/// touched.
const MOST_WARMED: u64 = 2 << 30;

/// Once runs that are compared took so long together they are not repeated: what takes minutes tells
/// without that.
const PATIENCE: Duration = Duration::from_secs(300);

/// How a program runs.
#[derive(Copy, Clone)]
pub(super) enum Way<'a> {
    /// By itself, all memory local.
    Plain,
    /// Under `farside record`.
    Recorded(&'a Recording),
    /// Under `farside run`.
    Far(&'a FarRun),
}

/// What `farside record` is asked for.
pub(super) struct Recording {
    /// Pages of a microset.
    pub microset: usize,
    /// The trace; one that is there is replaced.
    pub trace: PathBuf,
}

/// What `farside run` is asked for.
pub(super) struct FarRun {
    /// In words.
    pub what: String,
    /// Its options.
    pub options: Vec<String>,
}

/// Carries out runs.
pub(super) struct Runs<'a> {
    pub shared: &'a Shared,
    pub progress: &'a Progress,
    pub scratch: Scratch,
    /// What each program printed when it first ran, by itself.
    printed: RefCell<HashMap<&'static str, Output>>,
}

impl<'a> Runs<'a> {
    /// Before the first run.
    pub fn new(shared: &'a Shared, progress: &'a Progress) -> Result<Self, Failure> {
        let scratch = Scratch::new()?;
        Ok(Self { shared, progress, scratch, printed: RefCell::default() })
    }

    /// The trace of a program in the directory for work, and how it is made.
    pub fn recording(&self, name: Name, microset: usize) -> Recording {
        Recording { microset, trace: self.scratch.join(&format!("{}-{microset}.fpt", name.text())) }
    }

    /// Runs a program once, and by itself before that if it has not run yet.
    ///
    /// # Errors
    /// Also if it prints something else than by itself.
    pub fn run(&self, ready: &Ready, way: Way<'_>) -> Result<Outcome, Failure> {
        let first = !self.printed.borrow().contains_key(ready.name.text());
        if first && !matches!(way, Way::Plain) {
            self.run(ready, Way::Plain)?;
        }
        warmup::before_run(ready.bytes.min(MOST_WARMED), self.shared, &self.scratch)?;
        let (before, place) = match way {
            Way::Plain => (Vec::new(), Place::Plain),
            Way::Recorded(recording) => (self.recorder(recording)?, Place::Plain),
            Way::Far(run) => (Vec::new(), Place::Far(&run.options)),
        };
        let outcome = ready.program(before).run(place, self.shared, &self.scratch)?;
        let name = ready.name.text();
        let mut printed = self.printed.borrow_mut();
        let expected = printed.entry(name).or_insert_with(|| outcome.stdout.clone());
        if *expected == outcome.stdout {
            return Ok(outcome);
        }
        let text = |output: &Output| String::from_utf8_lossy(&output.head).trim().to_owned();
        let (was, is) = (text(expected), text(&outcome.stdout));
        Err(Failure::new(format!("{name} printed {is:?} {}, and {was:?} before", way.describe())))
    }

    /// Medians of a figure of a program that runs in two ways in turn.
    pub fn compare(
        &self,
        ready: &Ready,
        ours: Way<'_>,
        partner: Way<'_>,
        figure: impl Fn(&Outcome) -> f64,
    ) -> Result<(f64, f64), Failure> {
        let outcomes = self.rounds(ready, &[ours, partner])?;
        let figures = |runs: &[Outcome]| runs.iter().map(&figure).collect::<Vec<_>>();
        Ok((median(&figures(&outcomes[0])), median(&figures(&outcomes[1]))))
    }

    /// What comes of a program that runs in these ways in turn, for each of them.
    pub fn rounds(&self, ready: &Ready, ways: &[Way<'_>]) -> Result<Vec<Vec<Outcome>>, Failure> {
        let mut outcomes: Vec<Vec<Outcome>> = ways.iter().map(|_| Vec::new()).collect();
        let begin = Instant::now();
        for round in 1..=self.shared.repetitions {
            if begin.elapsed() > PATIENCE {
                let rounds = format!("rounds of {} from the {round}th on", ready.name.text());
                skip(&rounds, "those before took more than five minutes");
                break;
            }
            // Who goes first changes from round to round.
            for turn in (0..ways.len()).rev() {
                let turn = (turn + round as usize - 1) % ways.len();
                self.progress.say(format!(
                    "{} {}, round {round} of {}",
                    ready.name.text(),
                    ways[turn].describe(),
                    self.shared.repetitions
                ));
                outcomes[turn].push(self.run(ready, ways[turn])?);
            }
        }
        Ok(outcomes)
    }

    /// The command that records what follows it.
    fn recorder(&self, recording: &Recording) -> Result<Vec<OsString>, Failure> {
        Ok(vec![
            farside(self.shared)?.into_os_string(),
            "record".into(),
            "--quiet".into(),
            "--microset".into(),
            recording.microset.to_string().into(),
            "-o".into(),
            recording.trace.clone().into_os_string(),
            "--".into(),
        ])
    }
}

impl<'a> Way<'a> {
    fn describe(self) -> &'a str {
        match self {
            Self::Plain => "by itself",
            Self::Recorded(_) => "under farside record",
            Self::Far(run) => &run.what,
        }
    }
}

/// The time of a run, in milliseconds.
pub(super) fn wall_ms(outcome: &Outcome) -> f64 {
    outcome.wall.as_secs_f64() * 1e3
}

/// Bytes of a file.
pub(super) fn bytes_of(path: &Path) -> Result<u64, Failure> {
    let found = std::fs::metadata(path);
    found.map(|file| file.len()).map_err(|e| Failure::io(path.display(), &e))
}
