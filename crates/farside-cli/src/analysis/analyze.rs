//! `farside analyze`: what a trace tells of a program's memory.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use farside_sim::curve::{Curve, Distances, LruDistances, MruDistances, OptDistances};
use farside_sim::need::needs;
use farside_sim::next_use::NextUses;
use farside_sim::simulation::{Costs, Memory};
use farside_sim::sweep::{Setup, Sweep};
use farside_sim::working_set::WorkingSet;
use farside_trace::PAGE_SIZE;
use serde::Serialize;
use serde_json::json;

use super::trace::read;
use crate::Failure;
use crate::options::Size;
use crate::run::grouped;

/// Shares of the footprint at which policies are simulated.
const SHARES: [usize; 5] = [5, 10, 20, 50, 75];

/// Policies that are simulated there.
const POLICIES: [&str; 6] = ["fifo", "second-chance", "clock1", "2q", "arc", "lirs"];

/// Slowdowns for which the memory needed is told.
const SLOWDOWNS: [f64; 3] = [0.01, 0.05, 0.2];

/// Accesses in a stretch of the working set, at first.
const STRETCH: u64 = 1 << 10;

/// Options of `farside analyze`.
#[derive(Debug, Args)]
pub struct AnalyzeArguments {
    /// The trace.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Work of the program for each data access, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = 1.0)]
    access_ns: f64,
    /// Print an object instead of text.
    #[arg(long)]
    json: bool,
}

/// What one pass over a trace finds.
struct Findings {
    accesses: u64,
    data_accesses: u64,
    writes: u64,
    lru: Distances,
    mru: Distances,
    opt: Option<Distances>,
    working_set: WorkingSet,
}

/// Misses of a policy with a share of the footprint.
#[derive(Debug, Serialize)]
struct PolicyMisses {
    replacement: String,
    local_pages: usize,
    misses: u64,
}

/// Analyses, and prints what was found.
pub fn analyze(arguments: &AnalyzeArguments) -> Result<ExitCode, Failure> {
    let costs = Costs { access_ns: arguments.access_ns, ..Costs::default() };
    if !(arguments.access_ns > 0.0 && arguments.access_ns <= 1e9) {
        return Err(Failure::usage(format!("--access-ns {}: not a time", arguments.access_ns)));
    }
    let found = find(arguments)?;
    let policies = policies(arguments, found.lru.cold() as usize, costs)?;
    let lru = found.lru.curve();
    let needs = needs(&lru, found.data_accesses, &costs, &SLOWDOWNS);
    if arguments.json {
        let (stretch, working_set) = found.working_set.stretches();
        let opt = found.opt.as_ref().map(|opt| opt.curve().steps().to_vec());
        let value = json!({
            "trace": arguments.trace.display().to_string(),
            "accesses": found.accesses,
            "data_accesses": found.data_accesses,
            "writes": found.writes,
            "footprint_pages": found.lru.cold(),
            "curves": {
                "lru": lru.steps(),
                "mru": found.mru.curve().steps(),
                "opt": opt,
            },
            "reuse_distances": reuse(&found.lru),
            "working_set": { "accesses": stretch, "pages": working_set },
            "policies": policies,
            "needs": needs.iter().map(|need| json!({
                "slowdown": need.slowdown, "pages": need.pages,
            })).collect::<Vec<_>>(),
        });
        println!("{value}");
    } else {
        print_page(arguments, &found, &lru, &policies, &needs);
    }
    Ok(ExitCode::SUCCESS)
}

fn find(arguments: &AnalyzeArguments) -> Result<Findings, Failure> {
    let (mut lru, mut mru) = (LruDistances::new(), MruDistances::new());
    let (mut accesses_seen, mut data_accesses, mut writes) = (0, 0, 0);
    let mut future = Some(NextUses::new());
    let mut working_set = WorkingSet::new(STRETCH);
    read(&arguments.trace, "analysing", |accesses| {
        for access in accesses {
            lru.reference(access.page);
            mru.reference(access.page);
            working_set.add(*access);
            data_accesses += u64::from(access.weight);
            writes += u64::from(access.write);
            if future.as_mut().is_some_and(|future| !future.push(access.page)) {
                // Too long for the curve of MIN; the rest goes on without.
                future = None;
            }
        }
        accesses_seen += accesses.len() as u64;
    })?;
    Ok(Findings {
        accesses: accesses_seen,
        data_accesses,
        writes,
        lru: lru.distances().clone(),
        mru: mru.distances().clone(),
        opt: future.map(|future| OptDistances::of(&future.finish())),
        working_set,
    })
}

/// Simulates policies that have no curve in one pass.
fn policies(
    arguments: &AnalyzeArguments,
    footprint: usize,
    costs: Costs,
) -> Result<Vec<PolicyMisses>, Failure> {
    let setup = |policy: &str, share: usize| Setup {
        replacement: policy.to_owned(),
        prefetch: "none".to_owned(),
        window: 0,
        memory: Memory::new(footprint * share / 100),
    };
    let setups: Vec<_> = POLICIES
        .iter()
        .flat_map(|policy| SHARES.iter().map(move |share| setup(policy, *share)))
        .collect();
    let mut sweep = Sweep::new(&setups, costs).map_err(|e| Failure::own(e.to_string()))?;
    read(&arguments.trace, "simulating", |accesses| sweep.feed(accesses))?;
    let misses = |(setup, outcome): (Setup, Option<farside_sim::simulation::Outcome>)| {
        Some(PolicyMisses {
            replacement: setup.replacement,
            local_pages: setup.memory.pages,
            misses: outcome?.misses,
        })
    };
    Ok(setups.into_iter().zip(sweep.finish()).filter_map(misses).collect())
}

/// Reuse distances in powers of two: the least distance of each class, and how many references are in it.
fn reuse(distances: &Distances) -> Vec<(usize, u64)> {
    let mut classes: Vec<(usize, u64)> = Vec::new();
    for (distance, count) in distances.iter() {
        let class = 1 << distance.ilog2();
        match classes.last_mut() {
            Some((last, total)) if *last == class => *total += count,
            _ => classes.push((class, count)),
        }
    }
    classes
}

fn print_page(
    arguments: &AnalyzeArguments,
    found: &Findings,
    lru: &Curve,
    policies: &[PolicyMisses],
    needs: &[farside_sim::need::Need],
) {
    let footprint = found.lru.cold();
    let bytes = |pages: u64| Size(pages * PAGE_SIZE as u64).to_string();
    println!("{}", arguments.trace.display());
    println!("  accesses   {:>16}", grouped(found.accesses));
    println!("  footprint  {:>16}  ({} pages)", bytes(footprint), grouped(footprint));
    let (stretch, working_set) = found.working_set.stretches();
    let largest = working_set.iter().copied().max().unwrap_or(0);
    let over = grouped(stretch);
    println!("  working set{:>16}  (most pages in {over} accesses)", bytes(largest));
    println!("\nHow much memory is enough (LRU, {} ns of work an access):", arguments.access_ns);
    for need in needs {
        let (percent, pages) = (need.slowdown * 100.0, need.pages as u64);
        let share = 100.0 * pages as f64 / footprint.max(1) as f64;
        println!(
            "  {percent:>4.0} % slower  {:>12}  ({share:.0} % of the footprint)",
            bytes(pages)
        );
    }
    println!("\nMisses by policy and share of the footprint that is local:");
    print!("  {:<14}", "");
    SHARES.iter().for_each(|share| print!("{:>13}", format!("{share} %")));
    println!();
    let line = |name: &str, misses: &mut dyn Iterator<Item = u64>| {
        print!("  {name:<14}");
        misses.for_each(|misses| print!("{:>13}", grouped(misses)));
        println!();
    };
    let sizes = SHARES.map(|share| (footprint as usize * share / 100).max(1));
    line("lru", &mut sizes.iter().map(|pages| lru.misses(*pages)));
    let mru = found.mru.curve();
    line("mru", &mut sizes.iter().map(|pages| mru.misses(*pages)));
    for policy in POLICIES {
        let own = policies.iter().filter(|found| found.replacement == policy);
        line(policy, &mut own.map(|found| found.misses));
    }
    if let Some(opt) = found.opt.as_ref().map(Distances::curve) {
        line("opt", &mut sizes.iter().map(|pages| opt.misses(*pages)));
    }
}
