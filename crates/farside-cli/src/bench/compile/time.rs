//! How long it takes to compile.

use super::Bench;
use super::capacities::{all_local, put_in};
use super::local::informing;
use super::works::{WORKS, Work};
use crate::bench::Failure;
use crate::bench::row::{Goal, Row, median};

impl Bench<'_> {
    /// To compile and link each program, beside clang.
    pub(super) fn time(&mut self) {
        let mut logarithms = Vec::new();
        for work in &WORKS {
            let figures = self.time_of(work);
            if let Ok((ours, Some(partner))) = figures {
                logarithms.push((ours / partner).ln());
            }
            let name = format!("compiling {}, beside clang -O2", work.name);
            self.add(informing(name, "ms"), figures);
        }
        if logarithms.is_empty() {
            return;
        }
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        self.rows.push(Row {
            work: "the geometric mean of these".into(),
            ours: mean,
            partner: Some(1.0),
            unit: "x",
            goal: Some(Goal::AtMost(3.0)),
        });
    }

    fn time_of(&self, work: &Work) -> Result<(f64, Option<f64>), Failure> {
        let sections = put_in(work.sections, &all_local(&work.needs(self.args.scale)))?;
        let (mut ours, mut partner) = (Vec::new(), Vec::new());
        for round in 1..=self.measure.shared.repetitions {
            self.measure.progress.say(format!("compiling {}, round {round}", work.name));
            let plain = self.compilers.plain(work.source)?;
            let compiled = self.compilers.sections(work.source, "timed", &sections)?;
            partner.push(plain.took.as_secs_f64() * 1e3);
            ours.push(compiled.took.as_secs_f64() * 1e3);
        }
        Ok((median(&ours), Some(median(&partner))))
    }
}
