//! The live line of `farside run --progress`.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::report::{Report, grouped};
use crate::options::Size;

/// A line at the bottom of the terminal, or nothing.
#[derive(Debug)]
pub struct Progress {
    line: Option<ProgressBar>,
}

impl Progress {
    /// A live line if it is wanted and stderr is a terminal.
    pub fn new(wanted: bool) -> Self {
        let line = (wanted && stderr().is_terminal()).then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.with_style(
                ProgressStyle::with_template("{spinner} {wide_msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            )
        });
        Self { line }
    }

    /// Whether there is a line to draw.
    pub fn is_shown(&self) -> bool {
        self.line.is_some()
    }

    /// Draws the figures so far.
    pub fn show(&mut self, report: &Report) {
        let Some(line) = &self.line else { return };
        let bytes = |name: &str| Size(report.counter(name));
        line.set_message(format!(
            "{:.0} s  resident {} of {}  demand faults {}  late {}  fetched {}  written {}",
            report.elapsed_seconds,
            bytes("resident_bytes"),
            bytes("footprint_bytes"),
            grouped(report.counter("demand_faults")),
            grouped(report.counter("late_hits")),
            bytes("fetched_bytes"),
            bytes("written_bytes"),
        ));
        line.tick();
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }
}
