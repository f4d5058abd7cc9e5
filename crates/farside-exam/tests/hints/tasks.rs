//! Tasks that wait for far memory while others run.

use super::place::Place;
use super::{MEGABYTES, NODES, few_faults};

#[test]
fn tasks_wait_while_others_run() {
    // With a hook their stacks are far memory, too: what gives hints there must not wait for itself.
    let test = "tasks_wait_while_others_run";
    let Some(place) = Place::new(test, "tasks.c", "gcc", &["-std=gnu99"]) else { return };
    for far in NODES {
        for how in ["steps", "hook"] {
            few_faults(&place.run(far, &[MEGABYTES, how]));
        }
    }
}
