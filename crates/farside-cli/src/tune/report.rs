//! What tuning came to: for people, for programs, and as a page.

use std::fmt::Write as _;

use farside_report::chart::{Axis, BarChart, LineChart, Series};
use farside_report::report::{Figure, Report, Section, Table};

use farside_symbols::demangled;
use farside_tune::{Apart, SitePlace};

use super::changes::structure;
use super::journal::{Journal, Outcome, Stays, Step, Tuning, median};
use crate::options::Size;

/// All of it in a few lines.
pub fn text(journal: &Journal) -> String {
    let mut text = String::new();
    for tuning in &journal.tunings {
        let _ = writeln!(text, "{}", statement(journal, tuning));
        for section in &tuning.best.sections {
            let (capacity, line) = (Size(section.capacity), Size(section.line));
            let sites = section.sites.iter().map(place);
            let with = section.with.as_ref();
            let shared = with.map_or(String::new(), |it| format!(", memory shared with '{it}'"));
            let fields = if section.fields { ", fields that are used only" } else { "" };
            let threads = match section.apart() {
                Some(Apart::Own) => ", of which each thread has its own",
                Some(Apart::Copies) => ", of which each thread but the main one has a copy",
                None => "",
            };
            let _ = writeln!(
                text,
                "  {:<20} {capacity} in lines of {line}, {}{fields}{shared}{threads}: {}",
                section.name,
                structure(section.ways),
                sites.collect::<Vec<_>>().join(", ")
            );
        }
        for Stays { place, bytes, why } in &tuning.stays {
            let _ = writeln!(text, "  stays in paged memory: {place}, {}: {why}", Size(*bytes));
        }
    }
    text
}

/// Where something is allocated: a line, or else a function.
pub fn place(site: &SitePlace) -> String {
    match site.line {
        0 => demangled(&site.function),
        line => format!("{}:{line}", site.file),
    }
}

/// A plain statement of the result.
pub fn statement(journal: &Journal, tuning: &Tuning) -> String {
    let share = 100.0 * tuning.local as f64 / journal.footprint.max(1) as f64;
    let local =
        format!("{} local ({share:.0} % of {})", Size(tuning.local), Size(journal.footprint));
    let (paged, now) = (median(&tuning.paged), median(&tuning.times));
    let (steps, converged) = (tuning.steps.len(), tuning.converged);
    if tuning.best.sections.is_empty() {
        let why = if tuning.suffering.is_empty() { ": it hardly waits for far pages" } else { "" };
        return format!(
            "{local}: {paged:.3} s; nothing was found in {steps} steps that is faster than paged memory{why}"
        );
    }
    let sections = tuning.best.sections.len();
    let all = if sections == 1 { "1 section".to_owned() } else { format!("{sections} sections") };
    format!(
        "{local}: {now:.3} s with {all} instead of {paged:.3} s in paged memory ({:.2}x), after {steps} steps (converged after {converged})",
        tuning.gain()
    )
}

/// A step in a line.
pub fn line(number: usize, step: &Step) -> String {
    let outcome = match &step.outcome {
        Outcome::Kept => format!("{:.3} s, kept", median(&step.times)),
        Outcome::RolledBack => format!("{}, slower, rolled back", seconds(step)),
        Outcome::Open => format!("{:.3} s, no faster as far as can be told", median(&step.times)),
        Outcome::Broken(why) => format!("not kept: {why}"),
        Outcome::Stays(why) => format!("rolled back, since this would stay in paged memory: {why}"),
    };
    format!("step {number}, {}: {} -> {outcome}", step.what, step.changes.join("; "))
}

/// How long runs of a step took.
fn seconds(step: &Step) -> String {
    match (&step.times[..], step.is_cut) {
        ([], _) => "-".to_owned(),
        (times, false) => format!("{:.3} s", median(times)),
        (times, true) => format!("more than {:.3} s", median(times)),
    }
}

/// The page.
pub fn page(journal: &Journal) -> Report {
    let facts = journal.tunings.iter().filter(|it| !it.best.sections.is_empty());
    let facts =
        facts.map(|it| (format!("with {} local", Size(it.local)), format!("{:.2}x", it.gain())));
    Report {
        title: "Sections found by farside tune".to_owned(),
        subtitle: journal.run.join(" "),
        facts: facts.collect(),
        sections: journal.tunings.iter().flat_map(|it| tuning_sections(journal, it)).collect(),
    }
}

fn tuning_sections(journal: &Journal, tuning: &Tuning) -> Vec<Section> {
    let id = |what: &str| format!("{what}-{}", tuning.local);
    let local = Size(tuning.local);
    let mut sections = vec![Section {
        id: id("steps"),
        title: format!("With {local} of local memory"),
        text: statement(journal, tuning) + ".",
        figure: Some(Figure::Bars(steps_chart(tuning))),
        table: Some(steps_table(tuning)),
    }];
    if !tuning.suffering.is_empty() {
        let rows = tuning.suffering.iter().take(20);
        let rows = rows.map(|(name, share)| vec![name.clone(), format!("{:.1} %", 100.0 * share)]);
        sections.push(Section {
            id: id("suffering"),
            title: format!("Functions that suffer with {local}"),
            text: "The share of its time that each function, with all that it calls, waits for paged memory.".to_owned(),
            figure: None,
            table: Some(Table {
                columns: ["function", "waits"].map(str::to_owned).into(),
                rows: rows.collect(),
            }),
        });
    }
    if !tuning.stays.is_empty() {
        let rows = tuning.stays.iter();
        let rows =
            rows.map(|it| vec![it.place.clone(), Size(it.bytes).to_string(), it.why.clone()]);
        sections.push(Section {
            id: id("stays"),
            title: "What cannot go to sections".to_owned(),
            text: "Large allocations, and why they stay in paged memory.".to_owned(),
            figure: None,
            table: Some(Table {
                columns: ["allocation", "bytes", "why"].map(str::to_owned).into(),
                rows: rows.collect(),
            }),
        });
    }
    // The latest that was seen of each.
    let latest = tuning.steps.iter().rev().find(|it| !it.curves.is_empty());
    if let Some(step) = latest {
        sections.push(Section {
            id: id("curves"),
            title: format!("What sections cost by their size, with {local}"),
            text: "For each size of a section the seconds that lookups and waits would cost with the best lines and the \
                   best structure for it, as foreseen from the accesses of a run; sizes were taken from these by an \
                   integer linear programme."
                .to_owned(),
            figure: Some(Figure::Lines(curves_chart(step))),
            table: Some(curves_table(step)),
        });
    }
    sections
}

fn steps_chart(tuning: &Tuning) -> BarChart {
    let steps = tuning.steps.iter().enumerate().filter(|(_, step)| !step.times.is_empty());
    let steps = steps.map(|(number, step)| ((number + 1).to_string(), median(&step.times)));
    let bars = std::iter::once(("paged".to_owned(), median(&tuning.paged))).chain(steps);
    let (groups, seconds) = bars.unzip();
    BarChart {
        title: "Seconds of a run, step by step".to_owned(),
        groups,
        series: vec![("seconds".to_owned(), seconds)],
        y: Axis::linear("seconds"),
    }
}

fn steps_table(tuning: &Tuning) -> Table {
    let columns = ["step", "what has changed", "foreseen", "measured", "gain", "outcome"];
    let rows = tuning.steps.iter().enumerate().map(|(number, step)| {
        let outcome = match &step.outcome {
            Outcome::Kept => "kept".to_owned(),
            Outcome::RolledBack => "rolled back".to_owned(),
            Outcome::Open => "no difference".to_owned(),
            Outcome::Broken(why) => format!("broken: {why}"),
            Outcome::Stays(why) => format!("rolled back; this would stay in paged memory: {why}"),
        };
        vec![
            format!("{}. {}", number + 1, step.what),
            step.changes.join("; "),
            step.foreseen.map_or("-".to_owned(), |it| format!("{it:.3} s")),
            seconds(step),
            step.gain().map_or("-".to_owned(), |it| format!("{it:.2}x")),
            outcome,
        ]
    });
    let paged = format!("{:.3} s", median(&tuning.paged));
    let paged = ["0. paged memory", "", "-", &paged, "-", ""].map(str::to_owned);
    let rows = std::iter::once(paged.to_vec()).chain(rows).collect();
    Table { columns: columns.map(str::to_owned).into(), rows }
}

fn curves_chart(step: &Step) -> LineChart {
    let series = step.curves.iter().map(|curve| Series {
        name: curve.section.clone(),
        points: curve
            .points
            .iter()
            .map(|(bytes, _, seconds)| (*bytes as f64 / f64::from(1 << 20), *seconds))
            .collect(),
    });
    LineChart {
        title: "Cost by size".to_owned(),
        x: Axis::log("MiB of local memory"),
        y: Axis::linear("seconds"),
        series: series.collect(),
        steps: false,
    }
}

fn curves_table(step: &Step) -> Table {
    let columns = ["section", "size", "misses", "seconds"].map(str::to_owned);
    let rows = step.curves.iter().flat_map(|curve| {
        curve.points.iter().map(|(bytes, misses, seconds)| {
            vec![
                curve.section.clone(),
                Size(*bytes).to_string(),
                format!("{misses:.0}"),
                format!("{seconds:.3}"),
            ]
        })
    });
    Table { columns: columns.into(), rows: rows.collect() }
}
