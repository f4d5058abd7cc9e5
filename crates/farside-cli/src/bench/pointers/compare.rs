//! Runs in turn with all prefetchers.

use super::counted::Counted;
use super::parts::{Part, Ran, Subject};
use super::works::Work;
use super::{Bench, COMPARED, OURS, PARTNER};
use crate::bench::launch::Place;
use crate::bench::row::median;
use crate::bench::{Failure, warmup};

/// Local memory with room for everything.
const ALL: &str = "16G";

/// What was found of one prefetcher.
#[derive(Debug)]
pub(super) struct Figures {
    pub prefetch: &'static str,
    /// The medians of its parts.
    pub parts: Vec<Part>,
    /// The parts of the run in which all prefetched pages were watched, if there was one.
    pub watched: Vec<Part>,
}

impl Figures {
    /// Demand faults of a part.
    pub fn faults(&self, part: usize) -> f64 {
        self.parts[part].counted.demand_faults()
    }

    /// How many milliseconds a part took.
    pub fn ms(&self, part: usize) -> f64 {
        self.parts[part].seconds * 1e3
    }
}

/// Compares all prefetchers; every run has to print what a plain one prints.
pub(super) fn figures(
    bench: &Bench<'_>,
    work: &Work,
    subject: &dyn Subject,
) -> Result<Vec<Figures>, Failure> {
    bench.progress.say(format!("{}: a plain run", work.name));
    let plain = subject.run(bench, Place::Plain)?;
    let run = |how: &str, options: &[String]| -> Result<Ran, Failure> {
        bench.progress.say(format!("{}: {how}", work.name));
        let ran = subject.run(bench, Place::Far(options));
        let ran = ran.map_err(|why| Failure::new(format!("{how}: {why}")))?;
        if ran.result != plain.result || ran.parts.len() != work.parts.len() {
            return Err(Failure::new(format!("{how}: another result than that of a plain run")));
        }
        Ok(ran)
    };
    let all = ["--local", ALL].map(str::to_owned);
    let footprint = run("with room for everything", &all)?.footprint;
    warmup::before_run(footprint, bench.shared, &bench.scratch)?;
    let options = |prefetch: &str, more: &[&str]| -> Vec<String> {
        let local = ((footprint * work.local / 100) & !4095).to_string();
        let far = bench.args.network.far();
        let options = ["--local", &local, "--far", &far, "--prefetch", prefetch].map(str::to_owned);
        options.into_iter().chain(more.iter().map(|option| (*option).to_owned())).collect()
    };
    let mut runs = vec![Vec::new(); COMPARED.len()];
    let rounds = bench.shared.repetitions as usize;
    for round in 0..rounds {
        // Who goes first changes from round to round.
        for turn in 0..COMPARED.len() {
            let at = (round + turn) % COMPARED.len();
            let how = format!("--prefetch {}, round {} of {rounds}", COMPARED[at], round + 1);
            runs[at].push(run(&how, &options(COMPARED[at], &[]))?.parts);
        }
    }
    let mut all = Vec::new();
    for (prefetch, runs) in COMPARED.into_iter().zip(&runs) {
        let mut watched = Vec::new();
        if work.is_watched() && [OURS, PARTNER].contains(&prefetch) {
            let how = format!("--prefetch {prefetch}, all prefetched pages watched");
            watched = run(&how, &options(prefetch, &["--exact-prefetch-count"]))?.parts;
        }
        all.push(Figures { prefetch, parts: medians(runs, work.parts.len()), watched });
    }
    Ok(all)
}

/// The medians of the parts of some runs.
fn medians(runs: &[Vec<Part>], parts: usize) -> Vec<Part> {
    let of = |at: usize| {
        let seconds: Vec<f64> = runs.iter().map(|run| run[at].seconds).collect();
        let counted: Vec<Counted> = runs.iter().map(|run| run[at].counted).collect();
        Part { seconds: median(&seconds), counted: Counted::medians(&counted) }
    };
    (0..parts).map(of).collect()
}
