//! Charts and tables of a sweep as files.

use std::fs;
use std::path::Path;

use farside_report::chart::{Axis, LineChart, Series};

use crate::bench::Failure;

/// A line of a chart: what it is called, and its points.
pub(super) type Line = (&'static str, Vec<(f64, f64)>);

/// Draws lines into `directory`/`name`.svg.
pub(super) fn chart(
    directory: &Path,
    name: &str,
    title: String,
    (x, y): (Axis, Axis),
    lines: Vec<Line>,
) -> Result<(), Failure> {
    let series = lines.into_iter().map(|(name, points)| Series { name: name.into(), points });
    let chart = LineChart { title, x, y, series: series.collect(), steps: false };
    let svg = chart.to_svg().map_err(|e| Failure::new(e.to_string()))?;
    write(&directory.join(format!("{name}.svg")), &svg)
}

/// Writes a file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))
}
