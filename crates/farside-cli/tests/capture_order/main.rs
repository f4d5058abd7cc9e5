//! The order of the threads' words: virtual threads write them as the plugin does, store by store and
//! as a seed decides, and everything has to be told in the order of its places.
//!
//! `FARSIDE_SIM_SEED=s` runs one seed, `FARSIDE_SIM_SEEDS=n` runs `n` seeds from a random one on, and
//! without either seeds are run for [`BUDGET`].

mod damage;
mod memory;
mod program;
mod random;
mod truth;
mod writer;

use std::time::{Duration, Instant};

use crate::program::{Run, Seen};

/// How long random seeds are run.
const BUDGET: Duration = Duration::from_secs(10);

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is not a number")))
}

/// Says which seed it was if the test fails while it lives.
struct Shown(u64);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(seed) = self;
            eprintln!(
                "seed {seed}; to see it again: FARSIDE_SIM_SEED={seed} cargo test -p farside-cli \
                 --test capture_order -- --nocapture"
            );
        }
    }
}

fn run(seed: u64) -> Seen {
    let _shown = Shown(seed);
    let mut run = Run::new(seed, false);
    let killed = run.play();
    run.conclude(killed)
}

#[test]
fn everything_is_told_in_the_order_of_its_places() {
    if let Some(seed) = number("FARSIDE_SIM_SEED") {
        println!("{:?}", run(seed));
        return;
    }
    let start = farside_os::thread::now_ns() ^ u64::from(std::process::id()) << 40;
    println!("seeds from {start} on");
    let begun = Instant::now();
    let most = number("FARSIDE_SIM_SEEDS");
    let mut seen = Seen::default();
    while most.map_or(begun.elapsed() < BUDGET, |most| seen.runs < most) {
        seen.add(run(start.wrapping_add(seen.runs)));
    }
    println!("{seen:#?} in {:.1} s", begun.elapsed().as_secs_f64());
}
