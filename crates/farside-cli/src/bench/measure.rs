//! Runs in turn of programs that say what they took.

use std::cell::Cell;

use super::launch::{Outcome, Output, Place, Program, Scratch};
use super::row::median;
use super::{Failure, Shared, warmup};
use crate::progress::Progress;

/// How programs are run and compared.
pub(crate) struct Measure<'a> {
    pub shared: &'a Shared,
    pub progress: &'a Progress,
    pub scratch: Scratch,
    /// Bytes that the program uses which is measured.
    footprint: Cell<u64>,
}

/// One of the ways that are compared.
pub(crate) struct Way<'a> {
    /// What is said of it meanwhile.
    pub name: String,
    pub program: Program,
    pub place: Place<'a>,
}

impl<'a> Measure<'a> {
    pub fn new(shared: &'a Shared, progress: &'a Progress) -> Result<Self, Failure> {
        Ok(Self { shared, progress, scratch: Scratch::new()?, footprint: Cell::new(0) })
    }

    /// Runs all `ways` in turn, each with memory that was touched just before; of what each says it took, the median.
    /// All have to print the same.
    pub fn in_turn(&self, what: &str, ways: &[Way<'_>]) -> Result<Vec<f64>, Failure> {
        let took = self.outcomes(what, ways, |outcome| Ok([figure_of(&outcome.stderr)?]))?;
        Ok(took.into_iter().map(|[took]| took).collect())
    }

    /// Runs all `ways` in turn; the medians of what `look` sees in each run. All have to print the same.
    pub fn outcomes<const N: usize>(
        &self,
        what: &str,
        ways: &[Way<'_>],
        look: impl Fn(&Outcome) -> Result<[f64; N], Failure>,
    ) -> Result<Vec<[f64; N]>, Failure> {
        self.outcomes_of(self.shared.repetitions, what, ways, look)
    }

    /// The same with so many rounds.
    pub fn outcomes_of<const N: usize>(
        &self,
        rounds: u32,
        what: &str,
        ways: &[Way<'_>],
        look: impl Fn(&Outcome) -> Result<[f64; N], Failure>,
    ) -> Result<Vec<[f64; N]>, Failure> {
        let mut figures = vec![[const { Vec::new() }; N]; ways.len()];
        let mut printed: Option<Output> = None;
        for round in 1..=rounds {
            for (index, way) in ways.iter().enumerate() {
                self.progress.say(format!("{what}, round {round} of {rounds}: {}", way.name));
                // Whoever runs second would else be given what the first one left each time, or what nobody had.
                if self.footprint.get() > 0 {
                    warmup::before_run(self.footprint.get(), self.shared, &self.scratch)?;
                }
                let outcome = way.program.run(way.place, self.shared, &self.scratch)?;
                if *printed.get_or_insert_with(|| outcome.stdout.clone()) != outcome.stdout {
                    return Err(Failure::new(format!("{what}, {}: another result", way.name)));
                }
                let seen = look(&outcome)
                    .map_err(|why| Failure::new(format!("{what}, {}: {why}", way.name)))?;
                figures[index].iter_mut().zip(seen).for_each(|(figures, it)| figures.push(it));
            }
        }
        Ok(figures.iter().map(|figures| figures.each_ref().map(|it| median(it))).collect())
    }

    /// Runs a program once with room for everything; returns how many bytes it uses.
    pub fn footprint(&self, what: &str, program: &Program) -> Result<u64, Failure> {
        self.progress.say(format!("{what}: with room for everything"));
        let options = ["--local".to_owned(), "16G".to_owned()];
        let outcome = program.run(Place::Far(&options), self.shared, &self.scratch)?;
        let used = outcome.stats.and_then(|stats| stats.get("footprint_peak_bytes"));
        let bytes = used.unwrap_or(0.0) as u64;
        self.uses(bytes);
        Ok(bytes)
    }

    /// The programs that are measured from now on use so many bytes.
    pub fn uses(&self, bytes: u64) {
        self.footprint.set(bytes);
    }
}

/// The first number of the first line with one that a program wrote to standard error.
pub(crate) fn figure_of(stderr: &str) -> Result<f64, Failure> {
    let number = |line: &str| line.split_whitespace().next()?.parse().ok();
    let found = stderr.lines().find_map(number);
    found.ok_or_else(|| Failure::new("a program did not say what it took"))
}

/// Options of `farside run` for so many local bytes and a far store.
pub(crate) fn options(local: u64, far: &str, more: &[&str]) -> Vec<String> {
    let options = ["--local", &(local & !4095).to_string(), "--far", far].map(str::to_owned);
    options.into_iter().chain(more.iter().map(|option| (*option).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_took_is_the_first_number_it_writes() {
        assert_eq!(figure_of("a warning\n0.1250 s, 80 requests/s\n").ok(), Some(0.125));
        assert!(figure_of("nothing\n").is_err());
    }
}
