//! The analysis as a report: every figure with the numbers beside it.

use farside_report::chart::{Axis, HeatMap, LineChart, RowLabel, Series};
use farside_report::report::{Figure, Report, Section, Table};
use farside_sim::curve::{Curve, SampledPoint};
use farside_sim::regions::Run;

use super::Analysis;
use super::screen::{bytes, percent, shares};
use super::simulate::{self, POLICIES};
use crate::run::grouped;

/// Most runs of pages that are named.
const MOST_RUNS: usize = 64;

/// The whole report.
pub fn report(analysis: &Analysis) -> Report {
    let sections = [
        Some(heat(analysis)),
        Some(curves(analysis)),
        Some(enough(analysis)),
        prefetchers(analysis),
        Some(working_set(analysis)),
        Some(reuse_distances(analysis)),
        Some(phases(analysis)),
        Some(regions(analysis)),
    ];
    Report {
        title: analysis.found.command().unwrap_or_else(|| analysis.trace.clone()),
        subtitle: format!("Memory of a program, from the trace {}", analysis.trace),
        facts: facts(analysis),
        sections: sections.into_iter().flatten().collect(),
    }
}

fn table(columns: &[&str], rows: Vec<Vec<String>>) -> Option<Table> {
    Some(Table { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows })
}

fn size(pages: u64) -> String {
    format!("{} ({} pages)", bytes(pages), grouped(pages))
}

fn facts(analysis: &Analysis) -> Vec<(String, String)> {
    let found = &analysis.found;
    let (stretch, working_set) = found.working_set.stretches();
    let largest = working_set.iter().copied().max().unwrap_or(0);
    let mut facts = vec![
        ("accesses".to_owned(), grouped(found.data_accesses)),
        ("records of the trace".to_owned(), grouped(found.accesses)),
        ("footprint".to_owned(), size(found.footprint())),
        (format!("working set, most in {} records", grouped(stretch)), size(largest)),
        ("memory for 5 % slowdown".to_owned(), size(analysis.recommended() as u64)),
    ];
    let compared = bytes(analysis.simulated.compared_pages as u64);
    if let Some((policy, misses)) = analysis.ranking().first() {
        let best = format!("{policy}, {} misses", grouped(*misses));
        facts.push((format!("best policy with {compared}"), best));
    }
    if let Some(best) = analysis.simulated.best_prefetcher() {
        facts.push((format!("best prefetcher with {compared}"), best.prefetch.clone()));
    }
    facts
}

fn heat(analysis: &Analysis) -> Section {
    let heat = &analysis.places.heat;
    let runs = largest_runs(analysis);
    let pages = analysis.found.footprint();
    let label = |run: &&Run| {
        let first = heat.row_of(run.rank);
        let last = heat.row_of(run.rank + run.pages - 1);
        RowLabel { first, rows: last - first + 1, name: run.name.clone() }
    };
    let map = HeatMap {
        title: "Accesses by time and page".to_owned(),
        x: Axis::linear("record"),
        y: Axis::linear("page rank"),
        unit: "records".to_owned(),
        columns: heat.columns(),
        rows: heat.rows(),
        x_range: (0.0, analysis.found.accesses as f64),
        y_range: (0.0, pages as f64),
        cells: heat.cells().iter().map(|cell| *cell as f32).collect(),
        row_labels: runs.iter().map(label).collect(),
    };
    let rows = runs.iter().map(|run| {
        vec![
            run.name.clone(),
            format!("{:#x}", run.first.0),
            format!("{:#x}", run.last.0),
            grouped(run.rank),
            grouped(run.pages),
        ]
    });
    Section {
        id: "heat".to_owned(),
        title: "Which pages are used when".to_owned(),
        text: "Records of the trace by time and page. Pages are in the order of their addresses; those \
               that are never touched are left out, so that the rank of a page is the number of touched \
               pages below it."
            .to_owned(),
        figure: (pages > 0).then_some(Figure::Heat(map)),
        table: table(&["run of pages", "first page", "last page", "rank", "touched pages"], rows.collect()),
    }
}

/// The largest runs of pages, in order of address: a program may have any number.
fn largest_runs(analysis: &Analysis) -> Vec<&Run> {
    let mut runs: Vec<&Run> = analysis.places.regions.runs().iter().collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.pages));
    runs.truncate(MOST_RUNS);
    runs.sort_by_key(|run| run.rank);
    runs
}

fn exact(name: &str, curve: &Curve) -> Series {
    let point = |(pages, misses): &(usize, u64)| (*pages as f64, *misses as f64);
    Series { name: name.to_owned(), points: curve.steps().iter().map(point).collect() }
}

fn simulated(analysis: &Analysis, name: &str) -> Series {
    let rows = analysis.simulated.policies.iter().filter(|row| row.replacement == name);
    let points = rows.map(|row| (row.local_pages as f64, row.misses as f64)).collect();
    Series { name: name.to_owned(), points }
}

/// Two standard errors above and below a sampled curve.
fn bounds(analysis: &Analysis) -> Vec<Series> {
    let Some(sample) = &analysis.found.sample else { return Vec::new() };
    let records = analysis.found.accesses as f64;
    let bound = |name: &str, errors: f64| {
        let point = |point: &SampledPoint| {
            let ratio = (point.miss_ratio + errors * point.error).clamp(0.0, 1.0);
            (point.pages as f64, ratio * records)
        };
        Series { name: name.to_owned(), points: sample.points.iter().map(point).collect() }
    };
    vec![bound("lru, at most", 2.0), bound("lru, at least", -2.0)]
}

fn curves(analysis: &Analysis) -> Section {
    let opt = analysis.found.opt.as_ref().map(|opt| exact(simulate::OPT, opt));
    let mut series = vec![exact("lru", &analysis.found.lru), exact("mru", &analysis.found.mru)];
    series.push(opt.unwrap_or_else(|| simulated(analysis, simulate::OPT)));
    series.extend(POLICIES.iter().map(|name| simulated(analysis, name)));
    series.extend(bounds(analysis));
    series.retain(|series| !series.points.is_empty());
    let text = "Misses by size of memory. The curves of LRU and MRU are exact at every size, and of short \
                traces that of Belady's MIN (opt: no policy can have fewer); the others are simulated \
                at the sizes that have a marker. If a sample of the pages was asked for, the curve of \
                LRU is an estimate, and the true one lies between the two others at about 95 % of the sizes.";
    let chart = LineChart {
        title: "Misses by size of memory".to_owned(),
        x: Axis::linear("pages of memory"),
        y: Axis::log("misses"),
        series,
        steps: true,
    };
    Section {
        id: "curves".to_owned(),
        title: "Misses by size of memory".to_owned(),
        text: text.to_owned(),
        figure: Some(Figure::Lines(chart)),
        table: misses_table(analysis),
    }
}

/// Misses at shares of the footprint.
fn misses_table(analysis: &Analysis) -> Option<Table> {
    let footprint = analysis.found.footprint() as usize;
    let compared = analysis.simulated.compared_pages;
    let mut sizes: Vec<usize> =
        simulate::SHARES.iter().map(|s| (footprint * s / 100).max(1)).collect();
    sizes.extend([compared, footprint.max(1)]);
    sizes.sort_unstable();
    sizes.dedup();
    let mut columns = vec!["memory", "pages", "lru", "mru", "opt"];
    let simulated = &analysis.simulated.policies;
    if !simulated.is_empty() {
        columns.extend(POLICIES);
    }
    let row = |pages: &usize| {
        let opt = analysis.opt_misses(*pages).map_or_else(|| "-".to_owned(), grouped);
        let mut row = vec![bytes(*pages as u64)];
        row.extend([grouped(*pages as u64), grouped(analysis.found.lru.misses(*pages))]);
        row.extend([grouped(analysis.found.mru.misses(*pages)), opt]);
        let of = |name: &&str| {
            let at = |row: &&simulate::PolicyMisses| {
                row.replacement == *name && row.local_pages == *pages
            };
            simulated.iter().find(at).map_or_else(|| "-".to_owned(), |row| grouped(row.misses))
        };
        row.extend(columns[5..].iter().map(of));
        row
    };
    let rows = sizes.iter().map(row).collect();
    table(&columns, rows)
}

fn enough(analysis: &Analysis) -> Section {
    let share = |pages: usize| percent(pages as f64 / analysis.found.footprint().max(1) as f64);
    let row = |what: String, pages: usize, slowdown: f64| {
        let misses = grouped(analysis.found.lru.misses(pages));
        vec![what, size(pages as u64), share(pages), misses, percent(slowdown)]
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for need in &analysis.needs {
        let what = format!("at most {:.0} % slower", need.slowdown * 100.0);
        rows.push(row(what, need.pages, need.slowdown));
    }
    for knee in &analysis.knees {
        rows.push(row("knee".to_owned(), knee.pages, knee.slowdown));
    }
    let costs = &analysis.costs;
    Section {
        id: "enough".to_owned(),
        title: "How much memory is enough".to_owned(),
        text: format!(
            "Under LRU and without prefetching, at {} ns of work for each access, {} us for a fault, {} \
             us of latency and {} Gbit/s. First touches cost the same in any memory and do not count. A \
             knee is a size beyond which more memory pays much less: where the projected run time, on a \
             logarithmic scale, lies furthest below the straight line between its ends (Kneedle), and the \
             same in the parts before and behind it.",
            costs.access_ns,
            costs.fault_ns / 1000.0,
            costs.latency_ns / 1000.0,
            8.0 / costs.byte_ns
        ),
        figure: None,
        table: table(&["", "memory", "of the footprint", "misses", "slowdown"], rows),
    }
}

fn prefetchers(analysis: &Analysis) -> Option<Section> {
    let rows = &analysis.simulated.prefetchers;
    let none = rows.iter().find(|row| row.prefetch == "none")?.projected_time_ns.max(1) as f64;
    let row = |row: &simulate::PrefetcherRow| {
        vec![
            row.prefetch.clone(),
            format!("{:.3}", row.projected_time_ns as f64 / none),
            grouped(row.demand_faults),
            grouped(row.prefetched),
            grouped(row.prefetch_used),
            grouped(row.prefetch_late),
            percent(row.coverage),
            percent(row.accuracy),
        ]
    };
    let columns = [
        "prefetcher",
        "run time to none",
        "demand faults",
        "prefetched",
        "used",
        "late",
        "coverage",
        "accuracy",
    ];
    let compared = analysis.simulated.compared_pages as u64;
    Some(Section {
        id: "prefetchers".to_owned(),
        title: "Prefetchers".to_owned(),
        text: format!(
            "Simulated with {} of memory under second chance. The tape knows what comes: better than that \
             no prefetcher is likely to be.",
            size(compared)
        ),
        figure: None,
        table: table(&columns, rows.iter().map(row).collect()),
    })
}

fn working_set(analysis: &Analysis) -> Section {
    let (stretch, pages) = analysis.found.working_set.stretches();
    let point = |(i, pages): (usize, &u64)| (i as f64 * stretch as f64, *pages as f64);
    let points: Vec<(f64, f64)> = pages.iter().enumerate().map(point).collect();
    let mut sorted = pages;
    sorted.sort_unstable();
    let at = |share: usize| sorted.get(sorted.len().saturating_sub(1) * share / 100).copied();
    let row = |(what, share): (&str, usize)| vec![what.to_owned(), size(at(share).unwrap_or(0))];
    let rows =
        [("least", 0), ("median", 50), ("95 % of the stretches are below", 95), ("most", 100)];
    let chart = LineChart {
        title: "Working set".to_owned(),
        x: Axis::linear("record"),
        y: Axis::linear("pages"),
        series: vec![Series { name: "working set".to_owned(), points }],
        steps: true,
    };
    Section {
        id: "working-set".to_owned(),
        title: "Working set".to_owned(),
        text: format!("Different pages in each stretch of {} records.", grouped(stretch)),
        figure: Some(Figure::Lines(chart)),
        table: table(&["stretches", "working set"], rows.into_iter().map(row).collect()),
    }
}

fn reuse_distances(analysis: &Analysis) -> Section {
    let classes = &analysis.found.reuse;
    let point = |(distance, count): &(usize, u64)| (*distance as f64, *count as f64);
    let chart = LineChart {
        title: "Reuse distances".to_owned(),
        x: Axis::log("pages between two uses"),
        y: Axis::log("records"),
        series: vec![Series {
            name: "reuse distances".to_owned(),
            points: classes.iter().map(point).collect(),
        }],
        steps: true,
    };
    let all = analysis.found.accesses.max(1) as f64;
    let row = |(distance, count): &(usize, u64)| {
        let range =
            format!("{} to {}", grouped(*distance as u64), grouped(2 * *distance as u64 - 1));
        vec![range, grouped(*count), percent(*count as f64 / all)]
    };
    let mut rows: Vec<Vec<String>> = classes.iter().map(row).collect();
    let cold = analysis.found.footprint();
    rows.push(vec!["first uses".to_owned(), grouped(cold), percent(cold as f64 / all)]);
    Section {
        id: "reuse".to_owned(),
        title: "Reuse distances".to_owned(),
        text: "How many different pages are used from one use of a page to the next, that page included, \
               in classes that each begin at a power of two."
            .to_owned(),
        figure: Some(Figure::Lines(chart)),
        table: table(&["pages between two uses", "records", "share"], rows),
    }
}

fn phases(analysis: &Analysis) -> Section {
    let regions = analysis.places.regions.list();
    let rows = analysis.places.phases.iter().enumerate().map(|(number, row)| {
        let (region, share) = row.main.map_or_else(Default::default, |(region, share)| {
            (regions[region].name.clone(), percent(share))
        });
        vec![
            (number + 1).to_string(),
            grouped(row.phase.begin),
            grouped(row.phase.end),
            size(row.pages),
            region,
            share,
            format!("{:.2}", row.phase.change),
        ]
    });
    Section {
        id: "phases".to_owned(),
        title: "Phases".to_owned(),
        text: "A phase begins where the pages in use change: where the cosine distance between what is \
               used before and behind it (ranges of pages, logarithm of records, four of 128 stretches on \
               each side) is at least 0.3 and twice its median over the trace, and greatest nearby."
            .to_owned(),
        figure: None,
        table: table(
            &["phase", "first record", "end", "pages", "mostly in", "share of records", "change"],
            rows.collect(),
        ),
    }
}

fn regions(analysis: &Analysis) -> Section {
    let places = &analysis.places;
    let mut columns = vec!["region".to_owned(), "pages".to_owned(), "records".to_owned()];
    columns.push("best policy".to_owned());
    let first = places.misses.first().map(Vec::as_slice).unwrap_or_default();
    columns.extend(first.iter().map(|row| format!("{}, misses", row.replacement)));
    let rows = places.regions.list().iter().enumerate().map(|(number, region)| {
        let best = places.best(number).map_or_else(String::new, |row| row.replacement.clone());
        let mut row = vec![region.name.clone(), grouped(region.pages)];
        row.extend([grouped(places.accesses[number]), best]);
        row.extend(places.misses[number].iter().map(|row| row.misses.map(grouped).join(" / ")));
        row
    });
    Section {
        id: "regions".to_owned(),
        title: "Regions".to_owned(),
        text: format!(
            "Each region by itself: misses with {} of its pages local. The best policy is the one with \
             the fewest misses at all of them together.",
            shares()
        ),
        figure: None,
        table: Some(Table { columns, rows: rows.collect() }),
    }
}
