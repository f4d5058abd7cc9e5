//! Figures 6 and 8 to 12, and the table of programs.

use farside_report::chart::{Axis, LineChart, Series};

use super::super::figure::{Figure, Panel};
use super::experiment::{Policy, Results};
use super::model::{BUFFER, BUFFERS, PAPER_BUFFER, SHARE, SHARES};

/// Shares of the footprint that the tables show.
const SHOWN: [usize; 4] = [20, 40, 60, 80];

/// Programs that have a panel in figure 6: four, as in the paper. All are in the numbers.
const REPLACEMENT: [&str; 4] = ["fft", "lu_contiguous", "lu_noncontiguous", "ocean"];

/// In figures 8 and 9.
const PREFETCHING: [&str; 4] = ["mg", "lu_noncontiguous", "cube", "Warehouse"];

/// In figure 10.
const REPLACEMENT_BY_BUFFER: [&str; 4] = ["fft", "lu_contiguous", "lu_noncontiguous", "Warehouse"];

/// In figure 11.
const PREFETCHING_BY_BUFFER: [&str; 4] = ["fft", "mg", "lu_noncontiguous", "cube"];

/// In figure 12.
const OVERHEAD: [&str; 6] = ["fft", "lu_noncontiguous", "radix", "cg", "cube", "Warehouse"];

/// The results of some programs, as far as they were studied.
fn of<'a>(results: &'a [Results], names: &'a [&str]) -> impl Iterator<Item = &'a Results> {
    names.iter().filter_map(|name| results.iter().find(|one| one.program.name == *name))
}

/// All of them.
pub fn all(results: &[Results]) -> Vec<Figure> {
    vec![
        programs(results),
        replacement(results),
        prefetching(results),
        bandwidth(results),
        replacement_by_buffer(results),
        prefetching_by_buffer(results),
        overhead(results),
    ]
}

fn name_of(policy: Policy) -> &'static str {
    match policy {
        Policy::Lru => "LRU",
        Policy::Region => "region",
        Policy::RegionPerArray => "region, one per array",
        Policy::Lirs => "LIRS",
        Policy::Spatial => "spatial",
        Policy::Proximity => "proximity",
    }
}

fn line(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Series {
    Series { name: name.to_owned(), points: points.collect() }
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn programs(results: &[Results]) -> Figure {
    let row = |one: &Results| {
        let captured = &one.captured;
        let numbers = [
            captured.accesses,
            captured.records,
            captured.layout.footprint as u64,
            captured.layout.arrays() as u64,
        ];
        let mut row = cells([one.program.name, one.program.like]);
        row.extend(numbers.map(|number| number.to_string()));
        row
    };
    let rows: Vec<_> = results.iter().map(row).collect();
    let titles = ["program", "like", "accesses", "past the TLB", "pages", "arrays"];
    let mut table = vec![cells(titles)];
    table.extend(rows.iter().cloned());
    Figure {
        name: "programs",
        header: vec!["program", "like", "accesses", "records", "pages", "arrays"],
        rows,
        table,
        panels: Vec::new(),
    }
}

/// Rows of all policies at all sizes of memory.
fn by_memory(results: &[Results], policies: &[Policy]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for one in results {
        for policy in policies {
            for share in SHARES {
                let outcome = one.outcome(*policy, BUFFER, share);
                let mut row = cells([one.program.name, name_of(*policy)]);
                row.push((one.captured.layout.footprint * share / 100).to_string());
                row.push(share.to_string());
                row.push(outcome.demand_faults().to_string());
                row.push(outcome.prefetched.to_string());
                row.push((outcome.prefetch_used + outcome.prefetch_late).to_string());
                row.push((outcome.fetched_bytes >> 12).to_string());
                row.push((outcome.written_bytes >> 12).to_string());
                row.push(format!("{:.0}", one.cycles(*policy, BUFFER, share)));
                rows.push(row);
            }
        }
    }
    rows
}

const BY_MEMORY: [&str; 10] = [
    "program",
    "policy",
    "memory_pages",
    "memory_percent",
    "faults",
    "prefetched",
    "prefetch_used",
    "pages_in",
    "pages_out",
    "cycles",
];

/// A table of a ratio to LRU for the other policies: above 1 is better than LRU.
fn gains(
    results: &[Results],
    policies: &[Policy],
    ratio: impl Fn(&Results, Policy, usize) -> f64,
) -> Vec<Vec<String>> {
    let mut titles = cells(["program", "policy"]);
    titles.extend(SHOWN.map(|share| format!("{share} %")));
    let mut table = vec![titles];
    for one in results {
        for policy in policies {
            let mut row = cells([one.program.name, name_of(*policy)]);
            row.extend(SHOWN.map(|share| format!("{:.2}", ratio(one, *policy, share))));
            table.push(row);
        }
    }
    table
}

fn time_gain(one: &Results, policy: Policy, share: usize) -> f64 {
    one.cycles(Policy::Lru, BUFFER, share) / one.cycles(policy, BUFFER, share)
}

fn pages_moved(one: &Results, policy: Policy, share: usize) -> f64 {
    let outcome = one.outcome(policy, BUFFER, share);
    ((outcome.fetched_bytes + outcome.written_bytes) >> 12) as f64
}

/// A panel for each program, a line for each policy.
fn panels_by_memory<'a>(
    results: impl Iterator<Item = &'a Results>,
    policies: &[Policy],
    unit: &str,
    value: impl Fn(&Results, Policy, usize) -> f64,
) -> Vec<Panel> {
    let panel = |one: &Results| LineChart {
        title: one.program.name.to_owned(),
        x: Axis::linear("memory, % of the footprint"),
        y: Axis::log(unit),
        series: policies
            .iter()
            .map(|policy| {
                let points =
                    SHARES.iter().map(|share| (*share as f64, value(one, *policy, *share)));
                line(name_of(*policy), points)
            })
            .collect(),
        steps: false,
    };
    results.map(panel).map(Panel::Lines).collect()
}

fn giga(cycles: f64) -> f64 {
    cycles / 1e9
}

fn replacement(results: &[Results]) -> Figure {
    let policies = &Policy::REPLACEMENT;
    Figure {
        name: "figure-6",
        header: BY_MEMORY.into(),
        rows: by_memory(results, policies),
        table: gains(results, &policies[1..], time_gain),
        panels: panels_by_memory(
            of(results, &REPLACEMENT),
            policies,
            "10^9 cycles",
            |one, policy, share| giga(one.cycles(policy, BUFFER, share)),
        ),
    }
}

fn prefetching(results: &[Results]) -> Figure {
    let policies = &Policy::PREFETCH;
    Figure {
        name: "figure-8",
        header: BY_MEMORY.into(),
        rows: by_memory(results, policies),
        table: gains(results, &policies[1..], time_gain),
        panels: panels_by_memory(
            of(results, &PREFETCHING),
            policies,
            "10^9 cycles",
            |one, policy, share| giga(one.cycles(policy, BUFFER, share)),
        ),
    }
}

/// The numbers of this one are in figure 8's.
fn bandwidth(results: &[Results]) -> Figure {
    let policies = &Policy::PREFETCH;
    let header = ["program", "policy", "memory_percent", "pages_moved"];
    let mut rows = Vec::new();
    for one in results {
        for policy in policies {
            for share in SHARES {
                let mut row = cells([one.program.name, name_of(*policy)]);
                row.push(share.to_string());
                row.push(format!("{:.0}", pages_moved(one, *policy, share)));
                rows.push(row);
            }
        }
    }
    let more = |one: &Results, policy: Policy, share: usize| {
        pages_moved(one, policy, share) / pages_moved(one, Policy::Lru, share).max(1.0)
    };
    Figure {
        name: "figure-9",
        header: header.into(),
        rows,
        table: gains(results, &policies[1..], more),
        panels: panels_by_memory(
            of(results, &PREFETCHING),
            policies,
            "pages in and out",
            pages_moved,
        ),
    }
}

/// Rows of all policies behind all buffers.
fn by_buffer(results: &[Results], policies: &[Policy]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for one in results {
        for buffer in BUFFERS {
            for policy in policies {
                let counts = one.counts(buffer);
                let mut row = cells([one.program.name, name_of(*policy)]);
                row.push(buffer.to_string());
                row.push(counts.recorded.to_string());
                row.push(counts.overflows.to_string());
                row.push(one.outcome(*policy, buffer, SHARE).demand_faults().to_string());
                row.push(format!("{:.0}", one.cycles(*policy, buffer, SHARE)));
                let overhead = match policy {
                    Policy::Proximity => one.prefetch_overhead(buffer, SHARE),
                    _ => one.hardware_overhead(buffer),
                };
                row.push(format!("{overhead:.6}"));
                rows.push(row);
            }
        }
    }
    rows
}

const BY_BUFFER: [&str; 8] =
    ["program", "policy", "buffer", "recorded", "overflows", "faults", "cycles", "overhead"];

/// Buffers that the tables show.
const SHOWN_BUFFERS: [usize; 4] = [128, 512, PAPER_BUFFER, 8192];

/// A table of times relative to the smallest buffer.
fn times_by_buffer(results: &[Results], policies: &[Policy]) -> Vec<Vec<String>> {
    let mut titles = cells(["program", "policy"]);
    titles.extend(SHOWN_BUFFERS.map(|buffer| buffer.to_string()));
    let mut table = vec![titles];
    for one in results {
        for policy in policies {
            let first = one.cycles(*policy, BUFFERS[0], SHARE);
            let mut row = cells([one.program.name, name_of(*policy)]);
            row.extend(
                SHOWN_BUFFERS
                    .map(|buffer| format!("{:.2}", one.cycles(*policy, buffer, SHARE) / first)),
            );
            table.push(row);
        }
    }
    table
}

fn panels_by_buffer<'a>(
    results: impl Iterator<Item = &'a Results>,
    policies: &[Policy],
) -> Vec<Panel> {
    let panel = |one: &Results| LineChart {
        title: one.program.name.to_owned(),
        x: Axis::log("entries of the page access buffer"),
        y: Axis::log("10^9 cycles"),
        series: policies
            .iter()
            .map(|policy| {
                let points = BUFFERS
                    .iter()
                    .map(|buffer| (*buffer as f64, giga(one.cycles(*policy, *buffer, SHARE))));
                line(name_of(*policy), points)
            })
            .collect(),
        steps: false,
    };
    results.map(panel).map(Panel::Lines).collect()
}

fn replacement_by_buffer(results: &[Results]) -> Figure {
    let policies = [Policy::Region, Policy::Lirs];
    Figure {
        name: "figure-10",
        header: BY_BUFFER.into(),
        rows: by_buffer(results, &policies),
        table: times_by_buffer(results, &policies),
        panels: panels_by_buffer(of(results, &REPLACEMENT_BY_BUFFER), &policies),
    }
}

fn prefetching_by_buffer(results: &[Results]) -> Figure {
    let policies = [Policy::Proximity];
    Figure {
        name: "figure-11",
        header: BY_BUFFER.into(),
        rows: by_buffer(results, &policies),
        table: times_by_buffer(results, &policies),
        panels: panels_by_buffer(of(results, &PREFETCHING_BY_BUFFER), &policies),
    }
}

fn overhead(results: &[Results]) -> Figure {
    let mut rows = Vec::new();
    let mut titles = cells(["program"]);
    titles.extend(SHOWN_BUFFERS.map(|buffer| format!("PATH, {buffer}")));
    titles.extend(SHOWN_BUFFERS.map(|buffer| format!("software, {buffer}")));
    let mut table = vec![titles];
    for one in results {
        for buffer in BUFFERS {
            let mut row = cells([one.program.name]);
            row.push(buffer.to_string());
            row.push(format!("{:.6}", one.hardware_overhead(buffer)));
            row.push(format!("{:.6}", one.software_overhead(buffer)));
            rows.push(row);
        }
        let mut row = cells([one.program.name]);
        row.extend(SHOWN_BUFFERS.map(|buffer| percent(one.hardware_overhead(buffer))));
        row.extend(SHOWN_BUFFERS.map(|buffer| percent(one.software_overhead(buffer))));
        table.push(row);
    }
    let panel = |one: &Results| {
        let points = |value: fn(&Results, usize) -> f64| {
            let point = move |buffer: &usize| (*buffer as f64, value(one, *buffer) * 100.0);
            BUFFERS.iter().map(point).filter(|(_, y)| *y > 0.0)
        };
        LineChart {
            title: one.program.name.to_owned(),
            x: Axis::log("entries of the buffer, pages of the active set"),
            y: Axis::log("overhead, %"),
            series: vec![
                line("PATH", points(Results::hardware_overhead)),
                line("software", points(Results::software_overhead)),
            ],
            steps: false,
        }
    };
    Figure {
        name: "figure-12",
        header: vec!["program", "entries", "path", "software"],
        rows,
        table,
        panels: of(results, &OVERHEAD).map(panel).map(Panel::Lines).collect(),
    }
}

/// The greatest gain of a policy over LRU in time, and the share of the footprint where it has it.
pub fn greatest_gain(one: &Results, policy: Policy) -> (f64, usize) {
    let gains = SHARES.map(|share| (time_gain(one, policy, share), share));
    gains.into_iter().fold((0.0, 0), |best, next| if next.0 > best.0 { next } else { best })
}
