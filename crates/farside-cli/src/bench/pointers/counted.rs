//! What a prefetcher did in a part of a run.

use std::ops::Sub;

use farside_wire::control;

use crate::bench::Failure;
use crate::bench::row::median;
use crate::run::{Report, registered};

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
        let runs = registered().map_err(|e| bad(&e))?;
        let run = runs.iter().find(|(_, run)| run.supervisor_pid == supervisor);
        let (_, run) = run.ok_or_else(|| bad(&"it is not registered"))?;
        let text = control::watch(&run.control).map_err(|e| bad(&e))?;
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
    fn counters_are_subtracted_and_have_medians() {
        let [a, b] = [1.0, 3.0].map(|figure| Counted([figure; COUNTERS.len()]));
        assert_eq!((b - a).demand_faults(), 2.0);
        assert_eq!(Counted::medians(&[b, a, a]), a);
    }
}
