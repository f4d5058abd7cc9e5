//! How many hints the programs need for nearly all faults.

use serde_json::Value;

use super::Bench;
use super::programs::{Built, Hints, Name};
use crate::bench::launch::{Place, SITES};
use crate::bench::measure::{Measure, options};
use crate::bench::row::{Goal, Row};
use crate::bench::{Failure, push};

/// The share of the faults that hints are to cover.
const MOST: f64 = 0.95;

impl Bench<'_> {
    /// Hints that bring 95 % of what each program would wait for, beside those of Eden's authors; and the lines that
    /// cause as many faults without hints.
    pub(super) fn sites(&mut self) -> Result<(), Failure> {
        for name in Name::ALL {
            let work = |what: &str| format!("{}, {} % local: {what}", name.text(), name.local());
            let hints = work("hints for 95 % of the faults, beside Eden's");
            let lines = work("lines that cause 95 % of the faults");
            let Some([hinted, plain]) = self.built(name, [Hints::Given, Hints::Off], &hints) else {
                continue;
            };
            let footprint = self.measure.footprint(&hints, &plain.program(&[]))?;
            let local = footprint * name.local() / 100;
            let needed = self.look(&hinted, local, &["--hints"]).and_then(|found| needed(&found));
            let (partner, goal) = (Some(name.hints_of_eden()), Some(Goal::AtMost(1.0)));
            let row = |work: &str, ours, partner, goal| Row {
                work: work.to_owned(),
                ours,
                partner,
                unit: "lines",
                goal,
            };
            let needed = needed.map(|ours| row(&hints, ours, partner, goal));
            push(&mut self.rows, &hints, needed);
            let causes = self.look(&plain, local, &[]).and_then(|found| {
                let count = found["sites_for_95_percent"].as_f64().ok_or("no number of sites")?;
                Ok(row(&lines, count, None, None))
            });
            push(&mut self.rows, &lines, causes);
        }
        Ok(())
    }

    /// What `farside faults` says of a program.
    fn look(&self, program: &Built, local: u64, more: &[&str]) -> Result<Value, String> {
        self.measure.progress.say("looking where faults come from");
        let Measure { shared, scratch, .. } = &self.measure;
        let options = options(local, "embedded:", more);
        let program = program.program(&[]).keep_stderr();
        program.run(Place::Watched(&options), shared, scratch).map_err(|e| e.to_string())?;
        let file = scratch.join(SITES);
        let text = std::fs::read_to_string(&file).map_err(|e| format!("no sites: {e}"))?;
        serde_json::from_str(&text).map_err(|e| format!("bad sites: {e}"))
    }
}

/// How many hints bring most of the pages that the program would have to wait for; the others fault.
fn needed(found: &Value) -> Result<f64, String> {
    let pages = |hint: &Value| Some(hint["brought"].as_f64()? + hint["ahead"].as_f64()?);
    let brought = found["hints"].as_array().and_then(|hints| hints.iter().map(pages).collect());
    let mut brought: Vec<f64> = brought.ok_or("no pages that hints bring")?;
    brought.sort_by(|a, b| b.total_cmp(a));
    let all = brought.iter().sum::<f64>() + found["faults"].as_f64().ok_or("no faults")?;
    let mut sum = 0.0;
    let reaches = |pages: &f64| {
        sum += pages;
        sum >= MOST * all
    };
    match brought.iter().position(reaches) {
        Some(last) => Ok((last + 1) as f64),
        None => Err(format!("its hints cover {:.1} % of the faults", sum / all * 100.0)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::needed;

    #[test]
    fn hints_with_most_pages_count_first() {
        let hints = |faults: u64| {
            json!({"faults": faults, "hints": [
                {"brought": 10, "ahead": 0}, {"brought": 50, "ahead": 450}, {"brought": 490, "ahead": 0}]})
        };
        assert_eq!(needed(&hints(0)), Ok(2.0));
        assert_eq!(needed(&hints(50)), Ok(3.0));
        assert!(needed(&hints(80)).is_err());
    }
}
