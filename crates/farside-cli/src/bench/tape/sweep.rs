//! Microsets of all sizes (3PO, Figures 12 and 13): how long recording takes, and how large the tapes
//! are.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use farside_report::chart::{Axis, LineChart, Series};
use farside_sim::plan::PlanPolicy;

use super::Bench;
use super::programs::Ready;
use super::runs::{Way, bytes_of, wall_ms};
use crate::bench::row::{Row, median};
use crate::bench::{Failure, skip};

/// Binary logarithms of the sizes, in pages.
const SIZES: std::ops::RangeInclusive<u32> = 1..=16;

/// A recording that takes longer is the last of its program: smaller microsets take longer still.
const LONGEST_MS: f64 = 300e3;

/// What came of one program with microsets of one size.
struct Point {
    microset: usize,
    /// Medians of run times.
    recorded_ms: f64,
    plain_ms: f64,
    trace_bytes: u64,
    /// Of the tapes by LRU and by MIN.
    tape_bytes: [u64; 2],
}

/// A program with its points in ascending order of the microset.
struct Line {
    name: &'static str,
    points: Vec<Point>,
}

impl Bench<'_> {
    /// Records and plans with microsets of all sizes; writes the numbers and the pictures into
    /// `directory`, and appends a row for each program.
    pub(super) fn sweep(&mut self, directory: &Path) -> Result<(), Failure> {
        let failed = |e| Failure::io(format!("cannot make {}", directory.display()), &e);
        fs::create_dir_all(directory).map_err(failed)?;
        let mut lines = Vec::new();
        for ready in &self.programs {
            let line = Line { name: ready.name.text(), points: self.points(ready)? };
            self.rows.extend(row(&line));
            lines.push(line);
            // After each program: what was measured survives what comes.
            write_all(directory, &lines)?;
        }
        Ok(())
    }

    /// The points of a program, largest microsets first measured.
    fn points(&self, ready: &Ready) -> Result<Vec<Point>, Failure> {
        let mut points = Vec::new();
        let mut plain = Vec::new();
        for microset in SIZES.rev().map(|log| 1 << log) {
            let point = self.point(ready, microset, &mut plain)?;
            let longest = point.recorded_ms > LONGEST_MS;
            points.push(point);
            if longest && microset > 1 << SIZES.start() {
                let why = format!("recording with {microset} takes more than five minutes");
                skip(&format!("{}, microsets of less than {microset}", ready.name.text()), &why);
                break;
            }
        }
        points.reverse();
        Ok(points)
    }

    /// One point; `plain` gathers the times of plain runs at all points.
    fn point(
        &self,
        ready: &Ready,
        microset: usize,
        plain: &mut Vec<f64>,
    ) -> Result<Point, Failure> {
        let recording = self.runs.recording(ready.name, microset);
        let mut recorded = Vec::new();
        for round in 1..=self.runs.shared.repetitions {
            let name = ready.name.text();
            self.runs.progress.say(format!("{name}, microset {microset}, round {round}"));
            plain.push(wall_ms(&self.runs.run(ready, Way::Plain)?));
            recorded.push(wall_ms(&self.runs.run(ready, Way::Recorded(&recording))?));
        }
        let tape = self.runs.scratch.join("sweep.tape");
        let mut tape_bytes = [0; 2];
        for (policy, bytes) in [PlanPolicy::Lru, PlanPolicy::Min].into_iter().zip(&mut tape_bytes) {
            let planned = self.plan(&recording.trace, policy, Some(&tape))?;
            *bytes = planned.tape_bytes.unwrap_or(0);
        }
        Ok(Point {
            microset,
            recorded_ms: median(&recorded),
            plain_ms: median(plain),
            trace_bytes: bytes_of(&recording.trace)?,
            tape_bytes,
        })
    }
}

/// The recording with the smallest microsets beside that with the largest.
fn row(line: &Line) -> Option<Row> {
    let (small, large) = (line.points.first()?, line.points.last()?);
    Some(Row {
        work: format!(
            "recording of {}, microset {}, beside {}",
            line.name, small.microset, large.microset
        ),
        ours: small.recorded_ms,
        partner: Some(large.recorded_ms),
        unit: "ms",
        goal: None,
    })
}

fn write_all(directory: &Path, lines: &[Line]) -> Result<(), Failure> {
    write(&directory.join("microsets.tsv"), &table(lines))?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let charts = [
        chart("Recording", "run time, of a plain run's", lines, "tracing-time", |point| {
            point.recorded_ms / point.plain_ms
        }),
        chart("Traces", "MiB", lines, "trace-size", |point| mib(point.trace_bytes)),
        chart("Tapes by LRU, 20 % local", "MiB", lines, "tape-size-lru", |point| {
            mib(point.tape_bytes[0])
        }),
        chart("Tapes by MIN, 20 % local", "MiB", lines, "tape-size-min", |point| {
            mib(point.tape_bytes[1])
        }),
    ];
    for (name, chart) in charts {
        let svg = chart.to_svg().map_err(|e| Failure::new(e.to_string()))?;
        write(&directory.join(format!("{name}.svg")), &svg)?;
    }
    Ok(())
}

fn chart<'a>(
    title: &str,
    unit: &str,
    lines: &[Line],
    name: &'a str,
    figure: impl Fn(&Point) -> f64,
) -> (&'a str, LineChart) {
    let series = lines.iter().map(|line| Series {
        name: line.name.into(),
        points: line.points.iter().map(|p| (p.microset as f64, figure(p))).collect(),
    });
    let chart = LineChart {
        title: title.into(),
        x: Axis::log("microset, pages"),
        y: Axis::log(unit),
        series: series.collect(),
        steps: false,
    };
    (name, chart)
}

/// All numbers, tab-separated.
fn table(lines: &[Line]) -> String {
    let mut text = String::from(
        "program\tmicroset\trecorded_ms\tplain_ms\ttrace_bytes\tlru_tape_bytes\tmin_tape_bytes\n",
    );
    for line in lines {
        for point in &line.points {
            let Point { microset, recorded_ms, plain_ms, trace_bytes, tape_bytes } = point;
            let [lru, min] = tape_bytes;
            let _ = writeln!(
                text,
                "{}\t{microset}\t{recorded_ms:.1}\t{plain_ms:.1}\t{trace_bytes}\t{lru}\t{min}",
                line.name
            );
        }
    }
    text
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))
}
