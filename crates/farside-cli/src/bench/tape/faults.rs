//! Demand faults of programs that follow tapes (3PO, Figure 7), beside those without.

use super::Bench;
use super::figures::Counter;
use super::replay::{Mode, Replayed, Setting};
use crate::bench::Failure;
use crate::bench::row::{Goal, Row};

/// Local memory, in percent.
const LOCAL: u64 = 30;

/// All that is compared.
const MODES: [Mode; 4] = [Mode::MinTape, Mode::LruTape, Mode::ReadAhead, Mode::NoPrefetch];

/// At most one fault in a thousand is to be left.
const LEFT: f64 = 0.001;

impl Bench<'_> {
    /// Appends the rows of demand faults.
    pub(super) fn faults(&mut self) -> Result<(), Failure> {
        for network in &self.args.networks {
            for ready in self.programs.clone() {
                let replayed = self.replay(&ready, Setting::at(network, LOCAL), &MODES)?;
                for (tape, partner, goal) in [
                    (Mode::MinTape, Mode::NoPrefetch, Some(Goal::AtMost(LEFT))),
                    (Mode::LruTape, Mode::NoPrefetch, Some(Goal::AtMost(LEFT))),
                    (Mode::MinTape, Mode::ReadAhead, None),
                    (Mode::LruTape, Mode::ReadAhead, None),
                ] {
                    self.rows.push(row(&replayed, tape, partner, goal)?);
                }
            }
        }
        Ok(())
    }
}

fn row(
    replayed: &Replayed<'_>,
    tape: Mode,
    partner: Mode,
    goal: Option<Goal>,
) -> Result<Row, Failure> {
    let faults = |mode| replayed.get(mode).map(|figures| figures.get(Counter::DemandFaults));
    Ok(Row {
        work: format!(
            "{} of {}, {LOCAL} % local, {}, beside {}",
            tape.text(),
            replayed.program.text(),
            replayed.setting.network,
            partner.text()
        ),
        ours: faults(tape)?,
        partner: Some(faults(partner)?),
        unit: "demand faults",
        goal,
    })
}
