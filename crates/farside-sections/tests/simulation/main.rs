//! The seeded simulator: real sections on a simulated far store, used by several threads, through interleavings that a
//! seed decides.
//!
//! `FARSIDE_SIM_SEED=s` runs one seed and, if it fails, shows its events; `FARSIDE_SIM_SEEDS=n` runs `n` seeds from a
//! random one on. Without either seeds are run for [`BUDGET`]. Every seed that once failed is kept in [`KEPT`] and runs
//! first.

mod program;
mod random;
mod reader;
mod scheduler;
mod store;
mod world;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use farside_pager::counters::Snapshot;

pub(crate) const PAGE: usize = farside_os::memory::PAGE;

/// How long random seeds are run.
const BUDGET: Duration = Duration::from_secs(10);

/// Events that a failing seed shows when it is met; all of them when it is run by itself.
const SHOWN: usize = 200;

/// Seeds that once failed.
const KEPT: &[u64] = &[
    // What had left was put back although somebody had fetched it again.
    28562940098797321,
];

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is not a number")))
}

fn run(seed: u64, shown: usize) -> Snapshot {
    world::run(seed, shown).unwrap_or_else(|| {
        panic!(
            "seed {seed} failed as shown above; to see it again: FARSIDE_SIM_SEED={seed} cargo test -p \
             farside-sections --test simulation -- --nocapture"
        )
    })
}

#[test]
fn no_interleaving_loses_a_line() {
    if let Some(seed) = number("FARSIDE_SIM_SEED") {
        run(seed, usize::MAX);
        return;
    }
    for seed in KEPT {
        run(*seed, SHOWN);
    }
    let start = farside_os::thread::now_ns() ^ u64::from(std::process::id()) << 40;
    println!("seeds from {start} on");
    let begun = Instant::now();
    let most = number("FARSIDE_SIM_SEEDS");
    let mut count = 0;
    let mut totals = BTreeMap::new();
    while most.map_or(begun.elapsed() < BUDGET, |most| count < most) {
        let counted = run(start.wrapping_add(count), SHOWN);
        for (name, value) in counted.fields() {
            if name.starts_with("section_") {
                *totals.entry(name).or_insert(0) += value;
            }
        }
        count += 1;
    }
    println!("{count} seeds in {:.1} s; they saw", begun.elapsed().as_secs_f64());
    for (name, total) in totals {
        println!("{total:12} {name}");
    }
}
