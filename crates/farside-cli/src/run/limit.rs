//! From what the user asked for to the limit in force.

use farside_pager::settings::{LEAST_LIMIT, Limit};
use serde::{Deserialize, Serialize};

use crate::options::{Local, Size};

/// What the limit rests on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// No limit was asked for.
    None,
    /// The size that was given.
    Given,
    /// A percentage of the peak footprint that an earlier run left.
    EarlierRun,
    /// A percentage of what the program has touched so far; from 100 on, all is local.
    Touched,
    /// What was ordered last while it ran.
    Ordered,
}

/// The limit of a run and where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenLimit {
    /// What it rests on.
    pub basis: Basis,
    /// Bytes, where they are known from the start.
    pub bytes: Option<u64>,
    /// The percentage that was asked for.
    pub percent: Option<f64>,
    /// The footprint that an earlier run left.
    pub remembered_bytes: Option<u64>,
}

impl ChosenLimit {
    /// Settles on a limit; `remembered` is the peak footprint of an earlier run.
    pub fn choose(local: Option<Local>, remembered: Option<u64>) -> Self {
        match (local, remembered) {
            (None, _) => {
                Self { basis: Basis::None, bytes: None, percent: None, remembered_bytes: None }
            }
            (Some(Local::Bytes(bytes)), _) => Self {
                basis: Basis::Given,
                bytes: Some(bytes),
                percent: None,
                remembered_bytes: None,
            },
            // What it uses differs a little from run to run.
            (Some(Local::Percent(percent)), remembered_bytes) if percent >= 100.0 => Self {
                basis: Basis::Touched,
                bytes: None,
                percent: Some(percent),
                remembered_bytes,
            },
            (Some(Local::Percent(percent)), Some(peak)) => Self {
                basis: Basis::EarlierRun,
                bytes: Some(((peak as f64 * percent / 100.0) as u64).max(LEAST_LIMIT)),
                percent: Some(percent),
                remembered_bytes: Some(peak),
            },
            (Some(Local::Percent(percent)), None) => Self {
                basis: Basis::Touched,
                bytes: None,
                percent: Some(percent),
                remembered_bytes: None,
            },
        }
    }

    /// What a process is told.
    pub fn for_process(&self) -> Limit {
        match self.bytes {
            Some(bytes) => Limit::Bytes(bytes),
            None => Limit::PercentOfTouched(self.percent.unwrap_or(100.0)),
        }
    }

    /// What a tape is planned for: if all that the program uses may be resident, what an earlier run used.
    pub fn planned(&self) -> Limit {
        match (self.bytes, self.remembered_bytes) {
            (None, Some(peak)) => Limit::Bytes(peak.max(LEAST_LIMIT)),
            _ => self.for_process(),
        }
    }

    /// The limit in words; `in_force` is the highest that a process reported, in bytes.
    pub fn describe(&self, in_force: u64) -> String {
        let percent = self.percent.unwrap_or_default();
        match self.basis {
            Basis::None => "no limit".to_owned(),
            Basis::Ordered => {
                format!("limit {} (ordered while it ran)", Size(self.bytes.unwrap_or_default()))
            }
            Basis::Given => format!("limit {}", Size(self.bytes.unwrap_or_default())),
            Basis::EarlierRun => {
                let bytes = self.bytes.unwrap_or_default();
                let least =
                    if bytes == LEAST_LIMIT { ", raised to the least that works" } else { "" };
                let peak = Size(self.remembered_bytes.unwrap_or_default());
                format!(
                    "limit {} ({percent}% of {peak}, the peak of an earlier run{least})",
                    Size(bytes)
                )
            }
            Basis::Touched if percent >= 100.0 => {
                format!("limit {} ({percent}% of what it touches: all of it)", Size(in_force))
            }
            Basis::Touched => format!(
                "limit {} ({percent}% of what was touched so far; the next run knows the peak)",
                Size(in_force)
            ),
        }
    }
}
