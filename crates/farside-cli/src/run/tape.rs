//! The tape of a run: read, fitted to the local limit, and prepared for the pager.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use farside_pager::settings::Limit;
use farside_sim::plan::{Derivation, NextFetches, PlanPolicy};
use farside_trace::PAGE_SIZE;
use farside_trace::tape::{Step, StepKind, TapeError, TapeReader};
use farside_wire::tape_image::{Action, Builder, PAGES, Pace as Settled, Region};

use super::following::Followed;
use crate::Failure;
use crate::options::{Local, Pace, Size};
use crate::tapes::build_id;

/// How a tape is followed by default, as the paper chose it.
const PACE: Settled = Settled { batch: 100, lookahead: 400 };

/// A tape, checked.
pub struct Tape {
    path: PathBuf,
    reader: TapeReader,
    policy: PlanPolicy,
}

impl Tape {
    /// Opens the tape at `path`.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let refuse = |error: TapeError| Failure::usage(error.to_string());
        let reader = TapeReader::open(path).map_err(refuse)?;
        reader.verify().map_err(refuse)?;
        let name = &reader.info().policy;
        let policy = PlanPolicy::by_name(name).ok_or_else(|| {
            Failure::usage(format!(
                "{}: it is planned by '{name}', which this version does not know",
                path.display()
            ))
        })?;
        Ok(Self { path: path.to_owned(), reader, policy })
    }

    /// The local limit it is planned for.
    pub fn local(&self) -> Local {
        Local::Bytes(self.reader.info().local_pages * PAGE_SIZE as u64)
    }

    /// Refuses a limit that the plan does not fit into.
    pub fn check(&self, limit: Limit) -> Result<(), Failure> {
        let planned = self.reader.info().local_pages * PAGE_SIZE as u64;
        match limit {
            Limit::Bytes(bytes) if bytes < planned => Err(Failure::usage(format!(
                "the tape is planned for {} of local memory, and there are {}; plan it again with farside plan",
                Size(planned),
                Size(bytes)
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a program of another build than the one that was recorded. A tape that does not say what that was
    /// fits every program; so does one for a program that cannot be read.
    pub fn check_program(&self, program: &Path) -> Result<(), Failure> {
        let info = self.reader.info();
        let (Some(recorded), Ok(here)) = (&info.build_id, build_id(program)) else { return Ok(()) };
        if *recorded == here {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} is the tape of {} with build id {recorded}, and {} has build id {here}; record this one, or follow \
             the tape all the same with --force",
            self.path.display(),
            info.program.as_deref().unwrap_or("a program"),
            program.display(),
        )))
    }

    /// What the pager follows under that limit, at that pace, and what there is to say of it.
    pub fn image(&self, limit: Limit, pace: Pace) -> Result<(OwnedFd, Followed), Failure> {
        let info = self.reader.info();
        let threads = u64::from(info.threads.max(1));
        let extra = match limit {
            Limit::Bytes(bytes) => {
                (bytes / PAGE_SIZE as u64).saturating_sub(info.local_pages) / threads
            }
            Limit::PercentOfTouched(_) => 0,
        };
        let mut builder = Builder::default();
        for region in self.reader.regions() {
            let (site, nth) = (region.site, region.nth);
            builder.region(Region { site, nth, first: region.first.0, count: region.count });
        }
        let mut steps = 0;
        for number in self.reader.summary().threads.keys() {
            builder.thread(*number);
            let put = |step| steps += u64::from(add(&mut builder, step));
            self.fit(*number, info.capacity / threads, extra, put)
                .map_err(|error| Failure::usage(error.to_string()))?;
        }
        let image =
            builder.finish(self.settled(pace)).map_err(|error| Failure::own(error.to_string()))?;
        Ok((image, Followed { tape: self.path.clone(), steps }))
    }

    /// The pace that was asked for, else the paper's; what is fetched ahead has to fit into what the plan left
    /// free for it.
    fn settled(&self, asked: Pace) -> Settled {
        let info = self.reader.info();
        let free = info.local_pages.saturating_sub(info.capacity) / u64::from(info.threads.max(1));
        let lookahead = asked.lookahead.unwrap_or((free * 4 / 5).clamp(1, PACE.lookahead));
        let batch = asked.batch.unwrap_or((lookahead / 4).clamp(1, PACE.batch));
        Settled { batch, lookahead }
    }

    /// The steps of a thread with so many pages more than were planned for.
    fn fit(
        &self,
        thread: u32,
        capacity: u64,
        extra: u64,
        mut put: impl FnMut(Step),
    ) -> Result<(), TapeError> {
        if extra == 0 {
            return self.reader.steps(thread).try_for_each(|step| step.map(&mut put));
        }
        let mut derivation = match self.policy {
            PlanPolicy::Lru => Derivation::lru(capacity, extra),
            PlanPolicy::Min => {
                let mut next = NextFetches::new();
                for step in self.reader.steps(thread) {
                    if !next.push(step?) {
                        // Too long to look ahead: followed as it was planned.
                        return self.reader.steps(thread).try_for_each(|step| step.map(&mut put));
                    }
                }
                Derivation::min(capacity, extra, next)
            }
        };
        let mut derived = Vec::new();
        for step in self.reader.steps(thread) {
            derivation.step(step?, &mut derived);
            derived.drain(..).for_each(&mut put);
        }
        Ok(())
    }
}

/// Adds a step; whether it can be followed.
fn add(builder: &mut Builder, step: Step) -> bool {
    let action = match step.kind {
        StepKind::Touch => Action::Touch,
        StepKind::Fetch => Action::Fetch,
        StepKind::FetchToWrite => Action::FetchToWrite,
        StepKind::Evict => Action::Evict,
    };
    let known = step.page.0 < PAGES;
    if known {
        builder.push(action, step.page.0);
    }
    known
}
