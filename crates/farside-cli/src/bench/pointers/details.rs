//! What was found of all prefetchers, as a table for data analysis.

use std::fmt::Write as _;
use std::path::Path;

use super::compare::Figures;
use super::counted::COUNTERS;
use super::parts::Part;
use super::works::Work;
use crate::bench::Failure;

/// Rows of the table.
#[derive(Default)]
pub(super) struct Details(String);

impl Details {
    /// Adds what was found in a work.
    pub fn add(&mut self, work: &Work, figures: &[Figures]) {
        for of in figures {
            for (pages, parts) in [("sampled", &of.parts), ("all", &of.watched)] {
                for (part, text) in parts.iter().zip(work.parts) {
                    self.line(&[&work.name, text, of.prefetch, pages], part);
                }
            }
        }
    }

    fn line(&mut self, names: &[&str], part: &Part) {
        let figures = std::iter::once(part.seconds * 1e3).chain(part.counted.0);
        let figures: Vec<String> = figures.map(|figure| format!("{figure:.3}")).collect();
        let _ = writeln!(self.0, "{}\t{}", names.join("\t"), figures.join("\t"));
    }

    /// Writes the table, tab-separated.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let head = ["work", "part", "prefetch", "watched_pages", "ms"];
        let head = head.into_iter().chain(COUNTERS).collect::<Vec<_>>().join("\t");
        std::fs::write(path, format!("{head}\n{}", self.0))
            .map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))
    }
}
