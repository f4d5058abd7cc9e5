//! Microsets of all sizes (3PO, Figures 12 to 14): how long recording takes, how large the tapes
//! are, and how long programs take that follow them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use farside_report::chart::Axis;
use farside_sim::plan::PlanPolicy;

use super::draw::{chart, write};
use super::runs::file_name;
use crate::bench::network::Network;
use crate::bench::row::{Row, median};
use crate::bench::tape::programs::Ready;
use crate::bench::tape::replay::{Mode, Replayed, Setting, write_details};
use crate::bench::tape::runs::{Way, bytes_of, wall_ms};
use crate::bench::tape::{Bench, LOCAL, MICROSET};
use crate::bench::{Failure, skip};

/// Binary logarithms of the sizes, in pages.
const SIZES: std::ops::RangeInclusive<u32> = 1..=16;

/// A recording that takes longer is the last of its program: smaller microsets take longer still.
const LONGEST_MS: f64 = 300e3;

/// What runs with a tape from each microset.
const FOLLOWED: [Mode; 3] = [Mode::MinTape, Mode::LruTape, Mode::Plain];

/// What came of one program with microsets of one size.
struct Point<'a> {
    microset: usize,
    /// Medians of run times.
    recorded_ms: f64,
    plain_ms: f64,
    trace_bytes: u64,
    /// Of the tapes by LRU and by MIN.
    tape_bytes: [u64; 2],
    /// Runs with the tapes, network by network.
    replayed: Vec<Replayed<'a>>,
}

/// A program with its points in ascending order of the microset.
struct Line<'a> {
    name: &'static str,
    points: Vec<Point<'a>>,
}

impl<'a> Bench<'a> {
    /// Records, plans and runs with microsets of all sizes; writes the numbers and the pictures
    /// into `directory`, and appends a row for each program.
    pub(super) fn sweep_microsets(&mut self, directory: &Path) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for ready in self.programs.clone() {
            let line = Line { name: ready.name.text(), points: self.microsets(&ready)? };
            self.rows.extend(row(&line));
            lines.push(line);
            // After each program: what was measured survives what comes.
            self.write_all(directory, &lines)?;
        }
        Ok(())
    }

    fn write_all(&self, directory: &Path, lines: &[Line<'_>]) -> Result<(), Failure> {
        write(&directory.join("microsets.tsv"), &table(lines))?;
        let runs = lines.iter().flat_map(|line| &line.points).flat_map(|point| &point.replayed);
        write_details(&directory.join("microset-runs.tsv"), &runs.cloned().collect::<Vec<_>>())?;
        pictures(directory, lines)?;
        let mut networks = self.args.networks.iter().enumerate();
        networks
            .try_for_each(|(number, network)| picture_of_runs(directory, lines, number, network))
    }

    /// The points of a program, largest microsets first measured.
    fn microsets(&mut self, ready: &Ready) -> Result<Vec<Point<'a>>, Failure> {
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
        &mut self,
        ready: &Ready,
        microset: usize,
        plain: &mut Vec<f64>,
    ) -> Result<Point<'a>, Failure> {
        let recording = self.runs.recording(ready.name, microset);
        let mut recorded = Vec::new();
        for round in 1..=self.runs.shared.repetitions {
            let name = ready.name.text();
            self.runs.progress.say(format!("{name}, microset {microset}, round {round}"));
            plain.push(wall_ms(&self.runs.run(ready, Way::Plain)?));
            recorded.push(wall_ms(&self.runs.run(ready, Way::Recorded(&recording))?));
        }
        let (mut tape_bytes, mut replayed) = ([0; 2], Vec::new());
        for network in &self.args.networks {
            let setting = Setting { microset, ..Setting::at(network, LOCAL) };
            for (policy, bytes) in
                [PlanPolicy::Lru, PlanPolicy::Min].into_iter().zip(&mut tape_bytes)
            {
                *bytes = self.tape(ready, &setting, policy)?.bytes;
            }
            replayed.push(self.replay(ready, setting, &FOLLOWED)?);
        }
        let trace_bytes = bytes_of(&recording.trace)?;
        if microset != MICROSET {
            // A trace of small microsets may be large.
            let _ = fs::remove_file(&recording.trace);
        }
        Ok(Point {
            microset,
            recorded_ms: median(&recorded),
            plain_ms: median(plain),
            trace_bytes,
            tape_bytes,
            replayed,
        })
    }
}

/// The recording with the smallest microsets beside that with the largest.
fn row(line: &Line<'_>) -> Option<Row> {
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

fn pictures(directory: &Path, lines: &[Line<'_>]) -> Result<(), Failure> {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let draw = |name: &str, title: String, unit: &str, figure: &dyn Fn(&Point<'_>) -> f64| {
        let points = |line: &Line<'_>| {
            line.points.iter().map(|point| (point.microset as f64, figure(point))).collect()
        };
        let drawn = lines.iter().map(|line| (line.name, points(line))).collect();
        chart(directory, name, title, (Axis::log("microset, pages"), Axis::log(unit)), drawn)
    };
    let tapes = |policy: &str| format!("Tapes by {policy}, {LOCAL} % local");
    draw("tracing-time", "Recording".into(), "run time, of a plain run's", &|point| {
        point.recorded_ms / point.plain_ms
    })?;
    draw("trace-size", "Traces".into(), "MiB", &|point| mib(point.trace_bytes))?;
    draw("tape-size-lru", tapes("LRU"), "MiB", &|point| mib(point.tape_bytes[0]))?;
    draw("tape-size-min", tapes("MIN"), "MiB", &|point| mib(point.tape_bytes[1]))
}

/// Draws the run times behind the network with that number.
fn picture_of_runs(
    directory: &Path,
    lines: &[Line<'_>],
    number: usize,
    network: &Network,
) -> Result<(), Failure> {
    for (mode, rule) in [(Mode::MinTape, "min"), (Mode::LruTape, "lru")] {
        let mut drawn = Vec::new();
        for line in lines {
            let mut points = Vec::new();
            for point in &line.points {
                let Some(replayed) = point.replayed.get(number) else { continue };
                let ratio = replayed.get(mode)?.wall_ms / replayed.get(Mode::Plain)?.wall_ms;
                points.push((point.microset as f64, ratio));
            }
            drawn.push((line.name, points));
        }
        let title = format!("{}, {LOCAL} % local, {network}", mode.text());
        let axes = (Axis::log("microset, pages"), Axis::linear("run time, of a plain run's"));
        let name = format!("microset-{rule}-{}", file_name(network));
        chart(directory, &name, title, axes, drawn)?;
    }
    Ok(())
}

/// All numbers, tab-separated.
fn table(lines: &[Line<'_>]) -> String {
    let mut text = String::from(
        "program\tmicroset\trecorded_ms\tplain_ms\ttrace_bytes\tlru_tape_bytes\tmin_tape_bytes\n",
    );
    for line in lines {
        for point in &line.points {
            let Point { microset, recorded_ms, plain_ms, trace_bytes, tape_bytes, .. } = point;
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
