//! Adaptive replacement beside LRU (PATH, sections 4.1 and 6.3).

use super::works::{LOOPS, WORKS};
use super::{Bench, build, program};
use crate::bench::row::{Goal, Row};
use crate::bench::skip;

/// The policy that is measured, and its partner.
const POLICIES: [[&str; 2]; 2] = [["--replacement", "adaptive"], ["--replacement", "lru"]];

impl Bench<'_> {
    pub(super) fn replacement(&mut self) {
        let mut best: Option<[f64; 2]> = None;
        for work in WORKS.iter().chain(&LOOPS) {
            let name = work.name(self.args.scale);
            let text = format!("{name}, {} % local: run time with adaptive beside lru", work.local);
            let goal = Some(Goal::Faster(0.97));
            let program = match build::program(&self.cache, work.source) {
                Ok(path) => program(&path, work.arguments(self.args.scale)),
                Err(why) => {
                    skip(&name, &why);
                    continue;
                }
            };
            self.rows.push(match self.by_turns(work, &name, &program, POLICIES) {
                Ok([ours, partner]) => {
                    let gain = |[ours, partner]: [f64; 2]| partner / ours;
                    if best.is_none_or(|best| gain([ours, partner]) > gain(best)) {
                        best = Some([ours, partner]);
                    }
                    Row { work: text, ours, partner: Some(partner), unit: "ms", goal }
                }
                Err(why) => Row::failed(&text, "ms", goal, &why.to_string()),
            });
        }
        if let Some([ours, partner]) = best {
            self.rows.push(Row {
                work: "the best of these".to_owned(),
                ours,
                partner: Some(partner),
                unit: "ms",
                goal: Some(Goal::Faster(5.0)),
            });
        }
    }
}
