//! The counters of all processes of a run, added up.

use farside_pager::counters::{Counters, FAULT_BUCKETS, Snapshot, fault_bucket_floor};
use farside_pager::curve::Curve;
use farside_pager::held::Held;
use serde::{Deserialize, Serialize};

use crate::together::{self, Living};

/// How the values of several processes become one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Combination {
    /// Added up, over dead processes too.
    Sum,
    /// Added up over the processes that live; a dead one holds nothing.
    Level,
    /// The greatest.
    Greatest,
}

/// How the counter called `name` is combined.
pub fn combination(name: &str) -> Combination {
    match name {
        "limit_bytes" => Combination::Greatest,
        peak if peak.ends_with("_peak_bytes") => Combination::Greatest,
        "resident_bytes" | "footprint_bytes" | "reserved_bytes" | "far_pages" | "held_pages"
        | "lacking_pages" | "tracked_pages" | "section_bytes" => Combination::Level,
        _ => Combination::Sum,
    }
}

/// Counters of several processes as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    fields: Vec<(&'static str, u64)>,
    fault_ns: [u64; FAULT_BUCKETS],
    /// That of the process that would miss most.
    curve: Curve,
    /// The same of the last seconds alone.
    recent: Curve,
    /// What sections held, by name: the most of all processes.
    held: Vec<Held>,
    /// Processes that live among those counted so far.
    living: Vec<Living>,
    /// Processes counted so far.
    pub processes: u64,
}

impl Default for Figures {
    fn default() -> Self {
        let zero = Counters::new().snapshot();
        Self {
            fields: zero.fields(),
            fault_ns: zero.fault_ns,
            curve: zero.curve,
            recent: zero.recent,
            held: Vec::new(),
            living: Vec::new(),
            processes: 0,
        }
    }
}

impl Figures {
    /// Adds one process's counters.
    pub fn add(&mut self, snapshot: &Snapshot, alive: bool) {
        self.processes += 1;
        self.living.extend(alive.then(|| Living::of(snapshot)));
        for ((name, total), (_, value)) in self.fields.iter_mut().zip(snapshot.fields()) {
            *total = match combination(name) {
                Combination::Sum => total.wrapping_add(value),
                Combination::Level if alive => total.wrapping_add(value),
                Combination::Level => *total,
                // What the dead were allowed is past, as soon as one lives.
                Combination::Greatest
                    if *name == "limit_bytes" && alive && self.living.len() == 1 =>
                {
                    value
                }
                Combination::Greatest => value.max(*total),
            };
        }
        for (total, value) in self.fault_ns.iter_mut().zip(snapshot.fault_ns) {
            *total = total.wrapping_add(value);
        }
        for held in &snapshot.held {
            match self.held.iter_mut().find(|known| known.name == held.name) {
                Some(known) if known.peak_bytes < held.peak_bytes => *known = held.clone(),
                Some(_) => {}
                None => self.held.push(held.clone()),
            }
        }
        if snapshot.curve.misses[0] > self.curve.misses[0] {
            self.curve = snapshot.curve.clone();
            self.recent = snapshot.recent.clone();
        }
    }

    /// How many misses there would be with other limits, if that is known: of the processes that live, all together, and
    /// when all have gone of the one that had most.
    pub fn curve(&self) -> Option<Curve> {
        match &self.living[..] {
            [] => Some(self.curve.clone()).filter(Curve::is_known),
            living => together::curve(living),
        }
    }

    /// The same as it was in the last seconds.
    pub fn recent(&self) -> Option<Curve> {
        match &self.living[..] {
            [] => Some(self.recent.clone()).filter(Curve::is_known),
            living => together::recent(living),
        }
    }

    /// What sections held.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Processes that live.
    pub fn living(&self) -> u64 {
        self.living.len() as u64
    }

    /// The limits of those that live, added up, or when all have gone the greatest that one had.
    pub fn limit(&self) -> u64 {
        if self.living.is_empty() { self.get("limit_bytes") } else { together::limit(&self.living) }
    }

    /// Names and values in the order of their declaration.
    pub fn fields(&self) -> &[(&'static str, u64)] {
        &self.fields
    }

    /// The counter called `name`; 0 if there is none.
    pub fn get(&self, name: &str) -> u64 {
        self.fields.iter().find(|(field, _)| *field == name).map_or(0, |(_, value)| *value)
    }

    /// The distribution of demand-fault times.
    pub fn fault_times(&self) -> FaultTimes {
        let mut snapshot = Counters::new().snapshot();
        snapshot.fault_ns = self.fault_ns;
        let filled = self.fault_ns.iter().enumerate().filter(|(_, count)| **count > 0);
        FaultTimes {
            median_ns: snapshot.fault_quantile(0.5),
            p90_ns: snapshot.fault_quantile(0.9),
            p99_ns: snapshot.fault_quantile(0.99),
            buckets: filled
                .map(|(i, count)| FaultBucket { from_ns: fault_bucket_floor(i), count: *count })
                .collect(),
        }
    }
}

/// How long demand faults took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultTimes {
    /// Half of them took less; `None` if there was none.
    pub median_ns: Option<u64>,
    /// Nine of ten took less.
    pub p90_ns: Option<u64>,
    /// 99 of 100 took less.
    pub p99_ns: Option<u64>,
    /// Those buckets of the histogram that are not empty.
    pub buckets: Vec<FaultBucket>,
}

/// Faults that took about equally long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultBucket {
    /// Shortest time of the bucket.
    pub from_ns: u64,
    /// How many faults fell into it.
    pub count: u64,
}
