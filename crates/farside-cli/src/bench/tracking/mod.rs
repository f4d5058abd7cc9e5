//! `farside bench tracking`: what it costs to see in which order a program uses its pages (PATH, section 6.5), and how far
//! the curve that comes of it is from the one that is known, and what is gained by adaptive replacement, and by prefetching
//! what came together before.
//!
//! Programs of the paper's kind run with half of their memory local, by turns with tracking and without. The curve is
//! that of programs whose curve follows from what they do.

mod build;
mod orders;
mod proximity;
mod replacement;
mod works;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use farside_pager::settings::LEAST_LIMIT;

use super::cache::Cache;
use super::launch::{Outcome, Place, Program, Scratch};
use super::network::Network;
use super::row::{Goal, Row, median};
use super::{Failure, Shared, skip, warmup};
use crate::progress::Progress;
use works::{WORKS, Work};

/// Local memory with room for everything.
const ALL: &str = "16G";

/// Least memory that is warmed up.
const LEAST_WARM: u64 = 16 << 20;

/// Options of `farside bench tracking`.
#[derive(Debug, Args)]
pub(crate) struct TrackingArgs {
    /// How large the programs' data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only these parts of the table
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Section>,
    /// How pages are tracked
    #[arg(long, value_name = "WHEN[:SHARE]", default_value = "pressure")]
    track: String,
    /// The network that far memory is put behind, by its latency and bandwidth
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: Network,
    /// Where the programs are built and kept [default: farside/bench in the user's cache directory]
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
}

/// How large the programs' data are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// Some 100 MB each
    Full,
    /// Some MB each, to try the benchmark out
    Small,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Run times with tracking and without.
    Overhead,
    /// Curves beside those that are known.
    Curves,
    /// Run times with adaptive replacement and with LRU.
    Replacement,
    /// Faults, bytes and run times with proximity prefetch and with read-ahead.
    Proximity,
}

/// A benchmark of tracking under way.
struct Bench<'a> {
    args: &'a TrackingArgs,
    shared: &'a Shared,
    progress: &'a Progress,
    scratch: Scratch,
    cache: Cache,
    rows: Vec<Row>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &TrackingArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let cache = Cache::at(args.cache.as_deref())?;
    let mut bench =
        Bench { args, shared, progress, scratch: Scratch::new()?, cache, rows: Vec::new() };
    for section in Section::value_variants() {
        if !args.only.is_empty() && !args.only.contains(section) {
            continue;
        }
        match section {
            Section::Overhead => bench.overheads(),
            Section::Curves => bench.curves(),
            Section::Replacement => bench.replacement(),
            Section::Proximity => bench.proximity(),
        }
    }
    Ok(bench.rows)
}

impl Bench<'_> {
    fn overheads(&mut self) {
        let mut ratios = Vec::new();
        for work in &WORKS {
            let name = work.name(self.args.scale);
            let text = format!("{name}, {} % local: run time with tracking", work.local);
            let goal = Some(Goal::AtMost(1.04));
            let program = match build::program(&self.cache, work.source) {
                Ok(path) => program(&path, work.arguments(self.args.scale)),
                Err(why) => {
                    skip(&name, &why);
                    continue;
                }
            };
            let options = [["--track", &self.args.track], ["--track", "off"]];
            match self.by_turns(work, &name, &program, options) {
                Ok([ours, partner]) => {
                    ratios.push(ours / partner);
                    let partner = Some(partner);
                    self.rows.push(Row { work: text, ours, partner, unit: "ms", goal });
                }
                Err(why) => self.rows.push(Row::failed(&text, "ms", goal, &why.to_string())),
            }
        }
        if !ratios.is_empty() {
            self.rows.push(Row {
                work: "the median of these".to_owned(),
                ours: median(&ratios),
                partner: Some(1.0),
                unit: "x",
                goal: Some(Goal::AtMost(1.02)),
            });
        }
    }

    /// Milliseconds with the first options and with the others, by turns.
    fn by_turns(
        &self,
        work: &Work,
        name: &str,
        program: &Program,
        options: [[&str; 2]; 2],
    ) -> Result<[f64; 2], Failure> {
        let [times] = self.measure(work, name, program, options, |ran| Ok([milliseconds(ran)]))?;
        Ok(times)
    }

    /// The medians of what `look` sees in runs with the first options and with the others, by turns.
    fn measure<const N: usize>(
        &self,
        work: &Work,
        name: &str,
        program: &Program,
        options: [[&str; 2]; 2],
        look: impl Fn(&Outcome) -> Result<[f64; N], Failure>,
    ) -> Result<[[f64; 2]; N], Failure> {
        self.progress.say(format!("{name}: a plain run"));
        let run = |place| program.run(place, self.shared, &self.scratch);
        let plain = run(Place::Plain)?;
        let local = self.share(program, &plain, work.local)?;
        let far = self.args.network.far();
        let options = options.map(|[name, value]| {
            ["--local", &local, "--far", &far, name, value].map(str::to_owned)
        });
        let mut seen = [const { [const { Vec::new() }; 2] }; N];
        for round in 0..self.shared.repetitions as usize {
            for turn in 0..2 {
                // Who goes first changes from round to round.
                let at = (round + turn) % 2;
                self.progress.say(format!("{name}, round {}", round + 1));
                let ran = run(Place::Far(&options[at]))?;
                same(&plain, &ran)?;
                for (seen, figure) in seen.iter_mut().zip(look(&ran)?) {
                    seen[at].push(figure);
                }
            }
        }
        Ok(seen.map(|of_both| of_both.map(|figures| median(&figures))))
    }

    /// So many per cent of what a program uses, in bytes; it has to print what a plain run does.
    fn share(&self, program: &Program, plain: &Outcome, percent: u64) -> Result<String, Failure> {
        let all = ["--local", ALL].map(str::to_owned);
        let ran = program.run(Place::Far(&all), self.shared, &self.scratch)?;
        same(plain, &ran)?;
        let bytes = ran.stats.and_then(|stats| stats.get("footprint_peak_bytes"));
        let bytes = bytes.ok_or_else(|| Failure::new("a run without counters"))? as u64;
        warmup::before_run(bytes.max(LEAST_WARM), self.shared, &self.scratch)?;
        Ok(((bytes * percent / 100) & !4095).max(LEAST_LIMIT).to_string())
    }
}

fn milliseconds(ran: &Outcome) -> f64 {
    ran.wall.as_secs_f64() * 1e3
}

fn program(path: &Path, arguments: &[&str]) -> Program {
    let path = path.to_string_lossy().into_owned();
    Program::new(std::iter::once(path).chain(arguments.iter().map(|it| (*it).to_owned())))
}

fn same(plain: &Outcome, ran: &Outcome) -> Result<(), Failure> {
    if ran.stdout == plain.stdout {
        return Ok(());
    }
    Err(Failure::new("a run printed something else than a plain one"))
}
