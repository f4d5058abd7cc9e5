//! What single hints cost and gain.

use super::Bench;
use super::build::PASSES;
use crate::bench::launch::{Place, Program};
use crate::bench::measure::{Way, options};
use crate::bench::mechanisms;
use crate::bench::row::{Goal, Row};
use crate::bench::{Failure, push};

/// Megabytes of a pass over memory that is not here.
const FAR: u64 = 256;

impl Bench<'_> {
    /// What a hint costs if the page is here.
    pub(super) fn cost(&mut self) -> Result<(), Failure> {
        for (megabytes, what, text, goal) in [
            ("1", "near", "hint on a page that is here, any of 1 MiB", Some(Goal::Under(3.0))),
            ("16", "near", "the same, any of 16 MiB: more than caches hold", None),
            ("16", "along", "the same, from page to page (.sequential)", Some(Goal::Under(1.0))),
        ] {
            let row = self.passes(&[megabytes, what]).and_then(|program| {
                let options = options(64 << 20, "embedded:", &[]);
                let place = Place::Far(&options);
                let ways = [Way { name: "far memory".into(), program, place }];
                let took = self.measure.in_turn(text, &ways).map_err(|e| e.to_string())?;
                Ok(Row { work: text.into(), ours: took[0], partner: None, unit: "ns", goal })
            });
            push(&mut self.rows, text, row);
        }
        Ok(())
    }

    /// Pages fetched in a sequential pass with hints, beside one that faults.
    pub(super) fn rate(&mut self) -> Result<(), Failure> {
        let megabytes = FAR.to_string();
        self.measure.uses(FAR << 20);
        for (network, far) in self.networks() {
            for (prefetch, goal) in [("none", Some(Goal::Faster(6.0))), ("linux", None)] {
                let work = format!(
                    "page of a sequential pass, hinted, 20 % local, {network}, beside faults, --prefetch {prefetch}"
                );
                let local = (FAR << 20) / 5;
                let hinted = options(local, &far, &["--prefetch", "none"]);
                let faulting = options(local, &far, &["--prefetch", prefetch]);
                let row = self.passes(&[&megabytes, "hinted"]).and_then(|program| {
                    let other = self.passes(&[&megabytes, "faulting"])?;
                    let ways = [
                        Way { name: "hinted".into(), program, place: Place::Far(&hinted) },
                        Way {
                            name: "faulting".into(),
                            program: other,
                            place: Place::Far(&faulting),
                        },
                    ];
                    let took = self.measure.in_turn(&work, &ways).map_err(|e| e.to_string())?;
                    let (ours, partner) = (took[0], Some(took[1]));
                    Ok(Row { work: work.clone(), ours, partner, unit: "ns/page", goal })
                });
                push(&mut self.rows, &work, row);
            }
        }
        Ok(())
    }

    /// Faults that are watched, beside others.
    pub(super) fn watching(&mut self) -> Result<(), Failure> {
        let megabytes = FAR.to_string();
        for (network, far) in self.networks() {
            let work = format!(
                "fault of a sequential pass, 20 % local, {network}, farside faults beside farside run"
            );
            let options = options((FAR << 20) / 5, &far, &["--prefetch", "none"]);
            let row = self.passes(&[&megabytes, "faulting"]).and_then(|watched| {
                let program = self.passes(&[&megabytes, "faulting"])?;
                let ways = [
                    Way {
                        name: "faults".into(),
                        program: watched,
                        place: Place::Watched(&options),
                    },
                    Way { name: "run".into(), program, place: Place::Far(&options) },
                ];
                let took = self.measure.in_turn(&work, &ways).map_err(|e| e.to_string())?;
                let (ours, partner) = (took[0], Some(took[1]));
                Ok(Row { work: work.clone(), ours, partner, unit: "ns", goal: None })
            });
            push(&mut self.rows, &work, row);
        }
        Ok(())
    }

    /// Dropping 64 scattered pages in one call, beside one call for each.
    pub(super) fn drop_scattered(&mut self) -> Result<(), Failure> {
        let rows = mechanisms::scattered_drops(self.measure.shared, self.measure.progress)?;
        self.rows.extend(rows);
        Ok(())
    }

    fn passes(&self, arguments: &[&str]) -> Result<Program, String> {
        let path = PASSES.build(&self.cache, &[])?.to_string_lossy().into_owned();
        let arguments = arguments.iter().map(|text| (*text).to_owned());
        Ok(Program::new(std::iter::once(path).chain(arguments)).keep_stderr())
    }
}
