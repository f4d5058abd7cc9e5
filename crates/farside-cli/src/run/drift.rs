//! Whether a tuned program is used in another way than when it was tuned (Mira, section 2.2).

use std::path::Path;

use super::report::{Report, grouped};
use crate::explain::{notes::Tuned, units_of};

/// So many times as many misses are another way.
const TIMES: f64 = 3.0;

/// Misses in a second that are worth a word: they take a twentieth of the time, of some 10 us each.
const WORTH: f64 = 5000.0;

/// A line for the user if sections miss far more often than when they were found, with no less memory.
pub fn warning(program: &Path, report: &Report) -> Option<String> {
    let rate = report.counter("section_misses") as f64 / report.elapsed_seconds.max(1e-3);
    if rate < WORTH {
        return None;
    }
    // A program without notes was not tuned.
    let units = units_of(program).ok()?;
    let tuned = units.iter().flat_map(|unit| &unit.tuned);
    let expected = expected(tuned, report.counter("limit_bytes"))?;
    let times = rate / f64::max(expected as f64, 1.0);
    (rate > TIMES * expected as f64).then(|| {
        format!(
            "farside: sections miss {} times a second, {times:.1} times as often as when the program was tuned; farside tune \
             finds others for what it does now\n",
            grouped(rate as u64)
        )
    })
}

/// The misses that were seen with the most memory that is no more than there is.
fn expected<'a>(tuned: impl Iterator<Item = &'a Tuned>, limit: u64) -> Option<u64> {
    // Limits are whole pages.
    let fits = |it: &&Tuned| it.local <= limit + 4096;
    tuned.filter(fits).max_by_key(|it| it.local).map(|it| it.misses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_what_was_seen_with_no_more_memory() {
        let tuned =
            [(10 << 20, 500), (20 << 20, 100)].map(|(local, misses)| Tuned { local, misses });
        let of = |limit: u64| expected(tuned.iter(), limit);
        assert_eq!(of(5 << 20), None);
        assert_eq!(of(15 << 20), Some(500));
        assert_eq!(of(20 << 20), Some(100));
        assert_eq!(of(1 << 30), Some(100));
    }
}
