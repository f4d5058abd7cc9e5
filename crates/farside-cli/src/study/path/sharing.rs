//! Figure 7: two programs and one memory.

use farside_policy::replacement::Lru;
use farside_report::chart::{Axis, LineChart, Series};
use farside_sim::curve::LruDistances;
use farside_sim::partition::{Goal, Partitioning, Program, pool::Pool};
use farside_sim::simulation::Costs;
use farside_trace::{Accesses, TraceReader};

use super::experiment::Results;
use super::figure::Figure;
use super::model::{CYCLES_PER_ACCESS, CYCLES_PER_FAULT, SHARES};
use crate::Failure;

/// The two programs of the paper's experiment: SPECjbb and BT.
const PROGRAMS: [&str; 2] = ["Warehouse", "bt"];

/// PATH's g: the memory divided by this.
const STEPS: usize = 32;

/// One size of memory.
struct Row {
    share: usize,
    memory: usize,
    shares: Vec<usize>,
    /// Cycles of both programs together.
    pool: f64,
    greedy: f64,
    equal: f64,
    optimum: f64,
}

/// Cycles instead of nanoseconds: a fault has one price, a first touch none.
fn costs() -> Costs {
    Costs {
        access_ns: CYCLES_PER_ACCESS,
        fault_ns: CYCLES_PER_FAULT,
        first_touch_ns: 0.0,
        latency_ns: 0.0,
        byte_ns: 0.0,
        ..Costs::default()
    }
}

/// The figure; none unless both programs were studied.
///
/// # Errors
/// If a trace cannot be read.
pub fn figure(results: &[Results]) -> Result<Option<Figure>, Failure> {
    let find = |name: &&str| results.iter().find(|one| one.program.name == *name);
    let Some(pair) = PROGRAMS.iter().map(find).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    eprintln!("farside: simulating {} beside {}", PROGRAMS[0], PROGRAMS[1]);
    let footprint: usize = pair.iter().map(|one| one.captured.layout.footprint).sum();
    let programs = pair.iter().map(|one| program(one)).collect::<Result<Vec<_>, _>>()?;
    let rows = SHARES
        .iter()
        .map(|share| row(&pair, &programs, *share, footprint * share / 100))
        .collect::<Result<Vec<_>, _>>()?;
    let accesses: u64 = pair.iter().map(|one| one.captured.accesses).sum();
    Ok(Some(shown(&rows, CYCLES_PER_ACCESS * accesses as f64)))
}

fn program(one: &Results) -> Result<Program, Failure> {
    let mut distances = LruDistances::new();
    for access in accesses(one)? {
        distances.reference(access.map_err(bad)?.page);
    }
    let curve = distances.distances().curve();
    Ok(Program::new(curve, one.captured.accesses, &costs()))
}

fn bad(error: farside_trace::TraceError) -> Failure {
    Failure::usage(error.to_string())
}

fn accesses(one: &Results) -> Result<Accesses, Failure> {
    Ok(TraceReader::open(&one.captured.trace).map_err(bad)?.accesses())
}

fn row(
    pair: &[&Results],
    programs: &[Program],
    share: usize,
    memory: usize,
) -> Result<Row, Failure> {
    let impossible = |error: farside_sim::partition::Impossible| Failure::own(error.to_string());
    let partitioning =
        Partitioning::new(programs.to_vec(), memory, Goal::Throughput).map_err(impossible)?;
    let shares = partitioning.greedy(Some(memory / STEPS));
    let local = |shares: &[usize]| -> f64 {
        programs.iter().zip(shares).map(|(program, pages)| program.time_ns(*pages)).sum()
    };
    let mut traces = pair.iter().map(|one| accesses(one)).collect::<Result<Vec<_>, _>>()?;
    let pool = Pool::new(Lru::new(), memory, pair.len(), costs());
    let usages = pool.run(&mut traces, |_| ()).map_err(bad)?;
    Ok(Row {
        share,
        memory,
        pool: usages.iter().map(|usage| usage.time_ns).sum(),
        greedy: local(&shares),
        equal: local(&partitioning.equal()),
        optimum: local(&partitioning.optimum().shares),
        shares,
    })
}

fn shown(rows: &[Row], instructions: f64) -> Figure {
    let ways: [(&str, fn(&Row) -> f64); 4] = [
        ("one pool, LRU", |row| row.pool),
        ("throughput rule", |row| row.greedy),
        ("equal shares", |row| row.equal),
        ("best shares", |row| row.optimum),
    ];
    let series = ways.map(|(name, cycles)| Series {
        name: name.to_owned(),
        points: rows.iter().map(|row| (row.share as f64, instructions / cycles(row))).collect(),
    });
    let giga = |cycles: f64| format!("{:.1}", cycles / 1e9);
    let mut table = vec![vec![
        "memory, pages".to_owned(),
        format!("{}, pages", PROGRAMS[0]),
        format!("{}, pages", PROGRAMS[1]),
        "pool, 10^9 cycles".to_owned(),
        "rule, 10^9 cycles".to_owned(),
        "fewer".to_owned(),
        "best, 10^9 cycles".to_owned(),
    ]];
    table.extend(rows.iter().map(|row| {
        vec![
            format!("{} ({} %)", row.memory, row.share),
            row.shares[0].to_string(),
            row.shares[1].to_string(),
            giga(row.pool),
            giga(row.greedy),
            format!("{:.1} %", (1.0 - row.greedy / row.pool) * 100.0),
            giga(row.optimum),
        ]
    }));
    let all = |row: &Row| {
        let cycles =
            [row.pool, row.greedy, row.equal, row.optimum].map(|cycles| format!("{cycles:.0}"));
        let pages = [row.share, row.memory, row.shares[0], row.shares[1]].map(|n| n.to_string());
        pages.into_iter().chain(cycles).collect()
    };
    Figure {
        name: "figure-7",
        header: vec![
            "memory_percent",
            "memory_pages",
            "pages_warehouse",
            "pages_bt",
            "cycles_pool",
            "cycles_rule",
            "cycles_equal",
            "cycles_best",
        ],
        rows: rows.iter().map(all).collect(),
        table,
        panels: vec![LineChart {
            title: format!("{} and {} in one memory", PROGRAMS[0], PROGRAMS[1]),
            x: Axis::linear("memory, % of both footprints"),
            y: Axis::log("instructions per cycle, both together"),
            series: series.into(),
            steps: false,
        }],
    }
}
