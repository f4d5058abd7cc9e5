//! Miss-rate curves: exact ones beside reference algorithms, sampled ones beside exact ones.

use super::Bench;
use super::reckon::{Method, Reckoned};
use super::synthetic::Synthetic;
use crate::bench::Failure;
use crate::bench::row::{Goal, Row, median};

/// Sizes at which curves are compared: of a thousand points the error is nearly that at all sizes.
const POINTS: usize = 1000;

/// Sizes that are simulated one by one beside one pass for all.
const SIZES: usize = 10;

impl Bench<'_> {
    /// Appends the rows of curves.
    pub(super) fn curves(&mut self) -> Result<(), Failure> {
        self.exact()?;
        self.sampled()?;
        self.one_pass()?;
        self.memory()
    }

    /// Medians of the times of two methods in turn, in nanoseconds a reference; both must find the same.
    fn pair(
        &self,
        (ours, our_sizes): (Method, &[usize]),
        (theirs, their_sizes): (Method, &[usize]),
        same: impl Fn(&Reckoned, &Reckoned) -> bool,
    ) -> Result<(f64, f64), Failure> {
        let trace = self.trace(Synthetic::Zipf)?;
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            let names = (ours.name(), theirs.name());
            let of = self.shared.repetitions;
            self.progress.say(format!("curve {} and {}, round {round} of {of}", names.0, names.1));
            let (mine, _) = self.reckon(&trace, ours, "lru", our_sizes)?;
            let (its, _) = self.reckon(&trace, theirs, "lru", their_sizes)?;
            if !same(&mine, &its) {
                return Err(Failure::new(format!("{} and {} differ", names.0, names.1)));
            }
            own.push(mine.ns / mine.references as f64);
            other.push(its.ns / its.references as f64);
        }
        Ok((median(&own), median(&other)))
    }

    fn exact(&mut self) -> Result<(), Failure> {
        let name = Synthetic::Zipf.name(self.references());
        for (partner, what, goal) in [
            (Method::Fenwick, "a Fenwick tree and a flat hash", 1.3),
            (Method::Tree, "an order-statistics tree", 18.0),
        ] {
            let equal = |a: &Reckoned, b: &Reckoned| a.digest == b.digest;
            let (ours, theirs) = self.pair((Method::Lru, &[]), (partner, &[]), equal)?;
            self.rows.push(Row {
                work: format!("exact LRU curve of {name}, beside {what}"),
                ours,
                partner: Some(theirs),
                unit: "ns/reference",
                goal: Some(Goal::Faster(goal)),
            });
        }
        Ok(())
    }

    /// Sizes spread evenly over all that `pages` pages can be divided into.
    fn sizes(pages: u64, count: usize) -> Vec<usize> {
        (1..=count).map(|i| (pages as usize * i / count).max(1)).collect()
    }

    fn sampled(&mut self) -> Result<(), Failure> {
        let name = Synthetic::Zipf.name(self.references());
        let trace = self.trace(Synthetic::Zipf)?;
        let (exact, _) = self.reckon(&trace, Method::Lru, "lru", &[])?;
        let sizes = Self::sizes(exact.touched, POINTS);
        let error = std::cell::Cell::new(0.0);
        let compare = |sample: &Reckoned, exact: &Reckoned| {
            let pairs = sample.miss_ratios.iter().zip(&exact.miss_ratios);
            let sum: f64 = pairs.map(|(sampled, exact)| (sampled - exact).abs()).sum();
            error.set(sum / sizes.len() as f64);
            true
        };
        let (ours, theirs) =
            self.pair((Method::Sampled, &sizes), (Method::Lru, &sizes), compare)?;
        self.rows.push(Row {
            work: format!("LRU curve of {name} from 1 % of the pages, beside the exact one"),
            ours,
            partner: Some(theirs),
            unit: "ns/reference",
            goal: Some(Goal::Faster(20.0)),
        });
        self.rows.push(Row {
            work: format!("its mean absolute error at {POINTS} sizes, beside the most allowed"),
            ours: error.get() * 100.0,
            partner: Some(0.5),
            unit: "% of references",
            goal: Some(Goal::AtMost(1.0)),
        });
        Ok(())
    }

    /// Whole curves beside simulations of single sizes: time for a reference at a size. A curve has as
    /// many sizes as there are pages.
    fn one_pass(&mut self) -> Result<(), Failure> {
        // MIN's curve takes long: a tenth of the references is enough to compare.
        let shorter = self.references() / 10;
        for (method, partner, policy) in
            [(Method::Opt, Method::Min, "opt"), (Method::Mru, Method::Simulate, "mru")]
        {
            let references = if policy == "opt" { shorter } else { self.references() };
            let name = Synthetic::Zipf.name(references);
            let trace = self.trace_of(Synthetic::Zipf, references)?;
            let (exact, _) = self.reckon(&trace, Method::Lru, "lru", &[])?;
            let sizes = Self::sizes(exact.touched, SIZES);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for round in 1..=self.shared.repetitions {
                self.progress.say(format!("curve of {policy}, round {round}"));
                let (curve, _) = self.reckon(&trace, method, policy, &sizes)?;
                let (each, _) = self.reckon(&trace, partner, policy, &sizes)?;
                if curve.miss_ratios != each.miss_ratios {
                    return Err(Failure::new(format!("{policy}: curve and simulations differ")));
                }
                ours.push(curve.ns / curve.references as f64 / curve.touched as f64 * 1e3);
                theirs.push(each.ns / each.references as f64 / SIZES as f64 * 1e3);
            }
            self.rows.push(Row {
                work: format!(
                    "exact {policy} curve of {name}, beside simulations of {SIZES} sizes"
                ),
                ours: median(&ours),
                partner: Some(median(&theirs)),
                unit: "ps/reference/size",
                goal: Some(Goal::Faster(1.0)),
            });
        }
        Ok(())
    }

    /// Memory of the exact LRU curve, the trace read as it goes.
    fn memory(&mut self) -> Result<(), Failure> {
        let name = Synthetic::Zipf.name(self.references());
        let trace = self.trace(Synthetic::Zipf)?;
        let (found, grown) = self.reckon(&trace, Method::Streamed, "lru", &[])?;
        self.rows.push(Row {
            work: format!("memory of the exact LRU curve of {name}, beside the most allowed"),
            ours: grown as f64 / found.touched.max(1) as f64,
            partner: Some(40.0),
            unit: "bytes/page",
            goal: Some(Goal::AtMost(1.0)),
        });
        Ok(())
    }
}
