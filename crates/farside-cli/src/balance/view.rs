//! What the daemon tells: people, other programs, and Prometheus.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use farside_os::memory::PAGE;
use serde::Serialize;

use super::found::Found;
use super::options::Plan;
use crate::options::Size;

/// How memory is shared out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct View {
    /// Bytes of all programs together.
    pub total_bytes: u64,
    /// What programs have, or may have, or were promised.
    pub claimed_bytes: u64,
    /// Whether limits are as they are to be.
    pub in_force: bool,
    /// How often somebody was to have another limit.
    pub changes: u64,
    /// The programs, in the order in which they began.
    pub programs: Vec<Share>,
}

/// A program and its share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Its control socket, by which it is known.
    #[serde(skip)]
    control: String,
    /// Process id of the program, if it is known.
    pub pid: Option<u32>,
    /// Its name.
    pub program: String,
    /// The user id of whom it belongs to.
    pub user: u32,
    /// Its weight.
    pub weight: f64,
    /// What it is to have.
    pub target_bytes: u64,
    /// What it may have: its limit in force.
    pub limit_bytes: u64,
    /// What it has.
    pub resident_bytes: u64,
    /// What it has touched.
    pub footprint_bytes: u64,
    /// The least that it can run with.
    pub least_bytes: u64,
    /// Whether it answers.
    pub answers: bool,
    /// What is known of what it misses; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<crate::sizing::Pressure>,
}

impl Share {
    /// Of a program that is to have so many pages.
    pub fn new(plan: &Plan, found: &Found, target: usize) -> Self {
        let state = found.state.unwrap_or_default();
        let report = found.said.as_ref().map(|said| &said.report);
        Self {
            control: found.run.control.clone(),
            pid: found.pid(),
            program: found.name().to_owned(),
            user: found.user,
            weight: plan.weight(found.name(), found.pid()),
            target_bytes: (target * PAGE) as u64,
            limit_bytes: state.limit,
            resident_bytes: state.resident,
            footprint_bytes: report.map_or(0, |report| report.counter("footprint_bytes")),
            least_bytes: found.least(),
            answers: !found.is_deaf(),
            pressure: report.and_then(|report| report.pressure),
        }
    }

    /// Its control socket.
    pub fn control(&self) -> &str {
        &self.control
    }

    fn who(&self) -> String {
        match self.pid {
            Some(pid) => format!("{} ({pid})", self.program),
            None => self.program.clone(),
        }
    }
}

impl View {
    /// A table for people.
    pub fn table(&self) -> String {
        if self.programs.is_empty() {
            return "no program runs on far memory".to_owned();
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "PID",
            "PROGRAM",
            "WEIGHT",
            "SHARE",
            "LIMIT NOW",
            "RESIDENT",
            "FOOTPRINT",
            "MISSES/S",
            "BENEFIT/S",
            "PENALTY/S",
        ]);
        for share in &self.programs {
            let rate = |of: fn(&crate::sizing::Pressure) -> f64| {
                share.pressure.as_ref().map_or_else(String::new, |it| format!("{:.0}", of(it)))
            };
            table.add_row([
                share.pid.map_or_else(String::new, |pid| pid.to_string()),
                share.program.clone(),
                share.weight.to_string(),
                Size(share.target_bytes).to_string(),
                Size(share.limit_bytes).to_string(),
                Size(share.resident_bytes).to_string(),
                Size(share.footprint_bytes).to_string(),
                rate(|it| it.misses_per_second),
                rate(|it| it.benefit),
                rate(|it| it.penalty),
            ]);
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            if index != 1 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        format!("{table}\n{} of {} are claimed", Size(self.claimed_bytes), Size(self.total_bytes))
    }

    /// What is to change since `before`, a line for each program.
    pub fn changes_since(&self, before: &Self) -> String {
        let mut text = String::new();
        let of = |share: &Share, view: &Self| {
            let is_it = |other: &&Share| other.control == share.control;
            view.programs.iter().find(is_it).map(|share| share.target_bytes)
        };
        for share in &self.programs {
            let (who, now) = (share.who(), Size(share.target_bytes));
            match of(share, before) {
                Some(was) if was == share.target_bytes => {}
                Some(was) => drop(writeln!(text, "{who}: {} -> {now}", Size(was))),
                None => drop(writeln!(text, "{who}: {now}")),
            }
        }
        for share in before.programs.iter().filter(|share| of(share, self).is_none()) {
            let _ = writeln!(text, "{}: gone", share.who());
        }
        text
    }
}
