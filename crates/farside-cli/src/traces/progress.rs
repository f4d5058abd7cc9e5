//! How far a long conversion is, on a terminal; silent in a pipe.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error, if that is a terminal, for so many bytes; without a known number, a
/// count.
pub fn bar(bytes: Option<u64>) -> ProgressBar {
    let bar = match bytes {
        Some(bytes) => ProgressBar::new(bytes),
        None => ProgressBar::no_length(),
    };
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let template = match bytes {
        Some(_) => "{msg} {bar:30} {percent}% of {total_bytes}, {bytes_per_sec}, {eta} left",
        None => "{spinner} {bytes}, {bytes_per_sec}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
