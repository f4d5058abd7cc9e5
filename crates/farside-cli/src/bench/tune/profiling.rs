//! What it costs a program to measure itself (Mira, section 3.1), beside the same program that does not.

use super::{Bench, Section};
use crate::bench::Failure;
use crate::bench::compile::{Work, informing, program};
use crate::bench::launch::Place;
use crate::bench::measure::{Way, options};
use crate::bench::row::{Goal, Row};

/// Local memory of the program with sections, in per cent of what it uses.
const SHARE: u64 = 20;

/// The least of it, of which sections have a part.
const LEAST: u64 = 2 << 20;

/// How much longer a program may take that measures itself.
const AT_MOST: f64 = 1.2;

/// The programs that are tuned.
const TUNED: [Section; 4] = [Section::Graph, Section::Simplex, Section::Frame, Section::Gpt2];

impl Bench<'_> {
    /// Programs that measure themselves, as they are and with sections.
    pub(super) fn profiling(&mut self) {
        for work in TUNED.iter().filter_map(|section| section.work()) {
            let row = |what: String| Row {
                goal: Some(Goal::AtMost(AT_MOST)),
                ..informing(format!("{}, {what}: measuring itself, beside not", work.name), "s")
            };
            let footprint = self.footprint(work);
            let plain = footprint.and_then(|bytes| {
                let figures = self.as_it_is(work)?;
                Ok((bytes, figures))
            });
            let (bytes, (ours, partner)) = match plain {
                Ok(figures) => figures,
                Err(why) => {
                    self.add(row("all local".to_owned()), Err(why));
                    continue;
                }
            };
            self.add(row("all local".to_owned()), Ok((ours, Some(partner))));
            let figures = self.with_sections(work, (bytes * SHARE / 100).max(LEAST));
            let figures = figures.map(|(ours, partner)| (ours, Some(partner)));
            self.add(row(format!("{SHARE} % local in sections")), figures);
        }
    }

    /// Seconds of a program in paged memory with room for everything: measuring itself, and not.
    fn as_it_is(&self, work: &Work) -> Result<(f64, f64), Failure> {
        let plain = self.compilers.plain(work.source)?;
        let profiled = self.compilers.profiled(work.source, "profiled", None)?;
        let far = options(1 << 40, &self.args.network.far(), &[]);
        self.both(work, [&plain.path, &profiled.path], &far)
    }

    /// The same in sections.
    fn with_sections(&self, work: &Work, local: u64) -> Result<(f64, f64), Failure> {
        let file = work.section_file(self.args.scale, local)?;
        let plain = self.compilers.sections(work.source, "in-sections", &file)?;
        let profiled = self.compilers.profiled(work.source, "sections-profiled", Some(&file))?;
        // What fits is measured as what does not.
        let far = options(local, &self.args.network.far(), &["--sections", "always"]);
        self.both(work, [&plain.path, &profiled.path], &far)
    }

    fn both(
        &self,
        work: &Work,
        paths: [&std::path::Path; 2],
        far: &[String],
    ) -> Result<(f64, f64), Failure> {
        let arguments = work.arguments(self.args.scale);
        let profile = self.measure.scratch.join("profile.json");
        let [plain, profiled] = paths.map(|path| program(path, &arguments));
        let ways = [
            Way { name: "as it is".to_owned(), program: plain, place: Place::Far(far) },
            Way {
                name: "measuring itself".to_owned(),
                program: profiled.env("FARSIDE_PROFILE", profile),
                place: Place::Far(far),
            },
        ];
        let took = self.measure.in_turn(work.name, &ways)?;
        Ok((took[1], took[0]))
    }
}
