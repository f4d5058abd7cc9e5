//! Speed of planning, and what plans fetch.

use std::path::Path;

use farside_sim::plan::PlanPolicy;
use farside_trace::PAGE_SIZE;

use super::bytes;
use super::plan::Planned;
use super::programs::Ready;
use super::{Bench, LOCAL, MICROSET};
use crate::bench::Failure;
use crate::bench::launch::{Place, Program, own};
use crate::bench::row::{Goal, Row, median};

/// Time for a record at 20 million of them in a second, in nanoseconds.
const GOAL_NS: f64 = 50.0;

impl Bench<'_> {
    /// Appends the rows of plans.
    pub(super) fn planning(&mut self) -> Result<(), Failure> {
        let (mut speeds, mut fetched, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for ready in &self.programs {
            let recording = self.recorded(ready, MICROSET)?;
            let [(lru_ns, lru), (min_ns, min)] = self.planned(ready, &recording.trace)?;
            speeds.push(speed_row(ready, PlanPolicy::Lru, lru_ns));
            speeds.push(speed_row(ready, PlanPolicy::Min, min_ns));
            fetched.push(bytes_row(ready, &lru, &min));
            shares.push(if lru.fetched == 0 { 1.0 } else { ratio(min.fetched, lru.fetched) });
        }
        self.rows.extend(speeds);
        self.rows.extend(fetched);
        self.rows.extend(bytes::clearly(shares, "as planned"));
        Ok(())
    }

    /// The plans by LRU and by MIN, made in turn, each with its median time for a record.
    fn planned(&self, ready: &Ready, trace: &Path) -> Result<[(f64, Planned); 2], Failure> {
        let policies = [PlanPolicy::Lru, PlanPolicy::Min];
        let mut times = [Vec::new(), Vec::new()];
        let mut plans = [Planned::default(), Planned::default()];
        for round in 1..=self.runs.shared.repetitions {
            let name = ready.name.text();
            self.runs.progress.say(format!("planning {name}, round {round}"));
            for (number, policy) in policies.into_iter().enumerate() {
                let planned = self.plan(trace, policy)?;
                times[number].push(planned.ns / planned.records.max(1) as f64);
                plans[number] = planned;
            }
        }
        let [lru, min] = plans;
        Ok([(median(&times[0]), lru), (median(&times[1]), min)])
    }

    /// Plans a trace in a process of its own.
    fn plan(&self, trace: &Path, policy: PlanPolicy) -> Result<Planned, Failure> {
        let mut argv = vec![own()?.into_os_string(), "bench".into(), "plan".into(), trace.into()];
        argv.extend(["--policy".into(), policy.name().into()]);
        argv.extend(["--local".into(), LOCAL.to_string().into()]);
        let (shared, scratch) = (self.runs.shared, &self.runs.scratch);
        let outcome = Program::new(argv).run(Place::Plain, shared, scratch)?;
        serde_json::from_slice(&outcome.stdout.head)
            .map_err(|e| Failure::new(format!("a plan answered nonsense: {e}")))
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn speed_row(ready: &Ready, policy: PlanPolicy, ns: f64) -> Row {
    let (name, policy) = (ready.name.text(), policy.name());
    Row {
        work: format!("planning {name}, {policy}, {LOCAL} % local, beside 20 million/s"),
        ours: ns,
        partner: Some(GOAL_NS),
        unit: "ns/record",
        goal: Some(Goal::AtMost(1.0)),
    }
}

fn bytes_row(ready: &Ready, lru: &Planned, min: &Planned) -> Row {
    let mib = |pages: u64| (pages * PAGE_SIZE as u64) as f64 / f64::from(1 << 20);
    Row {
        work: format!("MIN plan of {}, {LOCAL} % local, beside LRU plan", ready.name.text()),
        ours: mib(min.fetched),
        partner: Some(mib(lru.fetched)),
        unit: "MiB fetched",
        goal: Some(Goal::AtMost(1.0)),
    }
}
