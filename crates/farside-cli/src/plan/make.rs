//! Planning: the trace is read twice, once to know what it needs and once for all sizes together.

use std::path::{Path, PathBuf};

use farside_sim::plan::{Footprint, PlanError, PlanOptions, PlanPolicy, Planner, Survey};
use farside_trace::tape::{Step, TapeError, TapeInfo, TapeRegion, TapeSummary, TapeWriter};
use farside_trace::{Metadata, PAGE_SHIFT};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::writing::Tapes;
use crate::Failure;
use crate::analysis::trace::try_read_blocks;
use crate::traces::progress::bar;

/// By what rule tapes are planned.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct How {
    /// Which pages leave.
    pub policy: PlanPolicy,
    /// Pages that are fetched ahead of the program.
    pub lookahead: u64,
    /// Pages that are fetched at once.
    pub batch: u64,
}

impl Default for How {
    /// MIN, with the lookahead and the batch of the paper.
    fn default() -> Self {
        Self { policy: PlanPolicy::Min, lookahead: 400, batch: 100 }
    }
}

impl How {
    /// Pages to plan for with a local limit of so many: what is on its way in and out takes the rest, but never
    /// more than three quarters.
    pub fn capacity(&self, local_pages: u64) -> u64 {
        let moving = self.lookahead.saturating_add(self.batch);
        local_pages.saturating_sub(moving).max(local_pages.div_ceil(4))
    }
}

/// What is known of a trace before it is planned.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// What it needs.
    pub footprint: Footprint,
    /// What it says about itself.
    pub metadata: Metadata,
    /// Pages of a microset.
    pub microset: u64,
    /// Whether the end of the run is missing.
    pub partial: bool,
}

impl Surveyed {
    /// Whether its pages are those of a far region, which a run has.
    pub fn is_recorded(&self) -> bool {
        self.metadata.tool.as_deref() == Some("farside record")
    }

    fn info(&self, how: &How, local_pages: u64) -> TapeInfo {
        let of_metadata = |key: &str| self.metadata.other.get(key).and_then(|value| value.as_str());
        let mut other = vec![
            ("lookahead".to_owned(), json!(how.lookahead)),
            ("batch".to_owned(), json!(how.batch)),
            ("peak_pages".to_owned(), json!(self.footprint.peak)),
        ];
        if self.partial {
            other.push(("partial".to_owned(), json!(true)));
        }
        TapeInfo {
            page_shift: self.metadata.page_shift,
            program: self.metadata.program.clone(),
            arguments: self.metadata.arguments.clone(),
            build_id: of_metadata("build_id").map(str::to_owned),
            policy: how.policy.name().to_owned(),
            capacity: how.capacity(local_pages),
            local_pages,
            microset: self.microset,
            threads: self.footprint.threads.len().try_into().unwrap_or(u32::MAX),
            other: other.into_iter().collect(),
        }
    }
}

/// A tape to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Pages of the local limit.
    pub local_pages: u64,
    /// Where it goes.
    pub tape: PathBuf,
}

/// A tape that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Where it is.
    pub tape: PathBuf,
    /// Pages of the local limit.
    pub local_pages: u64,
    /// Pages it was planned for.
    pub capacity: u64,
    /// What is on it.
    pub summary: TapeSummary,
}

/// Finds out what the trace at `path` needs.
///
/// # Errors
/// If it cannot be read, has no accesses or cannot be planned: exit code 2.
pub fn survey(path: &Path) -> Result<Surveyed, Failure> {
    let refused = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let mut survey = Survey::new();
    let read = try_read_blocks(path, "counting pages", |block| {
        survey.feed(block).map_err(|error| refused(error.to_string()))
    })?;
    let metadata = read.metadata.unwrap_or_default();
    if metadata.page_shift != PAGE_SHIFT {
        let shift = metadata.page_shift;
        return Err(refused(format!("it has pages of 2^{shift} bytes; tapes are of 4 KiB pages")));
    }
    let microset = match metadata.other.get("microset") {
        None => 1,
        Some(value) => value.as_u64().filter(|pages| *pages > 0).ok_or_else(|| {
            refused(format!("its microset of {value} pages cannot be; record it anew"))
        })?,
    };
    let footprint = survey.finish();
    if footprint.records == 0 {
        return Err(refused("no accesses in it".to_owned()));
    }
    let said = metadata.other.get("partial").is_some_and(|partial| partial == &json!(true));
    Ok(Surveyed { footprint, metadata, microset, partial: read.cut || said })
}

/// What ends planning.
enum Problem {
    Trace(PlanError),
    /// A tape cannot be written.
    Writing,
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        Self::Trace(error)
    }
}

fn trace_failure(path: &Path, error: &PlanError) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}

fn tape_failure(error: &TapeError) -> Failure {
    match error {
        TapeError::Write { .. } => Failure::own(error.to_string()),
        _ => Failure::usage(error.to_string()),
    }
}

/// Plans all tapes that are wanted from the trace at `path`, which was surveyed before. What was at their places
/// stays there until each is whole.
///
/// # Errors
/// If the trace cannot be read or planned, or a tape cannot be made: exit code 2; if it cannot be written: 125.
pub fn plan_tapes(
    path: &Path,
    surveyed: &Surveyed,
    how: &How,
    wanted: &[Wanted],
) -> Result<Vec<Planned>, Failure> {
    let options = PlanOptions {
        policy: how.policy,
        capacities: wanted.iter().map(|tape| how.capacity(tape.local_pages)).collect(),
        threads: surveyed.footprint.threads.len().try_into().unwrap_or(u32::MAX),
        microset: usize::try_from(surveyed.microset).unwrap_or(usize::MAX),
    };
    let planner = Planner::new(&options).map_err(|error| trace_failure(path, &error))?;
    let create = |tape: &Wanted| {
        TapeWriter::create(&tape.tape, &surveyed.info(how, tape.local_pages))
            .map_err(|error| tape_failure(&error))
    };
    let writers = wanted.iter().map(create).collect::<Result<Vec<_>, _>>()?;
    let mut tapes = Tapes::begin(writers)
        .map_err(|error| Failure::own(format!("cannot start a thread: {error}")))?;
    let regions = plan_trace(path, planner, &mut tapes);
    let writers = tapes.end().map_err(|error| tape_failure(&error))?;
    let regions = regions?;
    let finish = |mut writer: TapeWriter| {
        regions.iter().try_for_each(|region| writer.region(*region))?;
        writer.finish()
    };
    let finished = writers.into_iter().zip(wanted).map(|(writer, wanted)| {
        let summary = finish(writer).map_err(|error| tape_failure(&error))?;
        let Wanted { local_pages, tape } = wanted.clone();
        Ok(Planned { tape, local_pages, capacity: how.capacity(local_pages), summary })
    });
    finished.collect()
}

/// Hands all steps over to `tapes`; the regions they lie in.
fn plan_trace(
    path: &Path,
    mut planner: Planner,
    tapes: &mut Tapes,
) -> Result<Vec<TapeRegion>, Failure> {
    let failure = |problem: Problem| match problem {
        Problem::Trace(error) => trace_failure(path, &error),
        Problem::Writing => Failure::own("a tape cannot be written"),
    };
    let mut sink = |plan: usize, thread: u32, steps: &[Step]| {
        tapes.push(plan, thread, steps).then_some(()).ok_or(Problem::Writing)
    };
    try_read_blocks(path, "planning", |block| planner.feed(block, &mut sink).map_err(failure))?;
    let spinner = spinner();
    let mut sink = |plan: usize, thread: u32, steps: &[Step]| {
        spinner.inc(steps.len() as u64);
        sink(plan, thread, steps)
    };
    let regions = planner.finish(&mut sink).map_err(failure);
    spinner.finish_and_clear();
    regions
}

/// Counts the steps that are written when the whole trace is known.
fn spinner() -> ProgressBar {
    let spinner = bar(None).with_message("planning");
    let style = "{spinner} {msg}: {human_pos} steps, {elapsed}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        spinner.set_style(style);
    }
    spinner
}
