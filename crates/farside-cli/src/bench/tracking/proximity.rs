//! Proximity prefetch beside read-ahead (PATH, sections 4.3 and 6.3).

use super::works::{LOOPS, WORKS, Work};
use super::{Bench, build, milliseconds, program};
use crate::bench::launch::Outcome;
use crate::bench::row::{Goal, Row};
use crate::bench::{Failure, skip};

/// The prefetcher that is measured, and its partner.
const PREFETCHERS: [[&str; 2]; 2] = [["--prefetch", "proximity"], ["--prefetch", "linux"]];

/// What is compared, with its unit and what is asked of it.
const FIGURES: [(&str, &str, Option<Goal>); 3] = [
    ("demand faults", "faults", Some(Goal::Faster(3.0))),
    ("bytes fetched", "MB", Some(Goal::AtMost(1.0))),
    ("run time", "ms", None),
];

/// Programs that come back to their pages in an order that is not that of memory.
fn works() -> impl Iterator<Item = &'static Work> {
    let orders = LOOPS.iter().filter(|work| work.arguments(super::Scale::Full)[0] == "mixed");
    WORKS.iter().filter(|work| work.source == "lu_noncontiguous.c").chain(orders)
}

impl Bench<'_> {
    pub(super) fn proximity(&mut self) {
        for work in works() {
            let name = work.name(self.args.scale);
            let program = match build::program(&self.cache, work.source) {
                Ok(path) => program(&path, work.arguments(self.args.scale)),
                Err(why) => {
                    skip(&name, &why);
                    continue;
                }
            };
            let measured = self.measure(work, &name, &program, PREFETCHERS, figures);
            for (at, (figure, unit, goal)) in FIGURES.into_iter().enumerate() {
                let text =
                    format!("{name}, {} % local: {figure} with proximity beside linux", work.local);
                self.rows.push(match &measured {
                    Ok(measured) => {
                        let [ours, partner] = measured[at];
                        Row { work: text, ours, partner: Some(partner), unit, goal }
                    }
                    Err(why) => Row::failed(&text, unit, goal, &why.to_string()),
                });
            }
        }
    }
}

fn figures(ran: &Outcome) -> Result<[f64; 3], Failure> {
    let count = |name| {
        let counted = ran.stats.as_ref().and_then(|stats| stats.get(name));
        counted.ok_or_else(|| Failure::new("a run without counters"))
    };
    Ok([count("demand_faults")?, count("fetched_bytes")? / 1e6, milliseconds(ran)])
}
