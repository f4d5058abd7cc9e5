//! What a prefetcher did in a part of a run.

use std::ops::Sub;

use farside_wire::control;

use crate::bench::Failure;
use crate::run::{Report, registered};

/// Counters, up to a moment or between two.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Counted {
    /// Faults on pages that nobody had asked for.
    pub demand: f64,
    /// Faults on pages that were on their way.
    pub late: f64,
    /// Pages brought ahead.
    pub prefetched: f64,
    /// Those of them that were used when they were here, and those that left unused; all, in runs that count exactly.
    pub used: f64,
    pub unused: f64,
}

impl Counted {
    /// Counters of the run whose supervisor is that process.
    pub fn now(supervisor: u32) -> Result<Self, Failure> {
        let bad = |why: &dyn std::fmt::Display| Failure::new(format!("counters of a run: {why}"));
        let runs = registered().map_err(|e| bad(&e))?;
        let run = runs.iter().find(|(_, run)| run.supervisor_pid == supervisor);
        let (_, run) = run.ok_or_else(|| bad(&"it is not registered"))?;
        let text = control::watch(&run.control).map_err(|e| bad(&e))?;
        let report: Report = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        let count = |name: &str| report.counter(name) as f64;
        Ok(Self {
            demand: count("demand_faults"),
            late: count("late_hits"),
            prefetched: count("prefetched_pages"),
            used: count("prefetched_used"),
            unused: count("prefetched_unused"),
        })
    }

    /// Pages that were brought ahead and used, also while they were on their way.
    ///
    /// A page that the program waits for while it is on its way may be seen to be used then, too; and one for which there
    /// was no room to stay unmapped is seen neither as used nor as unused. So it is the lesser of what two ways to count find.
    fn covered(&self) -> f64 {
        (self.used + self.late).min(self.prefetched - self.unused).max(0.0)
    }

    /// Per cent of the faults that there would have been which are covered.
    pub fn coverage(&self) -> f64 {
        percent(self.covered(), self.covered() + self.demand)
    }

    /// Per cent of the pages brought ahead that were used.
    pub fn used_share(&self) -> f64 {
        percent(self.covered(), self.covered() + self.unused)
    }
}

impl Sub for Counted {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            demand: self.demand - before.demand,
            late: self.late - before.late,
            prefetched: self.prefetched - before.prefetched,
            used: self.used - before.used,
            unused: self.unused - before.unused,
        }
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_on_its_way_is_covered_and_counts_once() {
        let counted =
            Counted { demand: 20.0, late: 30.0, prefetched: 100.0, used: 50.0, unused: 20.0 };
        assert_eq!((counted.coverage(), counted.used_share()), (80.0, 80.0));
        let twice = Counted { used: 80.0, ..counted };
        assert_eq!(twice.coverage(), 80.0);
        let before = Counted { demand: 15.0, ..Counted::default() };
        assert_eq!((counted - before).demand, 5.0);
        assert_eq!(Counted::default().coverage(), 0.0);
    }
}
