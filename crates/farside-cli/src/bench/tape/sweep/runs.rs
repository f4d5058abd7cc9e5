//! Run times over local memory, lookahead and batch.

use std::path::Path;

use farside_report::chart::Axis;

use super::draw::{Line, chart};
use crate::bench::Failure;
use crate::bench::network::Network;
use crate::bench::row::Row;
use crate::bench::tape::programs::Ready;
use crate::bench::tape::replay::{Mode, Replayed, Setting, write_details};
use crate::bench::tape::{Bench, LOCAL};

/// Percentages of local memory.
const LOCALS: [u64; 10] = [100, 80, 60, 50, 40, 30, 20, 15, 10, 5];

/// What is compared over local memory.
const OVER_LOCAL: [Mode; 4] = [Mode::MinTape, Mode::LruTape, Mode::ReadAhead, Mode::Plain];

/// What is compared over the pace.
const OVER_PACE: [Mode; 3] = [Mode::MinTape, Mode::LruTape, Mode::Plain];

/// A part of the pace.
pub(super) struct Pace {
    /// Its name, also of the files.
    name: &'static str,
    /// In pages.
    values: &'static [u64],
    /// What it is by default.
    default: u64,
    put: fn(&mut Setting<'_>, u64),
}

/// How far ahead of the program pages are fetched.
pub(super) const LOOKAHEAD: Pace = Pace {
    name: "lookahead",
    values: &[50, 100, 200, 400, 800, 1600, 3200, 6400],
    default: 400,
    put: |setting, pages| setting.lookahead = Some(pages),
};

/// Pages between two that tell how far the program is.
pub(super) const BATCH: Pace = Pace {
    name: "batch",
    values: &[10, 25, 50, 100, 200, 400, 800],
    default: 100,
    put: |setting, pages| setting.batch = Some(pages),
};

/// A program at all values, each with what was measured.
type Points<'a> = Vec<(u64, Replayed<'a>)>;

impl<'a> Bench<'a> {
    /// Run times from 100 % to 5 % of local memory: a picture for each program and network.
    pub(super) fn sweep_local(&mut self, directory: &Path) -> Result<(), Failure> {
        let mut all = Vec::new();
        for network in &self.args.networks {
            for ready in self.programs.clone() {
                let setting = |local| Setting::at(network, local);
                let points = self.points(&ready, &LOCALS, &setting, &OVER_LOCAL)?;
                let name = ready.name.text();
                let lines = OVER_LOCAL.into_iter().filter(|mode| *mode != Mode::Plain);
                let lines = lines.map(|mode| Ok((mode.text(), slowdown(&points, mode)?)));
                let axes =
                    (Axis::linear("local memory, %"), Axis::linear("run time, of a plain run's"));
                let lines = lines.collect::<Result<Vec<Line>, Failure>>()?;
                let file = format!("local-{name}-{}", file_name(network));
                chart(directory, &file, format!("{name}, {network}"), axes, lines)?;
                if let Some((least, replayed)) = points.last() {
                    self.rows.push(row(replayed, format!("{least} % local"), "a plain run", {
                        replayed.get(Mode::Plain)?.wall_ms
                    })?);
                }
                all.extend(points.into_iter().map(|(_, replayed)| replayed));
                write_details(&directory.join("local.tsv"), &all)?;
            }
        }
        Ok(())
    }

    /// Run times over a part of the pace: a picture for each rule and network.
    pub(super) fn sweep_pace(&mut self, directory: &Path, pace: &Pace) -> Result<(), Failure> {
        let mut all = Vec::new();
        for network in &self.args.networks {
            let mut charts = [(Mode::MinTape, Vec::new()), (Mode::LruTape, Vec::new())];
            for ready in self.programs.clone() {
                let setting = |pages| {
                    let mut setting = Setting::at(network, LOCAL);
                    (pace.put)(&mut setting, pages);
                    setting
                };
                let points = self.points(&ready, pace.values, &setting, &OVER_PACE)?;
                for (mode, lines) in &mut charts {
                    lines.push((ready.name.text(), slowdown(&points, *mode)?));
                }
                self.rows.extend(best_beside_default(&points, pace)?);
                all.extend(points.into_iter().map(|(_, replayed)| replayed));
                write_details(&directory.join(format!("{}.tsv", pace.name)), &all)?;
            }
            for (mode, lines) in charts {
                let label = format!("{}, pages", pace.name);
                let axes = (Axis::log(label), Axis::linear("run time, of a plain run's"));
                let title = format!("{}, {LOCAL} % local, {network}", mode.text());
                let rule = if mode == Mode::MinTape { "min" } else { "lru" };
                let file = format!("{}-{rule}-{}", pace.name, file_name(network));
                chart(directory, &file, title, axes, lines)?;
            }
        }
        Ok(())
    }

    /// Runs a program at all values.
    fn points(
        &mut self,
        ready: &Ready,
        values: &[u64],
        setting: &dyn Fn(u64) -> Setting<'a>,
        modes: &[Mode],
    ) -> Result<Points<'a>, Failure> {
        let at = |value: &u64| Ok((*value, self.replay(ready, setting(*value), modes)?));
        values.iter().map(at).collect()
    }
}

/// A network's name in that of a file.
pub(super) fn file_name(network: &Network) -> String {
    network.to_string().replace(',', "-")
}

/// Run times as multiples of a plain run's.
fn slowdown(points: &Points<'_>, mode: Mode) -> Result<Vec<(f64, f64)>, Failure> {
    let at = |(value, replayed): &(u64, Replayed<'_>)| {
        let ratio = replayed.get(mode)?.wall_ms / replayed.get(Mode::Plain)?.wall_ms;
        Ok((*value as f64, ratio))
    };
    points.iter().map(at).collect()
}

fn row(replayed: &Replayed<'_>, at: String, beside: &str, partner: f64) -> Result<Row, Failure> {
    let (name, network) = (replayed.program.text(), replayed.setting.network);
    Ok(Row {
        work: format!("MIN tape of {name}, {at}, {network}, beside {beside}"),
        ours: replayed.get(Mode::MinTape)?.wall_ms,
        partner: Some(partner),
        unit: "ms",
        goal: None,
    })
}

/// The fastest of the runs beside that with the value of the paper.
fn best_beside_default(points: &Points<'_>, pace: &Pace) -> Result<Option<Row>, Failure> {
    let mut timed = Vec::new();
    for (value, replayed) in points {
        timed.push((replayed.get(Mode::MinTape)?.wall_ms, *value, replayed));
    }
    let default = timed.iter().find(|(_, value, _)| *value == pace.default);
    let best = timed.iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let (Some((default, ..)), Some((_, value, replayed))) = (default, best) else {
        return Ok(None);
    };
    let at = format!("best {} of {value}", pace.name);
    row(replayed, at, &format!("{}", pace.default), *default).map(Some)
}
