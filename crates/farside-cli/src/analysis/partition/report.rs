//! What comes of shares: as a table and as an object.

use std::fmt;
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use farside_sharing::Program as _;
use farside_sim::partition::pool::Usage;
use farside_sim::partition::{Goal, Optimum, Partitioning};
use serde::Serialize;

use super::size;
use crate::run::grouped;

/// All ways side by side.
#[derive(Debug, Serialize)]
pub struct Report {
    memory_pages: usize,
    goal: &'static str,
    programs: Vec<ProgramReport>,
    ways: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct ProgramReport {
    trace: String,
    footprint_pages: u64,
    /// The least memory in which nothing has to be fetched.
    enough_pages: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    /// Projected time with enough memory.
    plain_time_ns: u64,
}

/// One way to share memory out.
#[derive(Debug, Serialize)]
pub struct Row {
    way: &'static str,
    /// Policy over all programs, of the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement: Option<String>,
    shares: Vec<Share>,
    misses: u64,
    /// All projected times together.
    projected_time_ns: u64,
    worst_slowdown: f64,
    /// The misses, times weights if there are any, that no shares can undercut; of the optimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_misses: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
}

/// What a program has of it.
#[derive(Debug, Serialize)]
struct Share {
    /// Of the pool: resident pages on average until the program ends.
    pages: u64,
    misses: u64,
    slowdown: f64,
    projected_time_ns: u64,
}

impl Row {
    /// What comes of shares.
    pub fn of_shares(way: &'static str, partitioning: &Partitioning, pages: &[usize]) -> Self {
        let programs = partitioning.programs().iter().zip(pages);
        let share = programs.map(|(program, pages)| Share {
            pages: *pages as u64,
            misses: program.curve().misses(*pages),
            slowdown: program.slowdown(*pages),
            projected_time_ns: program.time_ns(*pages).round() as u64,
        });
        Self::of(way, share.collect())
    }

    /// What comes of the best ones.
    pub fn of_optimum(partitioning: &Partitioning, optimum: &Optimum) -> Self {
        Self {
            least_misses: Some(optimum.bound),
            exact: Some(optimum.is_exact()),
            ..Self::of_shares("optimum", partitioning, &optimum.shares)
        }
    }

    /// What comes of one pool.
    pub fn of_pool(policy: &str, partitioning: &Partitioning, usages: &[Usage]) -> Self {
        let programs = partitioning.programs().iter().zip(usages);
        let share = programs.map(|(program, usage)| Share {
            pages: usage.mean_pages.round() as u64,
            misses: usage.misses,
            slowdown: program.slowdown_of(usage.misses - usage.first_touches),
            projected_time_ns: usage.time_ns.round() as u64,
        });
        Self { replacement: Some(policy.to_owned()), ..Self::of("pool", share.collect()) }
    }

    fn of(way: &'static str, shares: Vec<Share>) -> Self {
        Self {
            way,
            replacement: None,
            misses: shares.iter().map(|share| share.misses).sum(),
            projected_time_ns: shares.iter().map(|share| share.projected_time_ns).sum(),
            worst_slowdown: shares.iter().map(|share| share.slowdown).fold(1.0, f64::max),
            shares,
            least_misses: None,
            exact: None,
        }
    }

    fn name(&self) -> String {
        match &self.replacement {
            Some(policy) => format!("{} ({policy})", self.way),
            None => self.way.to_owned(),
        }
    }
}

impl Report {
    /// The ways, for the programs whose traces are given.
    pub fn new(traces: &[PathBuf], partitioning: &Partitioning, ways: Vec<Row>) -> Self {
        let (goal, weights) = match partitioning.goal() {
            Goal::Throughput => ("throughput", None),
            Goal::Fairness => ("fairness", None),
            Goal::Weights(weights) => ("weights", Some(weights)),
        };
        let programs = partitioning.programs().iter().zip(traces).enumerate();
        let programs = programs.map(|(index, (program, trace))| ProgramReport {
            trace: trace.display().to_string(),
            footprint_pages: program.footprint(),
            enough_pages: program.enough(),
            weight: weights.map(|weights| weights[index]),
            plain_time_ns: program.time_ns(usize::MAX).round() as u64,
        });
        let memory_pages = partitioning.memory();
        Self { memory_pages, goal, programs: programs.collect(), ways }
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(["", "program", "footprint", "local", "misses", "slower", "time"]);
        let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
        let slower = |slowdown: f64| format!("{:.2}x", slowdown);
        let plain: u64 = self.programs.iter().map(|program| program.plain_time_ns).sum();
        for way in &self.ways {
            for (program, share) in self.programs.iter().zip(&way.shares) {
                table.add_row([
                    way.name(),
                    program.trace.clone(),
                    size(program.footprint_pages).to_string(),
                    size(share.pages).to_string(),
                    grouped(share.misses),
                    slower(share.slowdown),
                    seconds(share.projected_time_ns),
                ]);
            }
            table.add_row([
                way.name(),
                "all".to_owned(),
                size(self.programs.iter().map(|program| program.footprint_pages).sum()).to_string(),
                size(way.shares.iter().map(|share| share.pages).sum()).to_string(),
                grouped(way.misses),
                slower(way.projected_time_ns as f64 / plain.max(1) as f64),
                seconds(way.projected_time_ns),
            ]);
        }
        for column in 2..7 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} for {}", size(self.memory_pages as u64), self.goal)?;
        write!(f, "{}", self.table())?;
        for way in self.ways.iter().filter(|way| way.exact == Some(false)) {
            let least = grouped(way.least_misses.unwrap_or_default() as u64);
            write!(f, "\nNo shares have fewer than {least} misses (times weights).")?;
        }
        Ok(())
    }
}
