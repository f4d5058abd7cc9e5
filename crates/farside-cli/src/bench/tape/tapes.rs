//! Traces and the tapes that are planned from them for runs.

use std::path::{Path, PathBuf};

use farside_pager::settings::LEAST_LIMIT;
use farside_sim::plan::PlanPolicy;
use farside_trace::PAGE_SIZE;
use serde::Deserialize;

use super::Bench;
use super::programs::Ready;
use super::replay::Setting;
use super::runs::{Recording, Way};
use crate::bench::Failure;
use crate::bench::launch::{Place, Program, farside};

/// A tape, and the local memory it is for.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    pub path: PathBuf,
    /// The local limit of its runs, in bytes.
    pub limit: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// What `farside plan --json` prints, as far as it matters.
#[derive(Deserialize)]
struct Planned {
    tapes: [PlannedTape; 1],
}

#[derive(Deserialize)]
struct PlannedTape {
    local_pages: u64,
    tape_bytes: u64,
}

impl Bench<'_> {
    /// The recording of a program, made if it is not there.
    pub(super) fn recorded(&self, ready: &Ready, microset: usize) -> Result<Recording, Failure> {
        let recording = self.runs.recording(ready.name, microset);
        if !recording.trace.exists() {
            self.runs.progress.say(format!("recording {}", ready.name.text()));
            self.runs.run(ready, Way::Recorded(&recording))?;
        }
        Ok(recording)
    }

    /// The tape of a program for a setting. It replaces the one that was planned before by the same
    /// rule.
    pub(super) fn tape(
        &self,
        ready: &Ready,
        setting: &Setting<'_>,
        policy: PlanPolicy,
    ) -> Result<Tape, Failure> {
        let recording = self.recorded(ready, setting.microset)?;
        let name = ready.name.text();
        let path = self.runs.scratch.join(&format!("{name}-{}.tape", policy.name()));
        self.runs.progress.say(format!("planning {name}, {} % local", setting.local));
        let plan = |local: &str| {
            let paths = (recording.trace.as_path(), path.as_path());
            self.planned_for(paths, setting, policy, local)
        };
        let least = LEAST_LIMIT / PAGE_SIZE as u64;
        let mut planned = plan(&format!("{}%", setting.local))?;
        if planned.local_pages < least {
            planned = plan(&format!("{least}p"))?;
        }
        let limit = planned.local_pages * PAGE_SIZE as u64;
        Ok(Tape { path, limit, bytes: planned.tape_bytes })
    }

    /// Carries out `farside plan`, in a process of its own.
    fn planned_for(
        &self,
        (trace, tape): (&Path, &Path),
        setting: &Setting<'_>,
        policy: PlanPolicy,
        local: &str,
    ) -> Result<PlannedTape, Failure> {
        let shared = self.runs.shared;
        let mut argv = vec![farside(shared)?.into_os_string(), "plan".into()];
        argv.extend(["--json", "--policy", policy.name(), "--local", local].map(Into::into));
        argv.extend(setting.pace().into_iter().map(Into::into));
        argv.extend(["-o".into(), tape.into(), "--".into(), trace.into()]);
        let outcome = Program::new(argv).run(Place::Plain, shared, &self.runs.scratch)?;
        let planned: Planned = serde_json::from_slice(&outcome.stdout.head)
            .map_err(|e| Failure::new(format!("farside plan answered nonsense: {e}")))?;
        let [tape] = planned.tapes;
        Ok(tape)
    }
}
