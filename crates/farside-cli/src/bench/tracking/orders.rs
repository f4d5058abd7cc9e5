//! Curves of programs whose curve follows from what they do.

use super::{Bench, Scale, build, program, same};
use crate::bench::launch::Place;
use crate::bench::row::{Goal, Row, median};
use crate::bench::{Failure, skip};
use crate::run::Report;

/// An order in which a program uses its pages.
struct Order {
    name: &'static str,
    /// How many uses of each page it takes to know.
    rounds: u64,
    /// The share of its uses that miss with a share of its pages local; what it uses for the first time aside.
    misses: fn(f64) -> f64,
}

const ORDERS: [Order; 3] = [
    Order { name: "loop", rounds: 60, misses: of_loop },
    Order { name: "chance", rounds: 15, misses: |size| 1.0 - size },
    Order { name: "two", rounds: 60, misses: of_two },
];

fn of_loop(size: f64) -> f64 {
    f64::from(size < 0.999)
}

fn of_two(size: f64) -> f64 {
    if size < 0.25 { 1.0 } else { of_loop(size) * 2.0 / 3.0 }
}

/// The least size that is looked at, as a share of all pages: it is not seen what is used again at once.
const LEAST: f64 = 0.2;

impl Bench<'_> {
    pub(super) fn curves(&mut self) {
        let path = match build::program(&self.cache, "uses.c") {
            Ok(path) => path,
            Err(why) => return skip("curves", &why),
        };
        for order in &ORDERS {
            let pages: u64 = if self.args.scale == Scale::Full { 40_000 } else { 8_000 };
            let (all, uses) = (pages.to_string(), (pages * order.rounds).to_string());
            let name = format!("{} {all} {uses}", order.name);
            let text = format!("{name}, 50 % local: mean error of the share of misses");
            let goal = Some(Goal::Under(0.02));
            let arguments = [order.name, &all, &uses];
            let errors = self.errors(order, &name, &program(&path, &arguments));
            self.rows.push(match errors {
                Ok(errors) => {
                    let ours = median(&errors);
                    Row { work: text, ours, partner: None, unit: "of all", goal }
                }
                Err(why) => Row::failed(&text, "of all", goal, &why.to_string()),
            });
        }
    }

    /// The errors of some runs.
    fn errors(
        &self,
        order: &Order,
        name: &str,
        program: &crate::bench::launch::Program,
    ) -> Result<Vec<f64>, Failure> {
        let plain = program.run(Place::Plain, self.shared, &self.scratch)?;
        let (local, far) = (self.share(program, &plain, 50)?, self.args.network.far());
        let track = &self.args.track;
        let options = ["--local", &local, "--far", &far, "--track", track].map(str::to_owned);
        let mut errors = Vec::new();
        for round in 0..self.shared.repetitions {
            self.progress.say(format!("the curve of {name}, round {}", round + 1));
            let ran = program.run(Place::Far(&options), self.shared, &self.scratch)?;
            same(&plain, &ran)?;
            let text = std::fs::read_to_string(self.scratch.join("stats.json"));
            let text = text.map_err(|e| Failure::io("the statistics of a run", &e))?;
            let report: Report = serde_json::from_str(&text)
                .map_err(|e| Failure::new(format!("bad statistics: {e}")))?;
            errors.push(error(order, &report)?);
        }
        Ok(errors)
    }
}

/// How far the curve of a run is from that of its order, on average over all sizes.
fn error(order: &Order, report: &Report) -> Result<f64, Failure> {
    let curve = report.curve.as_ref();
    let curve = curve.ok_or_else(|| Failure::new("a run too short for a curve"))?;
    let all = curve.points.last().map_or(0, |point| point.bytes) as f64;
    let sizes =
        curve.points.iter().map(|point| (point.bytes as f64 / all, point.misses_per_second));
    let sizes: Vec<(f64, f64)> = sizes.filter(|(size, _)| *size >= LEAST).collect();
    let most = sizes.first().map_or(0.0, |(_, rate)| *rate);
    if most <= 0.0 {
        return Err(Failure::new("a run in which nothing was tracked"));
    }
    let known = |size| (order.misses)(size) / (order.misses)(LEAST);
    let off = sizes.iter().map(|(size, rate)| (rate / most - known(*size)).abs());
    Ok(off.sum::<f64>() / sizes.len() as f64)
}
