//! Tables, and bars: which faults are pointer-based, and which prefetchers foresee.

use farside_report::chart::{Axis, BarChart};

use super::super::figure::{Figure, Panel};
use super::look::{Foreseen, Looked, RUN};

/// Programs in one picture.
const PROGRAMS: usize = 7;

/// Prefetchers in the table and the pictures; the numbers have all.
const SHOWN: [&str; 4] = ["readahead", "linux", "leap", "spatial"];

/// All figures.
pub fn all(looked: &[Looked<'_>]) -> Vec<Figure> {
    vec![shares(looked), foreseen(looked), spared(looked)]
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

impl Looked<'_> {
    /// What a prefetcher would have foreseen.
    pub fn foreseen(&self, prefetcher: &str) -> Option<&Foreseen> {
        self.foreseen.iter().find(|one| one.prefetcher == prefetcher)
    }
}

/// Bars for all programs, some in each picture; `share` is that of a program in the series with a number.
fn bars(
    looked: &[Looked<'_>],
    title: &str,
    names: &[&str],
    share: impl Fn(&Looked<'_>, usize) -> f64,
) -> Vec<Panel> {
    let panel = |some: &[Looked<'_>]| {
        let of = |number| some.iter().map(|one| share(one, number) * 100.0).collect();
        let series = names.iter().enumerate();
        Panel::Bars(BarChart {
            title: title.to_owned(),
            groups: some.iter().map(|one| one.program.name.to_owned()).collect(),
            series: series.map(|(number, name)| ((*name).to_owned(), of(number))).collect(),
            y: Axis::linear("% of the faults"),
        })
    };
    looked.chunks(PROGRAMS).map(panel).collect()
}

/// A figure whose table is its numbers.
fn figure(
    name: &'static str,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    panels: Vec<Panel>,
) -> Figure {
    let table = std::iter::once(header.iter().map(|name| (*name).to_owned()).collect());
    Figure { name, table: table.chain(rows.iter().cloned()).collect(), header, rows, panels }
}

fn shares(looked: &[Looked<'_>]) -> Figure {
    let header = vec![
        "program",
        "what it does",
        "MiB",
        "% local",
        "1,000 demand faults",
        "% pointer-based",
        "% not",
        "% undecided",
        "of these without known code",
        "% by a loaded index",
        "% confirmed by registers",
        "% contradicted",
    ];
    let row = |one: &Looked<'_>| {
        let (program, shares) = (one.program, &one.shares);
        let mut row = vec![program.name.to_owned(), program.work.clone()];
        row.push((one.footprint >> 20).to_string());
        row.push(program.local.to_string());
        row.push(format!("{:.1}", shares.faults as f64 / 1000.0));
        let of = [shares.pointer, shares.other, shares.undecided, shares.without_code];
        row.extend(of.map(percent));
        row.extend([shares.indexed, shares.agree, shares.contradict].map(percent));
        row
    };
    let panels =
        bars(looked, "Demand faults", &["pointer-based", "not", "undecided"], |one, number| {
            [one.shares.pointer, one.shares.other, one.shares.undecided][number]
        });
    figure("shares", header, looked.iter().map(row).collect(), panels)
}

fn foreseen(looked: &[Looked<'_>]) -> Figure {
    let header = vec!["program", "prefetcher", "% of pointer-based", "% of the others"];
    let cell = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    let mut rows = Vec::new();
    for one in looked {
        for Foreseen { prefetcher, pointer, other } in &one.foreseen {
            let name = one.program.name.to_owned();
            rows.push(vec![name, prefetcher.clone(), cell(*pointer), cell(*other)]);
        }
    }
    let mut head = vec!["program".to_owned()];
    for of in ["pointer-based", "others"] {
        head.extend(SHOWN.map(|name| format!("{name}, {of}")));
    }
    let mut table = vec![head];
    for one in looked {
        let its = SHOWN.map(|name| one.foreseen(name));
        let mut row = vec![one.program.name.to_owned()];
        row.extend(its.map(|its| cell(its.and_then(|its| its.pointer))));
        row.extend(its.map(|its| cell(its.and_then(|its| its.other))));
        table.push(row);
    }
    let of = |title: &str, kind: fn(&Foreseen) -> Option<f64>| {
        bars(looked, title, &SHOWN, |one, number| {
            one.foreseen(SHOWN[number]).and_then(kind).unwrap_or(f64::NAN)
        })
    };
    let mut panels = of("Of pointer-based faults foreseen", |one| one.pointer);
    panels.extend(of("Of other faults foreseen", |one| one.other));
    Figure { name: "foreseen", header, rows, table, panels }
}

fn spared(looked: &[Looked<'_>]) -> Figure {
    let header = vec!["program", "% spared with linux", "% spared with pointer"];
    let row = |one: &Looked<'_>| {
        let mut row = vec![one.program.name.to_owned()];
        row.extend(one.spared.map(percent));
        row
    };
    let title = "Demand faults that a run with a prefetcher is spared";
    let panels = bars(looked, title, &RUN, |one, number| one.spared[number]);
    figure("spared", header, looked.iter().map(row).collect(), panels)
}
