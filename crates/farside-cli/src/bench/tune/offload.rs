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
    /// Queries where the data is, and as the program chooses by itself, beside queries in the program: with the same
    /// sections, and in paged memory.
    pub(super) fn offload(&mut self) {
        let row = |what: &str, beside: &str| {
            let name = FILTER.name;
            informing(format!("{name}, {SHARE} % local: {what}, beside {beside}"), "s")
        };
        let (there_is, sections, paged) =
            ("queries where the data is", "the same sections", "paged memory");
        let figures = match self.sides() {
            Ok(figures) => figures,
            Err(why) => return self.add(row(there_is, sections), Err(why)),
        };
        let [here, chosen, there, plain] = figures;
        let goal = || Some(Goal::Faster(FASTER));
        self.add(Row { goal: goal(), ..row(there_is, sections) }, Ok((there, Some(here))));
        self.add(Row { goal: goal(), ..row(there_is, paged) }, Ok((there, Some(plain))));
        self.add(row("queries where they took less", paged), Ok((chosen, Some(plain))));
    }

    /// Seconds in the program, as it chooses, where the data is, and in paged memory.
    fn sides(&self) -> Result<[f64; 4], Failure> {
        let footprint = self.footprint(&FILTER)?;
        let local = footprint * SHARE / 100;
        let file = FILTER.section_file(self.args.scale, local)?;
        let built = self.compilers.sections(FILTER.source, "offload", &file)?;
        let arguments = FILTER.arguments(self.args.scale);
        let far = self.args.network.far();
        let places = SIDES.map(|(side, _)| options(local, &far, &["--offload", side]));
        let plain = self.compilers.plain(FILTER.source)?;
        let paged = options(local, &far, &[]);
        let mut ways: Vec<Way<'_>> = SIDES
            .iter()
            .zip(&places)
            .map(|((_, name), far)| Way {
                name: (*name).to_owned(),
                program: program(&built.path, &arguments),
                place: Place::Far(far),
            })
            .collect();
        ways.push(Way {
            name: "paged memory".to_owned(),
            program: program(&plain.path, &arguments),
            place: Place::Far(&paged),
        });
        let took = self.measure.in_turn(FILTER.name, &ways)?;
        Ok([took[0], took[1], took[2], took[3]])
    }
}
