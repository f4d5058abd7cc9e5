//! Run times of programs that follow tapes (3PO, Figures 4, 5 and 8), beside all memory local and
//! read-ahead.

use super::programs::Name;
use super::replay::{Mode, Replayed, Setting};
use super::{Bench, LOCAL, TABLE};
use crate::bench::Failure;
use crate::bench::row::{Goal, Row};

/// What a program waits for, whatever is prefetched.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Bound {
    /// The processor.
    Compute,
    /// The network, if it takes longer than the processor.
    Bandwidth,
}

impl Bound {
    /// Products of matrices compute; the others go through memory once or a few times.
    const fn of(name: Name) -> Self {
        match name {
            Name::Matmul | Name::Matmul2 | Name::SparseMul | Name::NpMatmul => Self::Compute,
            Name::DotProd | Name::Mvmul | Name::NpFft => Self::Bandwidth,
        }
    }

    const fn goal(self) -> Goal {
        match self {
            Self::Compute => Goal::AtMost(1.10),
            Self::Bandwidth => Goal::AtMost(1.25),
        }
    }
}

/// How much faster than read-ahead tapes are to be, in the geometric mean.
const FASTER: f64 = 2.0;

impl Bench<'_> {
    /// Appends the rows of run times.
    pub(super) fn speed(&mut self) -> Result<(), Failure> {
        for network in &self.args.networks {
            let mut all = Vec::new();
            for ready in self.programs.clone() {
                all.push(self.replay(&ready, Setting::at(network, LOCAL), &TABLE)?);
            }
            for replayed in &all {
                self.rows.push(beside_bound(replayed, Mode::MinTape)?);
                self.rows.push(beside_bound(replayed, Mode::LruTape)?);
            }
            for tape in [Mode::MinTape, Mode::LruTape] {
                self.beside_read_ahead(&all, tape)?;
            }
        }
        self.all_local()
    }

    /// A row for each program, and the geometric mean of all.
    fn beside_read_ahead(&mut self, all: &[Replayed<'_>], tape: Mode) -> Result<(), Failure> {
        let Some(network) = all.first().map(|replayed| replayed.setting.network) else {
            return Ok(());
        };
        let mut logarithms = 0.0;
        for replayed in all {
            let ours = replayed.get(tape)?.wall_ms;
            let partner = replayed.get(Mode::ReadAhead)?.wall_ms;
            logarithms += (ours / partner).ln();
            let name = replayed.program.text();
            self.rows.push(Row {
                work: format!(
                    "{} of {name}, {LOCAL} % local, {network}, beside read-ahead",
                    tape.text()
                ),
                ours,
                partner: Some(partner),
                unit: "ms",
                goal: None,
            });
        }
        self.rows.push(Row {
            work: format!(
                "{}, {LOCAL} % local, {network}, geometric mean of {} programs, beside read-ahead",
                tape.text(),
                all.len()
            ),
            ours: (logarithms / all.len() as f64).exp(),
            partner: Some(1.0),
            unit: "run time",
            goal: Some(Goal::Faster(FASTER)),
        });
        Ok(())
    }

    /// What it costs to be on far memory at all, on the first network.
    fn all_local(&mut self) -> Result<(), Failure> {
        let Some(network) = self.args.networks.first() else { return Ok(()) };
        for ready in self.programs.clone() {
            let replayed = self.replay(&ready, Setting::at(network, LOCAL), &TABLE)?;
            self.rows.push(Row {
                work: format!(
                    "farside run of {}, all local, beside a plain run",
                    ready.name.text()
                ),
                ours: replayed.get(Mode::AllLocal)?.wall_ms,
                partner: Some(replayed.get(Mode::Plain)?.wall_ms),
                unit: "ms",
                goal: None,
            });
        }
        Ok(())
    }
}

/// Run time beside the least that it can be: that of a plain run, or what the network takes for the
/// bytes of this run. Its directions carry at the same time, so the one with more bytes counts.
fn beside_bound(replayed: &Replayed<'_>, tape: Mode) -> Result<Row, Failure> {
    let ours = replayed.get(tape)?;
    let plain = replayed.get(Mode::Plain)?.wall_ms;
    let bound = Bound::of(replayed.program);
    let (least, what) = match bound {
        Bound::Compute => (plain, "a plain run"),
        Bound::Bandwidth => {
            let carried = replayed.setting.network.carries_in_ms(ours.one_way_bytes());
            (plain.max(carried), if carried > plain { "its bytes" } else { "a plain run" })
        }
    };
    Ok(Row {
        work: format!(
            "{} of {}, {LOCAL} % local, {}, beside {what}",
            tape.text(),
            replayed.program.text(),
            replayed.setting.network
        ),
        ours: ours.wall_ms,
        partner: Some(least),
        unit: "ms",
        goal: Some(bound.goal()),
    })
}
