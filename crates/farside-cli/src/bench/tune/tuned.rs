//! Tuned programs beside the kernel's own swap.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Bench;
use super::steps::breakdown;
use crate::bench::compile::{Work, informing, program};
use crate::bench::launch::{Place, Program};
use crate::bench::measure::{Way, figure_of, options};
use crate::bench::row::{Goal, Row};
use crate::bench::swap::Swap;
use crate::bench::{Failure, skip};

/// What is asked for at the best point, and at every one.
const BEST: f64 = 18.0;
const NEVER_BELOW: f64 = 1.2;

/// How it is to be beside hints by hand.
const BY_HAND: f64 = 1.0;

/// A configuration whose successors gain no more than this together is the one to which tuning converges.
const GAIN: &str = "2%";

/// Steps after which the thesis has converged.
const STEPS: [(&str, f64); 2] = [("network simplex", 4.0), ("GPT-2 forward pass", 2.0)];

/// Local memory of GPT-2 at the least point, in thousandths of what it uses, and how much slower it may be.
const LEAST: u64 = 45;
const AT_LEAST: f64 = 1.1;

/// What the kernel may need more than when it did not have to swap. Added to the partner's limit, in its favour.
const SWAPPING: u64 = 512 << 10;

/// What a program uses when all is local.
struct Used {
    /// Bytes of its data: local memory is told as a share of them.
    data: u64,
    /// What a cgroup has to hold besides: its text and stack, and the kernel's tables for it.
    besides: u64,
}

/// A program that was tuned.
pub(super) struct Tuned {
    pub path: PathBuf,
    /// What tuning says of it.
    pub tuning: Value,
}

/// A program that was tuned for an amount of local memory, beside others: seconds, its own before theirs.
struct One {
    /// On kernel swap, if there can be swap.
    swapped: Option<(f64, f64)>,
    /// With hints by hand.
    by_hand: (f64, f64),
    /// Steps until it has converged, and until the last that was kept.
    steps: [f64; 2],
    /// What each part of the configuration gains: with it, and without.
    gains: Vec<(String, f64, f64)>,
}

impl Bench<'_> {
    /// A program with each amount of local memory.
    pub(super) fn beside_swap(&mut self, work: &Work) {
        let used = match self.used(work) {
            Ok(used) => used,
            Err(why) => return self.add(informing(work.name.into(), "s"), Err(why)),
        };
        for share in self.args.local.clone() {
            let name = format!("{}, {share} % local", work.name);
            let figures = self.one(work, &name, used.data * share / 100, &used);
            let One { swapped, by_hand, steps, gains } = match figures {
                Ok(figures) => figures,
                Err(why) => {
                    self.add(informing(name, "s"), Err(why));
                    continue;
                }
            };
            let beside = format!("{name}, tuned, beside kernel swap (zram)");
            let goal = Some(Goal::Faster(NEVER_BELOW));
            if let Some((ours, swap)) = swapped {
                self.best = self.best.max(swap / ours);
                self.add(Row { goal, ..informing(beside, "s") }, Ok((ours, Some(swap))));
            }
            let (ours, hinted) = by_hand;
            let goal = Some(Goal::Faster(BY_HAND));
            let beside = format!("{name}, tuned, beside hints by hand");
            self.add(Row { goal, ..informing(beside, "s") }, Ok((ours, Some(hinted))));
            let goal = steps_goal(work.name, self.args.iterations);
            let row = informing(format!("{name}: steps until within {GAIN} of the best"), "steps");
            self.add(Row { goal, ..row }, Ok((steps[0], None)));
            let last = format!("{name}: steps until the last that was kept");
            self.add(informing(last, "steps"), Ok((steps[1], None)));
            for (what, ours, before) in gains {
                self.add(informing(format!("{name}: {what}"), "s"), Ok((ours, Some(before))));
            }
        }
    }

    /// The best point of all programs that were measured, for which the thesis has one figure.
    pub(super) fn best_beside_swap(&mut self) {
        if self.best > 0.0 {
            self.rows.push(Row {
                work: "the best of these beside kernel swap".into(),
                ours: 1.0,
                partner: Some(self.best),
                unit: "x",
                goal: Some(Goal::Faster(BEST)),
            });
        }
    }

    pub(super) fn footprint(&self, work: &Work) -> Result<u64, Failure> {
        self.measure.footprint(work.name, &self.plain(work)?)
    }

    /// What a program uses by itself. Farside counts pages with it that were made beside those which it touched; the kernel
    /// counts what is no data.
    fn used(&self, work: &Work) -> Result<Used, Failure> {
        let footprint = self.footprint(work)?;
        let only_farside = Used { data: footprint, besides: 0 };
        let Ok(roomy) = Swap::set_up(2 * footprint + (1 << 30), footprint) else {
            return Ok(only_farside);
        };
        let way = Way {
            name: "all local".into(),
            program: self.plain(work)?,
            place: Place::Swap(&roomy),
        };
        self.measure.outcomes_of(1, work.name, &[way], |_| Ok([]))?;
        let of = |peak: u64| {
            let data = footprint.min(peak);
            Used { data, besides: peak - data }
        };
        Ok(roomy.peak().map_or(only_farside, of))
    }

    fn plain(&self, work: &Work) -> Result<Program, Failure> {
        let built = self.compilers.plain(work.source)?;
        Ok(program(&built.path, &work.arguments(self.args.scale)))
    }

    fn one(&self, work: &Work, name: &str, local: u64, used: &Used) -> Result<One, Failure> {
        let tuned = self.tune(work, name, local)?;
        let converged = tuned.tuning["converged"].as_f64();
        let converged = converged.ok_or_else(|| {
            Failure::new("farside tune does not tell when it converged".to_owned())
        })?;
        let steps = [converged, steps_until_the_last(&tuned.tuning)];
        let swap = Swap::set_up(local + used.besides + SWAPPING, 2 * used.data);
        let swap = swap.map_err(|why| skip(&format!("{name}: swap"), &why)).ok();
        let far = options(local, &self.args.network.far(), &[]);
        let mut ways = breakdown(self, work, &tuned, &far)?;
        let tuned_way = ways.len() - 1;
        let hinted = self.compilers.by_hand(work.hinted)?;
        ways.push(Way {
            name: "hints by hand".to_owned(),
            program: program(&hinted.path, &work.arguments(self.args.scale)),
            place: Place::Far(&far),
        });
        if let Some(swap) = &swap {
            let place = Place::Swap(swap);
            ways.push(Way { name: "kernel swap".to_owned(), program: self.plain(work)?, place });
        }
        let took = self.measure.in_turn(name, &ways)?;
        let (ours, by_hand) = (took[tuned_way], took[tuned_way + 1]);
        let swapped = swap.is_some().then(|| (ours, took[tuned_way + 2]));
        let gains = (1..=tuned_way).map(|at| {
            let what = format!("{}, beside {}", ways[at].name, ways[at - 1].name);
            (what, took[at], took[at - 1])
        });
        let gains = gains.collect();
        Ok(One { swapped, by_hand: (ours, by_hand), steps, gains })
    }

    /// Tunes a program for an amount of local memory.
    pub(super) fn tune(&self, work: &Work, name: &str, local: u64) -> Result<Tuned, Failure> {
        self.measure.progress.say(format!("{name}: tunes it"));
        let stem = work.source.trim_end_matches(".c");
        let target = format!("{stem}-tuned-{local}");
        let build =
            format!("$CC {} {} -o {target} -lm", self.compilers.options().join(" "), work.source);
        let mut command = Command::new(&self.farside);
        command.current_dir(self.compilers.directory()).args(["tune", "--json", "--build", &build]);
        command.args(["--local", &(local & !4095).to_string(), "--far", &self.args.network.far()]);
        command.args([
            "--iterations",
            &self.args.iterations.to_string(),
            "--gain",
            GAIN,
            "--state",
            &format!("{target}.state"),
        ]);
        command
            .args(["--output", &format!("{target}.toml")])
            .arg("--farside-cc")
            .arg(self.compilers.farside_cc());
        command.arg("--").arg(format!("./{target}")).args(work.arguments(self.args.scale));
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|e| Failure::io("cannot start farside tune", &e))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Failure::new(format!(
                "farside tune: {}",
                said.lines().next_back().unwrap_or("")
            )));
        }
        let journal: Value = serde_json::from_slice(&output.stdout)
            .map_err(|why| Failure::new(format!("what farside tune prints: {why}")))?;
        let tuning = journal["tunings"][0].clone();
        Ok(Tuned { path: self.compilers.directory().join(target), tuning })
    }

    /// GPT-2 with hardly any local memory, beside all of it.
    pub(super) fn least(&mut self, work: &Work) {
        let name = format!("{}, {} % local, tuned", work.name, LEAST as f64 / 10.0);
        let figures = self.footprint(work).and_then(|footprint| {
            let local = footprint * LEAST / 1000;
            let tuned = self.tune(work, &name, local)?;
            let arguments = work.arguments(self.args.scale);
            let far = options(local, &self.args.network.far(), &[]);
            let plain =
                Way { name: "all local".into(), program: self.plain(work)?, place: Place::Plain };
            let ours = Way {
                name: name.clone(),
                program: program(&tuned.path, &arguments),
                place: Place::Far(&far),
            };
            let took = self
                .measure
                .outcomes(&name, &[plain, ours], |ran| Ok([figure_of(&ran.stderr)?]))?;
            Ok((took[1][0], Some(took[0][0])))
        });
        let goal = Some(Goal::AtMost(AT_LEAST));
        self.add(
            Row { goal, ..informing(format!("{name}, beside clang with all local"), "s") },
            figures,
        );
    }
}

/// How many steps it may take, if so many are tried that it could take more.
fn steps_goal(program: &str, iterations: u32) -> Option<Goal> {
    let (_, most) = STEPS.iter().find(|(name, _)| *name == program)?;
    (f64::from(iterations) > *most).then_some(Goal::Under(most + 0.5))
}

/// The number of the last step that was kept; 0 if none was.
fn steps_until_the_last(tuning: &Value) -> f64 {
    let steps = tuning["steps"].as_array().map_or(&[][..], Vec::as_slice);
    steps.iter().rposition(|step| step["outcome"] == "kept").map_or(0.0, |at| at as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_asked_of_steps_where_no_more_are_tried() {
        let is_asked = |iterations| steps_goal("GPT-2 forward pass", iterations).is_some();
        assert_eq!([2, 3].map(is_asked), [false, true]);
        assert!(steps_goal("graph traversal", 8).is_none());
    }

    #[test]
    fn steps_are_counted_until_the_last_that_was_kept() {
        let steps = |outcomes: &[&str]| {
            let steps: Vec<_> =
                outcomes.iter().map(|it| serde_json::json!({ "outcome": it })).collect();
            steps_until_the_last(&serde_json::json!({ "steps": steps }))
        };
        assert_eq!(steps(&["kept", "open", "kept", "rolled_back"]), 3.0);
        assert_eq!(steps(&["open"]), 0.0);
        assert_eq!(steps_until_the_last(&Value::Null), 0.0);
    }
}
