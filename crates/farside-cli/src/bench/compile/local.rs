//! Programs with all memory local.

use super::capacities::{Capacity, all_local, put_in};
use super::works::{WORKS, Work};
use super::{Bench, Scale};
use crate::bench::Failure;
use crate::bench::launch::{Outcome, Place, Program};
use crate::bench::measure::{Way, figure_of, options};
use crate::bench::row::{Goal, Row, median};

/// Local memory beyond the sections.
const BESIDES: u64 = 64 << 20;

/// Programs that take less are measured more often, by up to this factor.
const SHORT_S: f64 = 0.25;
const MOST_ROUNDS: u32 = 5;

impl Bench<'_> {
    /// All programs with all memory local, beside clang's.
    pub(super) fn local(&mut self) {
        let mut ratios = Vec::new();
        for work in &WORKS {
            let named = |how| informing(format!("{}, all local, {how}", work.name), "s");
            match self.one_local(work) {
                Ok([clang, ours, caches]) => {
                    ratios.push(ours / clang);
                    self.add(named("beside clang -O2"), Ok((ours, Some(clang))));
                    self.add(named("in caches all the same"), Ok((caches, Some(clang))));
                }
                Err(why) => self.add(named("beside clang -O2"), Err(why)),
            }
        }
        if ratios.is_empty() {
            return;
        }
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        for (work, ours, most) in
            [("the median of these", median(&ratios), 1.05), ("the worst of these", worst, 1.15)]
        {
            let goal = Some(Goal::AtMost(most));
            self.rows.push(Row { work: work.into(), ours, partner: Some(1.0), unit: "x", goal });
        }
    }

    /// What clang's program takes, farside-cc's, and that with sections that are caches though there is room for everything.
    fn one_local(&self, work: &Work) -> Result<[f64; 3], Failure> {
        self.measure.progress.say(format!("building {}", work.name));
        let capacities = all_local(&work.needs(self.args.scale));
        let bytes = sum(&capacities);
        let ours = self.compiled(work, "local", work.sections, &capacities)?;
        let plain = self.plain(work)?;
        self.measure.uses(bytes);
        let far = self.args.network.far();
        let usual = options(bytes + BESIDES, &far, &[]);
        let caches = options(bytes + BESIDES, &far, &["--sections", "always"]);
        // What sections hold is known once the program has run.
        let ran = ours.run(Place::Far(&usual), self.measure.shared, &self.measure.scratch)?;
        let rounds = self.rounds(figure_of(&ran.stderr)?);
        let ways = [
            Way { name: "clang".into(), program: plain, place: Place::Plain },
            Way { name: "farside-cc".into(), program: ours.clone(), place: Place::Far(&usual) },
            Way { name: "in caches".into(), program: ours, place: Place::Far(&caches) },
        ];
        let took = self.measure.outcomes_of(rounds, work.name, &ways, |ran| {
            uses_sections(ran)?;
            let fetched = ran.stats.as_ref().and_then(|stats| stats.get("section_fetched"));
            match fetched.unwrap_or(0.0) {
                0.0 => Ok([figure_of(&ran.stderr)?]),
                lines => Err(Failure::new(format!("{lines} lines had to leave and were fetched"))),
            }
        })?;
        Ok(std::array::from_fn(|at| took[at][0]))
    }

    /// How often a program is measured that takes so many seconds: what is over at once says little.
    fn rounds(&self, took: f64) -> u32 {
        let more = if self.args.scale == Scale::Full { SHORT_S / took } else { 1.0 };
        self.measure.shared.repetitions * (more.ceil() as u32).clamp(1, MOST_ROUNDS)
    }

    /// What clang alone makes of a program.
    pub(super) fn plain(&self, work: &Work) -> Result<Program, Failure> {
        let built = self.compilers.plain(work.source)?;
        Ok(program(&built.path, &work.arguments(self.args.scale)))
    }

    /// A program with such sections, in a file that is named after `name`.
    pub(super) fn compiled(
        &self,
        work: &Work,
        name: &str,
        sections: &str,
        capacities: &[Capacity],
    ) -> Result<Program, Failure> {
        let sections = put_in(sections, capacities)?;
        let built = self.compilers.sections(work.source, name, &sections)?;
        Ok(program(&built.path, &work.arguments(self.args.scale)))
    }
}

/// A row without a goal.
pub(crate) fn informing(work: String, unit: &'static str) -> Row {
    Row { work, ours: 0.0, partner: None, unit, goal: None }
}

/// Bytes of all sections.
pub(super) fn sum(capacities: &[Capacity]) -> u64 {
    capacities.iter().map(|(_, bytes)| bytes).sum()
}

/// A program whose time is read from what it writes.
pub(crate) fn program(path: &std::path::Path, arguments: &[String]) -> Program {
    let path = path.to_string_lossy().into_owned();
    Program::new(std::iter::once(path).chain(arguments.iter().cloned())).keep_stderr()
}

/// Insists that no section was refused: the program would run, in paged memory.
pub(super) fn uses_sections(ran: &Outcome) -> Result<(), Failure> {
    match ran.stderr.lines().find(|line| line.contains("no section \"")) {
        Some(why) => Err(Failure::new(why)),
        None => Ok(()),
    }
}
