//! Figure 7: two programs and one memory.

use farside_policy::replacement::Lru;
use farside_report::chart::{Axis, LineChart, Series};
use farside_sim::curve::LruDistances;
use farside_sim::page_map::{NONE, PageMap};
use farside_sim::partition::{Goal, Partitioning, Program};
use farside_sim::replay::Replay;
use farside_sim::simulation::Costs;
use farside_trace::{Access, PageId, TraceReader};

use super::super::figure::{Figure, Panel};
use super::experiment::Results;
use super::model::{CYCLES_PER_ACCESS, CYCLES_PER_FAULT};
use crate::Failure;

/// The two programs of the paper's experiment: SPECjbb and BT.
const PROGRAMS: [&str; 2] = ["Warehouse", "bt"];

/// PATH's g: the memory divided by this.
const STEPS: usize = 32;

/// Sizes of memory, in hundredths of both footprints.
const MEMORIES: [usize; 4] = [40, 50, 60, 70];

/// The one whose progress is drawn.
const DRAWN: usize = 50;

/// Both programs' work, how many times over, is done in total.
const ROUNDS: u64 = 2;

/// Points of the drawing.
const SAMPLES: u64 = 40;

/// One size of memory.
struct Row {
    percent: usize,
    memory: usize,
    shares: Vec<usize>,
    pool: Course,
    rule: Course,
    equal: Course,
}

/// How both programs went on.
struct Course {
    /// Cycles until the work was done.
    cycles: f64,
    /// Cycles, and instructions per cycle since the point before.
    progress: Vec<(f64, f64)>,
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
    super::tell(&format!("simulating {} beside {}", PROGRAMS[0], PROGRAMS[1]));
    let traces = pair.iter().map(|one| accesses(one)).collect::<Result<Vec<_>, _>>()?;
    let footprint: usize = pair.iter().map(|one| one.captured.layout.footprint).sum();
    let programs: Vec<_> = traces.iter().map(|trace| program(trace)).collect();
    let rows = MEMORIES
        .iter()
        .map(|percent| row(&traces, &programs, *percent, footprint * percent / 100))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Some(shown(&rows)))
}

fn program(trace: &[Access]) -> Program {
    let mut distances = LruDistances::new();
    trace.iter().for_each(|access| {
        distances.reference(access.page);
    });
    Program::new(distances.distances().curve(), work_of(trace), &costs())
}

/// Data accesses of a trace.
fn work_of(trace: &[Access]) -> u64 {
    trace.iter().map(|access| u64::from(access.weight)).sum()
}

fn accesses(one: &Results) -> Result<Vec<Access>, Failure> {
    let bad = |error: farside_trace::TraceError| Failure::usage(error.to_string());
    TraceReader::open(&one.captured.trace)
        .map_err(bad)?
        .accesses()
        .collect::<Result<_, _>>()
        .map_err(bad)
}

fn row(
    traces: &[Vec<Access>],
    programs: &[Program],
    percent: usize,
    memory: usize,
) -> Result<Row, Failure> {
    let impossible = |error: farside_sim::partition::Impossible| Failure::own(error.to_string());
    let partitioning =
        Partitioning::new(programs.to_vec(), memory, Goal::Throughput).map_err(impossible)?;
    let shares = partitioning.greedy(Some(memory / STEPS));
    let mut one = Replay::new(Lru::new(), memory);
    // The programs' pages lie apart in the pool.
    let pool =
        course(traces, |program, page| one.reference(PageId(page.0 | (program as u64) << 48)));
    let local = |shares: &[usize]| {
        let mut own: Vec<_> = shares.iter().map(|pages| Replay::new(Lru::new(), *pages)).collect();
        course(traces, |program, page| own[program].reference(page))
    };
    let (rule, equal) = (local(&shares), local(&partitioning.equal()));
    Ok(Row { percent, memory, shares, pool, rule, equal })
}

/// Both programs side by side, each on a processor of its own and from the beginning again when it ends,
/// until their work together is done. `missing` references a page of a program.
fn course(traces: &[Vec<Access>], mut missing: impl FnMut(usize, PageId) -> bool) -> Course {
    let work = ROUNDS * traces.iter().map(|trace| work_of(trace)).sum::<u64>();
    let mut touched: Vec<_> = traces.iter().map(|_| PageMap::new()).collect();
    let (mut next, mut clock) = (vec![0; traces.len()], vec![0.0; traces.len()]);
    let mut course = Course { cycles: 0.0, progress: Vec::new() };
    let (mut done, mut before, mut since) = (0, 0, 0.0);
    while done < work {
        let program = usize::from(clock[1] < clock[0]);
        let access = traces[program][next[program]];
        next[program] = (next[program] + 1) % traces[program].len();
        clock[program] += CYCLES_PER_ACCESS * f64::from(access.weight);
        let known = std::mem::replace(touched[program].entry(access.page), 0) != NONE;
        if missing(program, access.page) && known {
            clock[program] += CYCLES_PER_FAULT;
        }
        done += u64::from(access.weight);
        let now = clock[program].min(clock[1 - program]);
        if done - before >= work / SAMPLES && now > since {
            let instructions = CYCLES_PER_ACCESS * (done - before) as f64;
            course.progress.push((now, instructions / (now - since)));
            (before, since) = (done, now);
        }
    }
    course.cycles = clock.iter().fold(0.0, |most: f64, cycles| most.max(*cycles));
    course
}

/// Cycles saved against the pool, as a share.
fn saved(row: &Row) -> f64 {
    1.0 - row.rule.cycles / row.pool.cycles
}

fn shown(rows: &[Row]) -> Figure {
    let giga = |course: &Course| format!("{:.2}", course.cycles / 1e9);
    let titles = [
        "memory, pages",
        "to Warehouse",
        "to bt",
        "pool, 10^9 cycles",
        "equal shares",
        "throughput rule",
        "rule against pool",
    ];
    let mut table = vec![titles.map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| {
        vec![
            format!("{} ({} %)", row.memory, row.percent),
            row.shares[0].to_string(),
            row.shares[1].to_string(),
            giga(&row.pool),
            giga(&row.equal),
            giga(&row.rule),
            format!("{:+.0} %", -100.0 * saved(row)),
        ]
    }));
    let numbers = |row: &Row| {
        let cycles = [&row.pool, &row.rule, &row.equal].map(|one| format!("{:.0}", one.cycles));
        let pages = [row.percent, row.memory, row.shares[0], row.shares[1]];
        pages.map(|number| number.to_string()).into_iter().chain(cycles).collect()
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
        ],
        rows: rows.iter().map(numbers).collect(),
        table,
        panels: rows
            .iter()
            .filter(|row| row.percent == DRAWN)
            .map(panel)
            .map(Panel::Lines)
            .collect(),
    }
}

fn panel(row: &Row) -> LineChart {
    let line = |name: &str, course: &Course| Series {
        name: name.to_owned(),
        points: course.progress.iter().map(|(cycles, ipc)| (cycles / 1e9, *ipc)).collect(),
    };
    LineChart {
        title: format!("{} and {}, {} pages", PROGRAMS[0], PROGRAMS[1], row.memory),
        x: Axis::linear("10^9 cycles"),
        y: Axis::log("instructions per cycle, both together"),
        series: vec![
            line("one pool, LRU", &row.pool),
            line("throughput rule", &row.rule),
            line("equal shares", &row.equal),
        ],
        steps: false,
    }
}
