//! Programs whose machine, memory nodes and clusters are cut off from one another, and connected again.

mod cluster;
mod nodes;

use std::time::{Duration, Instant};

use farside_exam::{Churn, Machine, Network, Running, has_program, plain_only, skipped};

/// A network for a test, if the machine can carry it out.
fn network(test: &str) -> Option<Network> {
    if plain_only() {
        skipped(test, "plain runs have no network");
        return None;
    }
    has_program(test, "gcc", "gcc").then(|| Network::new(test)).flatten()
}

/// Starts the program on a machine, and waits until its memory is filled.
fn start(churn: &Churn, machine: &Machine, far: &str) -> Running {
    let program = churn.program.clone().on(machine);
    let program = program.env("FARSIDE_FAR", far).env("FARSIDE_INSECURE", "yes");
    let mut running = churn.start_as(&program);
    churn.await_filled(&mut running);
    running
}

/// Lets some time pass, after which the program is to run still.
fn endure(running: &mut Running, ms: u64) {
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        assert!(running.is_running(), "it ended too early: {}", running.errors_so_far());
        std::thread::sleep(Duration::from_millis(20));
    }
}
