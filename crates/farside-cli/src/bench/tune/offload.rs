//! A filter and an aggregate that run where their data is, beside the same in the program (Mira, section 5.6).

use super::Bench;
use crate::bench::Failure;
use crate::bench::compile::{FILTER, informing, program};
use crate::bench::launch::Place;
use crate::bench::measure::{Way, options};
use crate::bench::row::{Goal, Row};

/// Local memory in per cent of what the program uses.
const SHARE: u64 = 10;

/// How much faster it is to be there.
const FASTER: f64 = 2.0;

/// What runs where, as `farside run` is told, and what it is called.
const SIDES: [(&str, &str); 3] = [("never", "here"), ("auto", "as measured"), ("always", "there")];

impl Bench<'_> {
    /// Queries where the data is, beside queries in the program; and as the program chooses by itself.
    pub(super) fn offload(&mut self) {
        let row = |what: &str| {
            let name = FILTER.name;
            informing(format!("{name}, {SHARE} % local: {what}, beside all in the program"), "s")
        };
        let figures = match self.sides() {
            Ok(figures) => figures,
            Err(why) => return self.add(row("queries where the data is"), Err(why)),
        };
        let [here, chosen, there] = figures;
        let goal = Some(Goal::Faster(FASTER));
        self.add(Row { goal, ..row("queries where the data is") }, Ok((there, Some(here))));
        self.add(row("queries where they took less"), Ok((chosen, Some(here))));
    }

    fn sides(&self) -> Result<[f64; 3], Failure> {
        let footprint = self.footprint(&FILTER)?;
        let local = footprint * SHARE / 100;
        let file = FILTER.section_file(self.args.scale, local)?;
        let built = self.compilers.sections(FILTER.source, "offload", &file)?;
        let arguments = FILTER.arguments(self.args.scale);
        let far = self.args.network.far();
        let places = SIDES.map(|(side, _)| options(local, &far, &["--offload", side]));
        let ways: Vec<Way<'_>> = SIDES
            .iter()
            .zip(&places)
            .map(|((_, name), far)| Way {
                name: (*name).to_owned(),
                program: program(&built.path, &arguments),
                place: Place::Far(far),
            })
            .collect();
        let took = self.measure.in_turn(FILTER.name, &ways)?;
        Ok([took[0], took[1], took[2]])
    }
}
