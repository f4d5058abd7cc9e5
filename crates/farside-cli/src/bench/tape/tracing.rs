//! Recordings beside plain runs, and beside Valgrind's lackey.

use super::programs::{Name, Ready};
use super::runs::{Way, wall_ms};
use super::{Bench, MICROSET};
use crate::bench::row::{Goal, Row, median};
use crate::bench::{Failure, lackey, skip};

/// Programs of which each part of the work - filling, computing - grows by the same power of their order,
/// so that the times of a unit of work can be compared at different orders. The order that lackey is
/// given is small: it takes a thousand times as long.
const BESIDE_LACKEY: [(Name, i32, [u32; 2]); 2] =
    [(Name::DotProd, 1, [2_000, 22_000]), (Name::Mvmul, 2, [40, 200])];

impl Bench<'_> {
    /// Appends the rows of recordings beside plain runs.
    pub(super) fn tracing(&mut self) -> Result<(), Failure> {
        let mut ratios = Vec::new();
        for ready in &self.programs {
            let recording = self.runs.recording(ready.name, MICROSET);
            let way = Way::Recorded(&recording);
            let (ours, plain) = self.runs.compare(ready, way, Way::Plain, wall_ms)?;
            ratios.push(ours / plain);
            self.rows.push(Row {
                work: format!("recording of {}, beside a plain run", ready.name.text()),
                ours,
                partner: Some(plain),
                unit: "ms",
                goal: None,
            });
        }
        if !ratios.is_empty() {
            self.rows.push(Row {
                work: format!("recording, median of {} programs, beside plain runs", ratios.len()),
                ours: median(&ratios),
                partner: Some(1.0),
                unit: "run time",
                goal: Some(Goal::AtMost(2.5)),
            });
        }
        Ok(())
    }

    /// Appends the rows of recordings beside lackey.
    pub(super) fn beside_lackey(&mut self) -> Result<(), Failure> {
        if let Err(why) = lackey::installed() {
            skip("recording beside Valgrind's lackey", &why);
            return Ok(());
        }
        for (name, power, orders) in BESIDE_LACKEY {
            let Some(ready) = self.programs.iter().find(|ready| ready.name == name) else {
                continue;
            };
            let row = self.row_beside_lackey(ready, power, orders)?;
            self.rows.push(row);
        }
        Ok(())
    }

    /// Time for a number that the program fills and computes with.
    fn row_beside_lackey(
        &self,
        ready: &Ready,
        power: i32,
        orders: [u32; 2],
    ) -> Result<Row, Failure> {
        let name = ready.name.text();
        let recording = self.runs.recording(ready.name, MICROSET);
        let numbers = |order: f64| order.powi(power);
        let [few, many] = orders.map(|order| numbers(order.into()));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 1..=self.runs.shared.repetitions {
            self.runs.progress.say(format!("{name} beside lackey, round {round}"));
            let outcome = self.runs.run(ready, Way::Recorded(&recording))?;
            ours.push(wall_ms(&outcome) * 1e6 / numbers(ready.order()));
            let mut seconds = [0.0; 2];
            for (order, seconds) in orders.iter().zip(&mut seconds) {
                let argv = ready.with(&[order.to_string()]);
                (*seconds, _) =
                    lackey::run(&argv).map_err(|e| Failure::io("valgrind --tool=lackey", &e))?;
            }
            // What it takes to start does not count.
            theirs.push((seconds[1] - seconds[0]).max(0.0) * 1e9 / (many - few));
        }
        Ok(Row {
            work: format!("recording of {name}, beside lackey --trace-mem=yes"),
            ours: median(&ours),
            partner: Some(median(&theirs)),
            unit: "ns/number",
            goal: Some(Goal::Faster(100.0)),
        })
    }
}
