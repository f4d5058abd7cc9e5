//! Programs that follow tapes, and those that do not, at the same limit and behind the same
//! network.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use farside_sim::plan::PlanPolicy;

use super::figures::{Counter, Figures};
use super::programs::{Name, Ready};
use super::runs::{FarRun, Way};
use super::{Bench, MICROSET};
use crate::bench::Failure;
use crate::bench::network::Network;

/// How a program runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// By itself.
    Plain,
    /// On far memory, with room for all of it.
    AllLocal,
    /// By the tape that was planned by MIN.
    MinTape,
    /// By the tape that was planned by LRU, as in the paper.
    LruTape,
    /// With the default prefetcher.
    ReadAhead,
    /// Without any.
    NoPrefetch,
}

impl Mode {
    /// Its name in tables and charts.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::AllLocal => "all local",
            Self::MinTape => "MIN tape",
            Self::LruTape => "LRU tape",
            Self::ReadAhead => "read-ahead",
            Self::NoPrefetch => "no prefetch",
        }
    }
}

/// Under what conditions programs are run in the ways that are compared.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Setting<'a> {
    pub network: &'a Network,
    /// Local memory, in percent of the most that the program uses at one time.
    pub local: u64,
    /// Pages of the microset that was recorded with.
    pub microset: usize,
    /// Pages fetched ahead, if that is not left to Farside.
    pub lookahead: Option<u64>,
    /// Pages of a batch, if that is not left to Farside.
    pub batch: Option<u64>,
}

impl<'a> Setting<'a> {
    /// That with so much local memory, and everything else as it is by default.
    pub fn at(network: &'a Network, local: u64) -> Self {
        Self { network, local, microset: MICROSET, lookahead: None, batch: None }
    }

    /// The options of `farside plan` and `farside run` for its pace.
    pub fn pace(&self) -> Vec<String> {
        let options = [("--lookahead", self.lookahead), ("--batch", self.batch)];
        let given = options.into_iter().filter_map(|(name, pages)| Some((name, pages?)));
        given.flat_map(|(name, pages)| [name.to_owned(), pages.to_string()]).collect()
    }
}

/// What runs of a program in one setting came to.
#[derive(Clone, Debug)]
pub(super) struct Replayed<'a> {
    pub program: Name,
    pub setting: Setting<'a>,
    figures: Vec<(Mode, Figures)>,
}

impl Replayed<'_> {
    /// The figures of a way that was asked for.
    pub fn get(&self, mode: Mode) -> Result<&Figures, Failure> {
        let found = self.figures.iter().find(|(of, _)| *of == mode);
        let missing = || Failure::new(format!("no run of {} {}", self.program.text(), mode.text()));
        found.map(|(_, figures)| figures).ok_or_else(missing)
    }

    fn has(&self, modes: &[Mode]) -> bool {
        modes.iter().all(|mode| self.get(*mode).is_ok())
    }
}

impl<'a> Bench<'a> {
    /// Runs a program in these ways in turn, unless that was done before.
    pub(super) fn replay(
        &mut self,
        ready: &Ready,
        setting: Setting<'a>,
        modes: &[Mode],
    ) -> Result<Replayed<'a>, Failure> {
        let before = self.replayed.iter().find(|replayed| {
            replayed.program == ready.name && replayed.setting == setting && replayed.has(modes)
        });
        if let Some(replayed) = before {
            return Ok(replayed.clone());
        }
        let runs = self.far_runs(ready, &setting, modes)?;
        let ways = runs.iter().map(|run| run.as_ref().map_or(Way::Plain, Way::Far));
        let outcomes = self.runs.rounds(ready, &ways.collect::<Vec<_>>())?;
        let figures = modes.iter().copied().zip(outcomes.iter().map(|runs| Figures::of(runs)));
        let replayed = Replayed { program: ready.name, setting, figures: figures.collect() };
        self.replayed.push(replayed.clone());
        if let Some(file) = &self.args.details {
            write_details(file, &self.replayed)?;
        }
        Ok(replayed)
    }

    /// What is run in each of these ways; `None` for a plain run.
    fn far_runs(
        &self,
        ready: &Ready,
        setting: &Setting<'_>,
        modes: &[Mode],
    ) -> Result<Vec<Option<FarRun>>, Failure> {
        // Also for ways without a tape: it says how much local memory the percentage is.
        let min = self.tape(ready, setting, PlanPolicy::Min)?;
        let mut runs = Vec::new();
        for mode in modes {
            let mut options = vec!["--far".to_owned(), setting.network.far()];
            let limit = match mode {
                // More than the trace says: pages that are touched while nothing is recorded count,
                // too.
                Mode::AllLocal => 2 * min.limit * 100 / setting.local,
                _ => min.limit,
            };
            options.extend(["--local".to_owned(), limit.to_string()]);
            let tape = match mode {
                Mode::MinTape => Some(min.path.clone()),
                Mode::LruTape => Some(self.tape(ready, setting, PlanPolicy::Lru)?.path),
                _ => None,
            };
            if let Some(tape) = tape {
                options.extend(["--tape".to_owned(), tape.display().to_string()]);
                options.extend(setting.pace());
            }
            if *mode == Mode::NoPrefetch {
                options.extend(["--prefetch", "none"].map(str::to_owned));
            }
            let what = match mode {
                Mode::AllLocal => "with all memory local".to_owned(),
                _ => format!("{}, {} % local, {}", mode.text(), setting.local, setting.network),
            };
            runs.push((*mode != Mode::Plain).then_some(FarRun { what, options }));
        }
        Ok(runs)
    }
}

/// Writes all that was measured to a file, tab-separated.
pub(super) fn write_details(file: &Path, all: &[Replayed<'_>]) -> Result<(), Failure> {
    let text = details(all.iter());
    fs::write(file, text).map_err(|e| Failure::io(format!("cannot write {}", file.display()), &e))
}

/// A line for each way in which a program was run.
pub(super) fn details<'r>(all: impl Iterator<Item = &'r Replayed<'r>>) -> String {
    let mut text =
        "program\tnetwork\tlocal_percent\tmicroset\tlookahead\tbatch\tway\truns\twall_ms"
            .to_owned();
    for counter in Counter::ALL {
        let _ = write!(text, "\t{}", counter.name());
    }
    text.push('\n');
    let pages = |given: Option<u64>| given.map_or("default".to_owned(), |pages| pages.to_string());
    for Replayed { program, setting, figures } in all {
        let Setting { network, local, microset, lookahead, batch } = setting;
        let (lookahead, batch) = (pages(*lookahead), pages(*batch));
        for (mode, figures) in figures {
            let (mode, runs, ms) = (mode.text(), figures.rounds, figures.wall_ms);
            let _ = write!(
                text,
                "{}\t{network}\t{local}\t{microset}\t{lookahead}\t{batch}\t{mode}\t{runs}\t{ms:.1}",
                program.text()
            );
            for counter in Counter::ALL {
                let _ = write!(text, "\t{:.0}", figures.get(counter));
            }
            text.push('\n');
        }
    }
    text
}
