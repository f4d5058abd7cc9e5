//! One trace planned, timed, in a process of its own: what the tape benchmark runs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use farside_sim::plan::{Footprint, PlanError, PlanOptions, PlanPolicy, Planner, Survey};
use farside_trace::tape::{Step, StepCounts, StepKind, TapeError, TapeInfo, TapeWriter};
use farside_trace::{Block, TraceError, TraceReader};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bench::Failure;

/// Options of the hidden `farside bench plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The trace.
    trace: PathBuf,
    /// By what rule pages are evicted.
    #[arg(long, value_parser = policy)]
    policy: PlanPolicy,
    /// Memory in percent of the most pages that have content at one time.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100))]
    local: u64,
    /// Write the steps to this tape.
    #[arg(long)]
    tape: Option<PathBuf>,
}

fn policy(name: &str) -> Result<PlanPolicy, String> {
    PlanPolicy::by_name(name).ok_or_else(|| format!("'{name}' is neither lru nor min"))
}

/// What the process answers with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Planned {
    /// Time of planning, in nanoseconds; reading the trace is not part of it, nor the survey before.
    pub ns: f64,
    /// Records in the trace.
    pub records: u64,
    /// Different pages in it.
    pub pages: u64,
    /// Pages that the plan is for.
    pub capacity: u64,
    /// Pages that the plan fetches.
    pub fetched: u64,
    /// Bytes of the tape, if one was asked for.
    pub tape_bytes: Option<u64>,
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Tape(#[from] TapeError),
    #[error(
        "the trace is partial: the disk was full; make room, or set TMPDIR to where there is some"
    )]
    Partial,
}

/// Where steps go.
struct Sink {
    counts: StepCounts,
    tape: Option<TapeWriter>,
}

/// Plans, and answers with an object.
pub(crate) fn run(args: &PlanArgs) -> Result<String, Failure> {
    let planned = plan(args).map_err(|e| Failure::new(e.to_string()))?;
    serde_json::to_string(&planned).map_err(|e| Failure::new(e.to_string()))
}

fn plan(args: &PlanArgs) -> Result<Planned, Problem> {
    let footprint = survey(args)?;
    let mut reader = TraceReader::open(&args.trace)?;
    let said = |key: &str| reader.metadata().and_then(|metadata| metadata.other.get(key));
    if said("partial").and_then(Value::as_bool) == Some(true) {
        return Err(Problem::Partial);
    }
    let microset = said("microset").and_then(Value::as_u64);
    let options = options(args, &footprint, microset.unwrap_or(1));
    let capacity = options.capacities[0];
    let tape = args.tape.as_ref().map(|path| TapeWriter::create(path, &info(&options)));
    let mut sink = Sink { counts: StepCounts::default(), tape: tape.transpose()? };
    let mut take = |_: usize, thread: u32, steps: &[Step]| sink.take(thread, steps);
    let mut planner = Planner::new(&options)?;
    let mut spent = Duration::ZERO;
    let mut block = Block::default();
    while reader.next_block(&mut block)? {
        let begin = Instant::now();
        planner.feed(&block, &mut take)?;
        spent += begin.elapsed();
    }
    let begin = Instant::now();
    let regions = planner.finish(&mut take)?;
    spent += begin.elapsed();
    let mut tape_bytes = None;
    if let Some(mut tape) = sink.tape {
        regions.into_iter().try_for_each(|region| tape.region(region))?;
        tape_bytes = Some(tape.finish()?.bytes);
    }
    Ok(Planned {
        ns: spent.as_nanos() as f64,
        records: footprint.records,
        pages: footprint.pages,
        capacity,
        fetched: sink.counts.fetches,
        tape_bytes,
    })
}

/// What has to be known of the trace beforehand.
fn survey(args: &PlanArgs) -> Result<Footprint, Problem> {
    let mut reader = TraceReader::open(&args.trace)?;
    let (mut survey, mut block) = (Survey::new(), Block::default());
    while reader.next_block(&mut block)? {
        survey.feed(&block)?;
    }
    Ok(survey.finish())
}

fn options(args: &PlanArgs, footprint: &Footprint, microset: u64) -> PlanOptions {
    let threads = footprint.threads.len().max(1) as u32;
    PlanOptions {
        policy: args.policy,
        capacities: vec![(footprint.peak * args.local / 100).max(threads.into())],
        threads,
        microset: usize::try_from(microset).unwrap_or(usize::MAX),
    }
}

fn info(options: &PlanOptions) -> TapeInfo {
    TapeInfo {
        policy: options.policy.name().into(),
        capacity: options.capacities[0],
        local_pages: options.capacities[0],
        microset: options.microset as u64,
        threads: options.threads,
        ..TapeInfo::default()
    }
}

impl Sink {
    fn take(&mut self, thread: u32, steps: &[Step]) -> Result<(), Problem> {
        for step in steps {
            match step.kind {
                StepKind::Touch => self.counts.touches += 1,
                StepKind::Fetch | StepKind::FetchToWrite => self.counts.fetches += 1,
                StepKind::Evict => self.counts.evicts += 1,
            }
        }
        match &mut self.tape {
            Some(tape) => Ok(steps.iter().try_for_each(|step| tape.push(thread, *step))?),
            None => Ok(()),
        }
    }
}
