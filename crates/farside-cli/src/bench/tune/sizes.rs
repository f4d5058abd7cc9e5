//! Sizes by the solver beside all others, of the graph with a third array (Mira, figures 3.7 and 3.8).

use serde_json::Value;

use super::Bench;
use crate::bench::Failure;
use crate::bench::compile::{AUGMENTED, informing, program};
use crate::bench::launch::Place;
use crate::bench::measure::{Way, options};
use crate::bench::row::{Goal, Row};

/// Local memory in per cent of what the program uses.
const SHARE: u64 = 20;

/// How much slower than the best sizes those of the solver may be.
const AT_MOST: f64 = 1.02;

/// Sizes are swept in so many steps.
const STEPS: u64 = 10;

impl Bench<'_> {
    /// The solver's sizes beside the best of a sweep.
    pub(super) fn sizes(&mut self) {
        let figures = self.sweep();
        let work = format!(
            "{}, {SHARE} % local: sizes by the solver, beside the best of a sweep",
            AUGMENTED.name
        );
        self.add(Row { goal: Some(Goal::AtMost(AT_MOST)), ..informing(work, "s") }, figures);
    }

    fn sweep(&self) -> Result<(f64, Option<f64>), Failure> {
        let footprint = self.footprint(&AUGMENTED)?;
        let local = footprint * SHARE / 100;
        let tuned = self.tune(&AUGMENTED, AUGMENTED.name, local)?;
        let best: farside_tune::Configuration =
            serde_json::from_value(tuned.tuning["best"].clone())
                .map_err(|why| Failure::new(format!("what farside tune prints: {why}")))?;
        if best.sections.len() < 2 {
            let steps: &Value = &tuned.tuning["steps"];
            return Err(Failure::new(format!("it has not two sections to share memory: {steps}")));
        }
        let arguments = AUGMENTED.arguments(self.args.scale);
        let far = options(local, &self.args.network.far(), &[]);
        let way = |name: String, path: &std::path::Path| Way {
            name,
            program: program(path, &arguments),
            place: Place::Far(&far),
        };
        let mut ways = vec![way("the solver's".to_owned(), &tuned.path)];
        // The two largest share what they have together; others keep theirs.
        let mut order: Vec<usize> = (0..best.sections.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(best.sections[*at].capacity));
        let (one, other) = (order[0], order[1]);
        let both = best.sections[one].capacity + best.sections[other].capacity;
        for step in 1..STEPS {
            let mut configuration = best.clone();
            let whole = |bytes: u64| (bytes & !0xffff).max(0x10000);
            configuration.sections[one].capacity = whole(both * step / STEPS);
            configuration.sections[other].capacity = whole(both - both * step / STEPS);
            let name = format!("{} % for {}", step * 100 / STEPS, best.sections[one].name);
            let built = self.compilers.sections(
                AUGMENTED.source,
                &format!("sweep-{step}"),
                &configuration.to_toml(""),
            )?;
            ways.push(way(name, &built.path));
        }
        let took = self.measure.in_turn(AUGMENTED.name, &ways)?;
        let best = took[1..].iter().copied().fold(f64::INFINITY, f64::min);
        Ok((took[0], Some(best)))
    }
}
