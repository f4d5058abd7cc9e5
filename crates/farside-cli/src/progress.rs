//! Says on a terminal what is being done; silent in a pipe.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line at the bottom of the terminal.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// A progress line on standard error if that is a terminal.
    pub fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {msg}") {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    /// Tells what is being done now.
    pub fn say(&self, what: impl Into<String>) {
        if let Some(bar) = &self.0 {
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.set_message(what.into());
        }
    }

    /// Tells what has been done, in a line that stays.
    pub fn tell(&self, what: &str) {
        if let Some(bar) = &self.0 {
            bar.println(what);
        }
    }

    /// Removes the line.
    pub fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
