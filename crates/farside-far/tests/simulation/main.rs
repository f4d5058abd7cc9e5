//! The seeded simulator: the real client, over a simulated network and in simulated time, beside a model that says what
//! each page holds. Its nodes are the real ones; its Redis servers are modelled after what real ones do.
//!
//! `FARSIDE_SIM_SEED=s` runs one seed, `FARSIDE_SIM_SEEDS=n` runs `n` seeds from a random one on, and without either seeds
//! are run for [`BUDGET`]. Every seed that once failed is kept and runs first.

mod cable;
mod client;
mod leaving;
mod nodes;
mod part_client;
mod redis;
mod scheduler;

use std::time::{Duration, Instant};

/// How long random seeds are run.
const BUDGET: Duration = Duration::from_secs(10);

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is not a number")))
}

/// Runs seeds; `test` is what it is called by.
fn simulate(test: &str, kept: &[u64], run: fn(u64) -> Result<(), String>) {
    let check = |seed: u64| {
        if let Err(why) = run(seed) {
            panic!(
                "seed {seed}: {why}; to see it again: FARSIDE_SIM_SEED={seed} cargo test -p farside-far --test \
                 simulation {test} -- --nocapture"
            );
        }
    };
    if let Some(seed) = number("FARSIDE_SIM_SEED") {
        return check(seed);
    }
    kept.iter().for_each(|seed| check(*seed));
    let mut first = [0; 8];
    farside_os::random::fill(&mut first).unwrap();
    let first = u64::from_le_bytes(first) >> 1;
    let seeds = number("FARSIDE_SIM_SEEDS");
    let begun = Instant::now();
    let mut count = 0;
    while seeds.map_or(begun.elapsed() < BUDGET, |seeds| count < seeds) {
        check(first + count);
        count += 1;
    }
    println!("{count} seeds from {first} on");
}

#[test]
fn no_network_shows_a_page_that_is_not_what_was_stored() {
    simulate("no_network_shows_a_page", nodes::KEPT, nodes::run);
}

#[test]
fn no_network_shows_a_part_that_is_not_what_was_stored() {
    simulate("no_network_shows_a_part", nodes::KEPT_PARTS, nodes::run_parts);
}

#[test]
fn whoever_is_gone_leaves_no_page_behind_and_takes_no_other_ones_along() {
    simulate("whoever_is_gone", leaving::KEPT, leaving::run);
}

#[test]
fn no_cluster_loses_a_page_or_shows_another_one() {
    simulate("no_cluster_loses_a_page", redis::KEPT, redis::run);
}
