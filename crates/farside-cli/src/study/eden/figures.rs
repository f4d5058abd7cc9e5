//! The table of programs, bars of how many places there are, and curves of what the first of them cover.

use farside_report::chart::{Axis, BarChart, LineChart, Series};

use super::super::figure::{Figure, Panel};
use super::look::{Faults, LEVELS, Looked};
use super::programs::Origin;

/// The share of the faults that is to be covered.
pub const MOST: f64 = 0.95;

/// Programs in one picture.
const PROGRAMS: usize = 8;

/// Every fault that makes the program wait.
pub fn all_faults(faults: &Faults) -> u64 {
    faults.all
}

/// Faults on pages that are far.
pub fn far_faults(faults: &Faults) -> u64 {
    faults.far
}

/// All figures.
pub fn all(looked: &[Looked]) -> Vec<Figure> {
    vec![sites(looked), coverage(looked)]
}

impl Looked {
    /// Places that cover most of all faults at the lower of the sizes.
    pub fn most(&self) -> Vec<&str> {
        self.levels[0].most(all_faults, MOST)
    }

    fn row(&self) -> Vec<String> {
        let [sites, more] = &self.levels;
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let origin = match self.program.origin {
            Origin::Package(package) => package,
            Origin::Kernel => "kernel",
            Origin::Example => "example",
        };
        vec![
            self.program.name.to_owned(),
            format!("{}, {origin}", self.program.work),
            (self.footprint >> 20).to_string(),
            (sites.faults(all_faults) / 1000).to_string(),
            percent(sites.faults(far_faults) as f64 / sites.faults(all_faults).max(1) as f64),
            sites.count().to_string(),
            self.most().len().to_string(),
            sites.functions().most(all_faults, MOST).len().to_string(),
            sites.most(far_faults, MOST).len().to_string(),
            percent(sites.generated(all_faults)),
            percent(more.share(all_faults, &self.most())),
        ]
    }
}

fn sites(looked: &[Looked]) -> Figure {
    let header = vec![
        "program",
        "what it does, package",
        "MiB",
        "1,000 faults",
        "on far pages",
        "places",
        "for 95 %",
        "functions for 95 %",
        "for 95 % of those on far pages",
        "generated code",
        "these at 30 %",
    ];
    debug_assert_eq!(LEVELS, [10, 30]);
    let rows: Vec<_> = looked.iter().map(Looked::row).collect();
    let table = std::iter::once(header.iter().map(|name| (*name).to_owned()).collect());
    Figure {
        name: "sites",
        table: table.chain(rows.iter().cloned()).collect(),
        header,
        rows,
        panels: looked.chunks(PROGRAMS).map(bars).map(Panel::Bars).collect(),
    }
}

fn bars(looked: &[Looked]) -> BarChart {
    let series = |name: &str, count: fn(&Looked) -> usize| {
        (name.to_owned(), looked.iter().map(|one| count(one) as f64).collect())
    };
    BarChart {
        title: "Places that fault, 10 % local".to_owned(),
        groups: looked.iter().map(|one| one.program.name.to_owned()).collect(),
        series: vec![
            series("all", |one| one.levels[0].count()),
            series("for 95 % of the faults", |one| one.most().len()),
        ],
        y: Axis::log("places"),
    }
}

fn coverage(looked: &[Looked]) -> Figure {
    let mut rows = Vec::new();
    for one in looked {
        for (rank, share) in covered(one) {
            rows.push(vec![one.program.name.into(), rank.to_string(), format!("{share:.3}")]);
        }
    }
    Figure {
        name: "coverage",
        header: vec!["program", "places", "percent of faults"],
        rows,
        table: Vec::new(),
        panels: looked.chunks(PROGRAMS).map(curves).map(Panel::Lines).collect(),
    }
}

/// How many places, and what share of the faults in percent they have.
fn covered(one: &Looked) -> Vec<(usize, f64)> {
    let sites = &one.levels[0];
    let all = sites.faults(all_faults).max(1) as f64;
    let mut sum = 0;
    let point = |(index, (_, count)): (usize, (&str, u64))| {
        sum += count;
        (index + 1, sum as f64 / all * 100.0)
    };
    sites.ranked(all_faults).into_iter().enumerate().map(point).collect()
}

fn curves(looked: &[Looked]) -> LineChart {
    let series = |one: &Looked| Series {
        name: one.program.name.to_owned(),
        points: covered(one).into_iter().map(|(rank, share)| (rank as f64, share)).collect(),
    };
    LineChart {
        title: "Faults that the first places cover, 10 % local".to_owned(),
        x: Axis::log("places"),
        y: Axis::linear("% of the faults"),
        series: looked.iter().map(series).collect(),
        steps: false,
    }
}
