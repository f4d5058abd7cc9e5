//! Bytes that runs by MIN tapes fetch, beside LRU tapes.

use super::figures::Counter;
use super::replay::{Mode, Setting};
use super::{Bench, LOCAL, TABLE};
use crate::bench::Failure;
use crate::bench::row::{Goal, Row};

/// In how many programs MIN is to fetch clearly less than LRU.
const CLEARLY_IN: usize = 3;

/// What is clearly less: 15 %.
const CLEARLY: f64 = 0.85;

impl Bench<'_> {
    /// Appends the rows of bytes fetched in runs.
    pub(super) fn bytes(&mut self) -> Result<(), Failure> {
        for network in &self.args.networks {
            let mut shares = Vec::new();
            for ready in self.programs.clone() {
                let replayed = self.replay(&ready, Setting::at(network, LOCAL), &TABLE)?;
                let mib = |mode| {
                    let bytes = replayed.get(mode)?.get(Counter::FetchedBytes);
                    Ok::<_, Failure>(bytes / f64::from(1 << 20))
                };
                let (min, lru) = (mib(Mode::MinTape)?, mib(Mode::LruTape)?);
                shares.push(if lru > 0.0 { min / lru } else { 1.0 });
                let name = ready.name.text();
                self.rows.push(Row {
                    work: format!(
                        "MIN tape of {name}, {LOCAL} % local, {network}, beside LRU tape"
                    ),
                    ours: min,
                    partner: Some(lru),
                    unit: "MiB fetched",
                    goal: Some(Goal::AtMost(1.0)),
                });
            }
            self.rows.extend(clearly(shares, &format!("in runs, {network}")));
        }
        Ok(())
    }
}

/// The row that says in how many programs MIN fetches clearly less; `shares` are those of LRU's
/// bytes.
pub(super) fn clearly(mut shares: Vec<f64>, wherein: &str) -> Option<Row> {
    shares.sort_by(f64::total_cmp);
    let third = shares.get(CLEARLY_IN - 1)?;
    Some(Row {
        work: format!("bytes MIN fetches {wherein}, third best of {} programs", shares.len()),
        ours: third * 100.0,
        partner: Some(100.0),
        unit: "% of LRU's",
        goal: Some(Goal::AtMost(CLEARLY)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_programs_with_clearly_fewer_bytes_are_enough() {
        let met = |shares: &[f64]| clearly(shares.to_vec(), "").and_then(|row| row.met());
        assert_eq!(met(&[1.0, 0.5, 0.85, 0.99, 0.2]), Some(true));
        assert_eq!(met(&[1.0, 0.5, 0.86, 0.99, 0.2]), Some(false));
        assert_eq!(met(&[0.1, 0.1]), None, "two are too few");
    }
}
