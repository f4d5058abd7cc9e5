//! What a prefetcher did in a part of a run.

use std::ops::Sub;

use farside_wire::control;

use crate::bench::Failure;
use crate::bench::row::median;
use crate::run::{Report, RunFile, registered};

/// The counters that are looked at, by their names in the statistics of a run.
pub(super) const COUNTERS: [&str; 6] = [
    "demand_faults",
    "late_hits",
    "prefetched_pages",
    "prefetched_used",
    "prefetched_unused",
    "pointer_pages",
];

/// Their values, up to a moment or between two.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Counted(pub [f64; COUNTERS.len()]);

impl Counted {
    /// Counters of the run whose supervisor is that process.
    pub fn now(supervisor: u32) -> Result<Self, Failure> {
        let bad = |why: &dyn std::fmt::Display| Failure::new(format!("counters of a run: {why}"));
        let runs = registered().map_err(|e| bad(&e))?.into_iter().map(|(_, run)| run);
        let text = answer(runs, supervisor, control::watch).map_err(|why| bad(&why))?;
        let report: Report = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        Ok(Self(COUNTERS.map(|name| report.counter(name) as f64)))
    }

    /// The median of each.
    pub fn medians(all: &[Self]) -> Self {
        let of = |at: usize| median(&all.iter().map(|counted| counted.0[at]).collect::<Vec<_>>());
        Self(std::array::from_fn(of))
    }

    /// Faults in which the program waited for a page that nobody had asked for.
    pub fn demand_faults(&self) -> f64 {
        self.0[0]
    }

    /// Pages that were brought ahead and used, also while they were on their way; in a run that watches all of them.
    ///
    /// A page that the program waits for while it is on its way may be seen to be used then, too; and one for which there
    /// was no room to stay unmapped is seen neither as used nor as unused. So it is the lesser of what two ways to count find.
    fn covered(&self) -> f64 {
        let [_, late, prefetched, used, unused, _] = self.0;
        (used + late).min(prefetched - unused).max(0.0)
    }

    /// Per cent of the faults that there would have been which are covered, to a tenth.
    pub fn coverage(&self) -> f64 {
        percent(self.covered(), self.demand_faults())
    }

    /// Per cent of the pages brought ahead that were used, to a tenth.
    pub fn used_share(&self) -> f64 {
        percent(self.covered(), self.0[4])
    }
}

/// What the run answers whose supervisor is that process. One that was killed has left its entry, and its process id may
/// be another's by now.
fn answer<E: std::fmt::Display>(
    runs: impl Iterator<Item = RunFile>,
    supervisor: u32,
    ask: impl Fn(&str) -> Result<String, E>,
) -> Result<String, String> {
    let mut why = "it is not registered".to_owned();
    for run in runs.filter(|run| run.supervisor_pid == supervisor) {
        match ask(&run.control) {
            Ok(text) => return Ok(text),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

impl Sub for Counted {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] - before.0[at]))
    }
}

/// Per cent that `part` is of itself and the rest.
fn percent(part: f64, rest: f64) -> f64 {
    if part > 0.0 { (part / (part + rest) * 1000.0).round() / 10.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_on_its_way_is_covered_and_counts_once() {
        let counted = Counted([20.0, 30.0, 100.0, 50.0, 20.0, 0.0]);
        assert_eq!((counted.coverage(), counted.used_share()), (80.0, 80.0));
        let twice = Counted([20.0, 30.0, 100.0, 80.0, 20.0, 0.0]);
        assert_eq!(twice.coverage(), 80.0);
        assert_eq!(Counted::default().coverage(), 0.0);
    }

    #[test]
    fn the_entry_of_a_run_that_was_killed_is_not_taken_for_another() {
        let run = |pid, control: &str| RunFile {
            supervisor_pid: pid,
            control: control.to_owned(),
            program: "p".to_owned(),
        };
        let runs = [run(6, "other"), run(7, "killed"), run(7, "new"), run(8, "more")];
        let ask = |control: &str| match control {
            "killed" => Err("nobody is there"),
            other => Ok(other.to_owned()),
        };
        let of = |pid| answer(runs.iter().cloned(), pid, ask);
        assert_eq!(of(7).as_deref(), Ok("new"));
        assert_eq!(of(9).unwrap_err(), "it is not registered");
        assert_eq!(answer(runs[..2].iter().cloned(), 7, ask).unwrap_err(), "nobody is there");
    }

    #[test]
    fn counters_are_subtracted_and_have_medians() {
        let [a, b] = [1.0, 3.0].map(|figure| Counted([figure; COUNTERS.len()]));
        assert_eq!((b - a).demand_faults(), 2.0);
        assert_eq!(Counted::medians(&[b, a, a]), a);
    }
}
