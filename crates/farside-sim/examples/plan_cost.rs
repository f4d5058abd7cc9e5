//! What planning costs: records per second of a processor's time, bytes for each record, and what the plans fetch.
//!
//! `cargo run --release -p farside-sim --example plan_cost -- [RECORDS [FILE...]]`

use farside_sim::plan::{PlanError, PlanOptions, PlanPolicy, Planner};
use farside_trace::tape::{Step, StepKind};
use farside_trace::{
    Access, Block, Mapping, MappingChange, MappingEvent, PageId, TraceReader, synthetic,
};
use rustc_hash::FxHashSet;

/// Passes; the fastest counts.
const PASSES: usize = 3;

/// Pages that the patterns use.
const PAGES: u64 = 200_000;

/// Pages of each region that they lie in.
const REGION: u64 = 1 << 15;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let records = arguments.next().map_or(Ok(20_000_000), |text| text.parse())?;
    println!(
        "trace\tmicroset\trecords\tpages\tlocal\tpolicy\tM records/s\tM steps/s\tfetched\tpeak MB"
    );
    for path in arguments {
        let pages: Vec<_> = TraceReader::open(&path)?.collect::<Result<_, _>>()?;
        measure(&path, 1, &pages)?;
    }
    for microset in [1, 1024] {
        measure("panels", microset, &microsets(panels(), microset, records))?;
        measure("scan", microset, &microsets(scan(), microset, records))?;
        measure("fft", microset, &microsets(fft(), microset, records))?;
        let zipf = synthetic::zipf(6 * records, PAGES as usize, 7);
        measure("zipf", microset, &microsets(zipf, microset, records))?;
    }
    Ok(())
}

/// The references as a recorder tells them: each page once in a microset.
fn microsets(pages: impl Iterator<Item = PageId>, microset: usize, records: usize) -> Vec<PageId> {
    let mut current = FxHashSet::default();
    let new = pages.filter(|page| {
        if current.len() == microset && !current.contains(page) {
            current.clear();
        }
        current.insert(*page)
    });
    new.take(records).collect()
}

/// A product of matrices by panels: a panel of the first is used with each of the second.
fn panels() -> impl Iterator<Item = PageId> {
    let (matrix, panel) = (PAGES / 3, 256);
    let panels = matrix / panel;
    let product = (0..panels).flat_map(move |row| (0..panels).map(move |column| (row, column)));
    let pages = product.flat_map(move |(row, column)| {
        (0..panel).flat_map(move |i| {
            let of = |number: u64, panel_number: u64| number * matrix + panel_number * panel + i;
            [of(0, row), of(1, column), of(2, (row * 31 + column) % panels)].map(PageId)
        })
    });
    std::iter::repeat_with(move || pages.clone()).flatten()
}

fn scan() -> impl Iterator<Item = PageId> {
    (0..PAGES).map(PageId).cycle()
}

/// Butterflies of growing stride, as a transform in place makes them.
fn fft() -> impl Iterator<Item = PageId> {
    let pages = PAGES.next_power_of_two() / 2;
    let strides = (0..pages.ilog2()).map(|level| 1 << level);
    let level = move |stride: u64| {
        let blocks = (0..pages).step_by(2 * stride as usize);
        blocks.flat_map(move |block| {
            (block..block + stride).flat_map(move |page| [PageId(page), PageId(page + stride)])
        })
    };
    strides.cycle().flat_map(level)
}

fn measure(name: &str, microset: usize, pages: &[PageId]) -> Result<(), Failure> {
    let used = pages.iter().collect::<FxHashSet<_>>().len();
    for (percent, policy) in
        [(20, PlanPolicy::Lru), (20, PlanPolicy::Min), (60, PlanPolicy::Lru), (60, PlanPolicy::Min)]
    {
        let capacity = (used * percent / 100).max(1) as u64;
        let options = PlanOptions { policy, capacities: vec![capacity], threads: 1, microset };
        let mut best = f64::MAX;
        let mut counts = [0_u64; 3];
        reset_peak();
        let before = resident_bytes("VmHWM:");
        for _ in 0..PASSES {
            let start = busy_seconds();
            counts = plan(&options, pages)?;
            best = best.min(busy_seconds() - start);
        }
        let peak = resident_bytes("VmHWM:").saturating_sub(before);
        println!(
            "{name}\t{microset}\t{}\t{used}\t{percent} %\t{}\t{:.1}\t{:.1}\t{}\t{:.1}",
            pages.len(),
            policy.name(),
            pages.len() as f64 / best / 1e6,
            counts.iter().sum::<u64>() as f64 / best / 1e6,
            counts[1],
            peak as f64 / 1e6,
        );
    }
    Ok(())
}

/// The names of the regions that the patterns lie in, as a recorder gives them.
fn regions() -> Vec<MappingEvent> {
    let region = |nth: u64| {
        let name = format!("far:00000000000000ab:{nth}+0");
        let mapping = Mapping { first: PageId(nth * REGION), count: REGION, name };
        MappingEvent { access: 0, change: MappingChange::Appeared(mapping) }
    };
    (0..PAGES.div_ceil(REGION)).map(region).collect()
}

/// The steps by kind.
fn plan(options: &PlanOptions, pages: &[PageId]) -> Result<[u64; 3], Failure> {
    let mut counts = [0; 3];
    let mut count = |_: usize, _: u32, steps: &[Step]| {
        for step in steps {
            counts[match step.kind {
                StepKind::Touch => 0,
                StepKind::Fetch | StepKind::FetchToWrite => 1,
                StepKind::Evict => 2,
            }] += 1;
        }
        Ok::<_, PlanError>(())
    };
    let mut planner = Planner::new(options)?;
    let made = pages.iter().all(|page| page.0 < PAGES);
    let events = if made { regions() } else { Vec::new() };
    let mut block = Block { events, ..Block::default() };
    for chunk in pages.chunks(1 << 14) {
        block.accesses.clear();
        block.accesses.extend(chunk.iter().map(|page| Access::from(*page)));
        planner.feed(&block, &mut count)?;
        block.events.clear();
        block.first += chunk.len() as u64;
    }
    planner.finish(&mut count)?;
    Ok(counts)
}

/// For how long this thread was on a processor.
fn busy_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux machine");
    let busy_ns: f64 = text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a time");
    busy_ns / 1e9
}

/// Lets the peak begin anew; where it cannot, it is that of the whole program.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn resident_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
}
