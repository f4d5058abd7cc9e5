//! `farside bench paging`: far memory at 20 % local beside the kernel's own swap with the same limit,
//! one fault beside the least a fault can cost, and real programs at 100 % local beside plain runs.
//! All runs that are compared alternate, and every figure is a median.

use clap::{Args, ValueEnum};

use super::launch::{Outcome, Place, Program, Scratch, own};
use super::row::{Goal, Row, median};
use super::swap::Swap;
use super::workload::{self, Measured, Pass};
use super::{Failure, Shared, programs, push, skip, warmup};
use crate::progress::Progress;

/// Options of `farside bench paging`.
#[derive(Debug, Args)]
pub(crate) struct PagingArgs {
    /// Size of the array of random numbers
    #[arg(long, default_value_t = 512, value_name = "MIB",
          value_parser = clap::value_parser!(u32).range(32..=65536))]
    mib: u32,
    /// Share of the array that may be resident
    #[arg(long, default_value_t = 20, value_name = "PERCENT",
          value_parser = clap::value_parser!(u32).range(5..=95))]
    local: u32,
    /// Only these parts of the table
    #[arg(long, value_enum)]
    only: Vec<Section>,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Sequential and random passes beside kernel swap.
    Passes,
    /// One demand fault beside the raw mechanism.
    Fault,
    /// Two threads faulting at once beside one.
    Threads,
    /// Real programs at 100 % local beside plain runs.
    Programs,
}

impl PagingArgs {
    fn wants(&self, section: Section) -> bool {
        self.only.is_empty() || self.only.contains(&section)
    }

    /// Bytes of the array.
    fn bytes(&self) -> u64 {
        u64::from(self.mib) << 20
    }

    /// Bytes of the array that may be resident.
    fn limit(&self) -> u64 {
        (self.bytes() * u64::from(self.local) / 100) & !4095
    }
}

/// What a cgroup must hold besides the array: the program's own text and data, its stack, and the
/// kernel's page tables for it. Added to the partner's limit, in its favour.
pub(crate) const CGROUP_EXTRA: u64 = 4 << 20;

const PASSES: [(Pass, &str, f64); 4] = [
    (Pass::SeqRead, "sequential read", 8.0),
    (Pass::RandRead, "random read", 1.3),
    (Pass::SeqRw, "sequential read-write", 8.0),
    (Pass::RandRw, "random read-write", 2.2),
];

/// One paging benchmark under way.
struct Bench<'a> {
    args: &'a PagingArgs,
    shared: &'a Shared,
    progress: &'a Progress,
    scratch: Scratch,
    /// Largest resident peak seen so far as a share of its limit.
    peaks: Vec<f64>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &PagingArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let scratch = Scratch::new()?;
    let mut bench = Bench { args, shared, progress, scratch, peaks: Vec::new() };
    let mut rows = Vec::new();
    if args.wants(Section::Passes) {
        bench.passes(&mut rows)?;
    }
    if args.wants(Section::Fault) {
        push(&mut rows, "one demand fault, median", bench.fault()?);
    }
    if args.wants(Section::Threads) {
        rows.push(bench.threads()?);
    }
    if args.wants(Section::Programs) {
        programs::rows(&mut rows, shared, progress, &bench.scratch)?;
    }
    if let Some(peak) = bench.peaks.iter().copied().reduce(f64::max) {
        rows.push(Row {
            work: "peak resident bytes of far region, highest of all runs".into(),
            ours: peak * 100.0,
            partner: Some(100.0),
            unit: "% of limit",
            goal: Some(Goal::AtMost(1.0)),
        });
    }
    Ok(rows)
}

impl Bench<'_> {
    /// Options of `farside run` that give it the limit of this benchmark, and `more`.
    fn options(&self, more: &[&str]) -> Vec<String> {
        let mut options = vec!["--local".into(), self.args.limit().to_string()];
        options.extend(more.iter().map(|s| s.to_string()));
        options
    }

    fn workload(&self, passes: &[Pass], more: &[&str]) -> Result<Program, Failure> {
        let mut argv = vec![own()?.into_os_string(), "bench".into(), "workload".into()];
        argv.extend(["--mib".into(), self.args.mib.to_string().into()]);
        for pass in passes {
            argv.extend(["--pass".into(), pass.name().into()]);
        }
        argv.extend(more.iter().map(Into::into));
        Ok(Program::new(argv))
    }

    /// Runs the workload, on memory that the machine below has given already, and reads its answer.
    fn measure(&mut self, program: &Program, place: Place<'_>) -> Result<Vec<Measured>, Failure> {
        warmup::before_run(self.args.bytes(), self.shared, &self.scratch)?;
        let outcome = program.run(place, self.shared, &self.scratch)?;
        self.note_peak(&outcome);
        workload::parse(&outcome.stdout.head)
    }

    fn note_peak(&mut self, outcome: &Outcome) {
        let stats = outcome.stats.as_ref();
        let get = |name| stats.and_then(|stats| stats.get(name)).filter(|&v: &f64| v > 0.0);
        if let (Some(peak), Some(limit)) = (get("resident_peak_bytes"), get("limit_bytes")) {
            self.peaks.push(peak / limit);
        }
    }

    fn swap(&self) -> Option<Swap> {
        match Swap::set_up(self.args.limit() + CGROUP_EXTRA, 2 * self.args.bytes()) {
            Ok(swap) => Some(swap),
            Err(why) => {
                skip("kernel swap to zram", &why);
                None
            }
        }
    }

    /// The four passes, each by a program of its own that fills its array first: what a pass leaves
    /// resident is no burden, or help, to the next.
    fn passes(&mut self, rows: &mut Vec<Row>) -> Result<(), Failure> {
        let swap = self.swap();
        for (pass, name, goal) in PASSES {
            let (ours, theirs) = self.pass(pass, name, swap.as_ref())?;
            rows.push(Row {
                work: format!("{name}, {} % local, beside kernel swap", self.args.local),
                ours: median(&ours),
                partner: (!theirs.is_empty()).then(|| median(&theirs)),
                unit: "ns/access",
                goal: Some(Goal::Faster(goal)),
            });
        }
        Ok(())
    }

    /// The times of an access in one pass, on far memory and on swap in turn.
    fn pass(
        &mut self,
        pass: Pass,
        name: &str,
        swap: Option<&Swap>,
    ) -> Result<(Vec<f64>, Vec<f64>), Failure> {
        let program = self.workload(&[pass], &[])?;
        let options = self.options(&[]);
        self.progress.say(format!("{name}: plain run"));
        let plain = self.measure(&program, Place::Plain)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            let of = format!("{name}, round {round} of {}", self.shared.repetitions);
            self.progress.say(format!("{of}: far memory"));
            let run = self.measure(&program, Place::Far(&options))?;
            ours.extend(same_sums(&plain, &run)?);
            if let Some(swap) = swap {
                self.progress.say(format!("{of}: kernel swap"));
                let run = self.measure(&program, Place::Swap(swap))?;
                theirs.extend(same_sums(&plain, &run)?);
            }
        }
        Ok((ours, theirs))
    }

    /// What the program waits for one page, beside a fault that only copies a page.
    fn fault(&mut self) -> Result<Result<Row, String>, Failure> {
        let program = self.workload(&[Pass::RandRead], &["--latencies"])?;
        let options = self.options(&["--prefetch", "none"]);
        let own = own()?.into_os_string();
        let mib = self.args.mib.to_string();
        let raw =
            Program::new([own, "bench".into(), "rawfault".into(), "--mib".into(), mib.into()]);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            self.progress.say(format!("one fault, round {round} of {}", self.shared.repetitions));
            let run = self.measure(&program, Place::Far(&options))?;
            ours.extend(run.first().map(|measured| measured.fault_ns));
            let answer = match raw.run(Place::Plain, self.shared, &self.scratch) {
                Ok(outcome) => outcome.stdout.head,
                Err(failure) => return Ok(Err(failure.to_string())),
            };
            let ns = String::from_utf8_lossy(&answer).trim().parse();
            theirs.push(ns.map_err(|_| Failure::new("the raw fault gave no figure"))?);
        }
        Ok(Ok(Row {
            work: "one demand fault, median, beside raw fault + UFFDIO_COPY".into(),
            ours: median(&ours),
            partner: Some(median(&theirs)),
            unit: "ns",
            goal: Some(Goal::AtMost(1.25)),
        }))
    }

    /// The same number of random reads by two threads and by one.
    fn threads(&mut self) -> Result<Row, Failure> {
        let one = self.workload(&[Pass::RandRead], &[])?;
        let two = self.workload(&[Pass::RandRead], &["--threads", "2"])?;
        let options = self.options(&[]);
        let (mut single, mut double) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            self.progress.say(format!("two threads, round {round} of {}", self.shared.repetitions));
            for (program, figures) in [(&one, &mut single), (&two, &mut double)] {
                let run = self.measure(program, Place::Far(&options))?;
                figures.extend(run.first().map(|measured| measured.ns));
            }
        }
        Ok(Row {
            work: "random read, two threads at once, beside one".into(),
            ours: median(&double),
            partner: Some(median(&single)),
            unit: "ns/access",
            goal: Some(Goal::AtMost(1.0)),
        })
    }
}

/// The times of a run; one that read other numbers than the plain run is worth nothing, however fast.
fn same_sums(plain: &[Measured], other: &[Measured]) -> Result<Vec<f64>, Failure> {
    let sums = |run: &[Measured]| run.iter().map(|m| m.sum.clone()).collect::<Vec<_>>();
    if sums(plain) == sums(other) {
        Ok(other.iter().map(|measured| measured.ns).collect())
    } else {
        Err(Failure::new("the workload read other values than in the plain run: data was lost"))
    }
}
