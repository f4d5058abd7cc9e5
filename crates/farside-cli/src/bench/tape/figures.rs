//! What runs of a program come to: medians of time and counters.

use crate::bench::launch::Outcome;
use crate::bench::row::median;

use super::runs::wall_ms;

/// A counter of a run on far memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    DemandFaults,
    LateHits,
    FirstTouchFaults,
    SoftFaults,
    PrefetchedPages,
    PrefetchedUnused,
    FetchedBytes,
    WrittenBytes,
    TapeMet,
    TapeMissed,
    LimitBytes,
    ResidentPeakBytes,
}

impl Counter {
    /// All of them, in the order of their columns.
    pub const ALL: [Self; 12] = [
        Self::DemandFaults,
        Self::LateHits,
        Self::FirstTouchFaults,
        Self::SoftFaults,
        Self::PrefetchedPages,
        Self::PrefetchedUnused,
        Self::FetchedBytes,
        Self::WrittenBytes,
        Self::TapeMet,
        Self::TapeMissed,
        Self::LimitBytes,
        Self::ResidentPeakBytes,
    ];

    /// Its name in the statistics of a run.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DemandFaults => "demand_faults",
            Self::LateHits => "late_hits",
            Self::FirstTouchFaults => "first_touch_faults",
            Self::SoftFaults => "soft_faults",
            Self::PrefetchedPages => "prefetched_pages",
            Self::PrefetchedUnused => "prefetched_unused",
            Self::FetchedBytes => "fetched_bytes",
            Self::WrittenBytes => "written_bytes",
            Self::TapeMet => "tape_met",
            Self::TapeMissed => "tape_missed",
            Self::LimitBytes => "limit_bytes",
            Self::ResidentPeakBytes => "resident_peak_bytes",
        }
    }
}

/// Medians over the runs of a program in one way.
#[derive(Copy, Clone, Debug)]
pub(super) struct Figures {
    /// Number of runs.
    pub rounds: usize,
    /// Run time, in milliseconds.
    pub wall_ms: f64,
    counters: [f64; Counter::ALL.len()],
}

impl Figures {
    /// Those of `outcomes`. Counters of a run that is not on far memory are 0.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let of_run = |run: &Outcome, counter: Counter| {
            run.stats.as_ref().and_then(|stats| stats.get(counter.name())).unwrap_or(0.0)
        };
        let figure = |counter: Counter| {
            let runs: Vec<_> = outcomes.iter().map(|run| of_run(run, counter)).collect();
            median(&runs)
        };
        let walls: Vec<_> = outcomes.iter().map(wall_ms).collect();
        Self { rounds: outcomes.len(), wall_ms: median(&walls), counters: Counter::ALL.map(figure) }
    }

    /// The median of a counter.
    pub fn get(&self, counter: Counter) -> f64 {
        self.counters[counter as usize]
    }

    /// Bytes that went the way on which more went: the two directions of a network carry at the
    /// same time.
    pub fn one_way_bytes(&self) -> f64 {
        self.get(Counter::FetchedBytes).max(self.get(Counter::WrittenBytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_lie_where_they_are_looked_for() {
        for (place, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!(counter as usize, place, "{}", counter.name());
        }
    }
}
