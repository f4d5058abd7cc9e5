//! Tasks that wait for far memory while others run.

use std::path::{Path, PathBuf};

use farside_exam::skipped;

use super::place::{Place, counter};
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

/// The header of Boost.Fiber, and its package.
const BOOST_FIBER: &str = "/usr/include/boost/fiber/all.hpp";
const BOOST_PACKAGE: &str = "libboost-fiber-dev";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Runs an example on all nodes; what it waits for comes by hints.
fn hinted(place: &Place, arguments: &[&str], least: u64) {
    for far in NODES {
        let counted = place.run(far, arguments);
        let hinted = counter(&counted, "hinted_pages");
        assert!(hinted > least, "{hinted} hinted pages on {far}");
    }
}

#[test]
fn fibers_wait_while_others_run() {
    let test = "fibers_wait_while_others_run";
    if !Path::new(BOOST_FIBER).exists() {
        return skipped(
            test,
            &format!("no {BOOST_FIBER}; install it: apt-get install {BOOST_PACKAGE}"),
        );
    }
    let flags = ["-std=c++20", "-lboost_fiber", "-lboost_context"];
    let Some(place) = Place::of(test, &example("kvserver.cc"), "g++", &flags) else { return };
    let load = ["--items", "30000", "--requests", "20000"];
    for more in [&["--fibers", "16"][..], &["--fibers", "1"], &["--blocking"]] {
        hinted(&place, &[&load, more].concat(), 5000);
    }
}

#[test]
fn coroutines_wait_while_others_run() {
    let test = "coroutines_wait_while_others_run";
    let flags = ["-std=c++20"];
    let Some(place) = Place::of(test, &example("coroutines.cc"), "g++", &flags) else { return };
    hinted(&place, &["--megabytes", MEGABYTES, "--walks", "20", "--steps", "500"], 5000);
}

#[test]
fn tasks_of_rust_wait_while_others_run() {
    let place = Place::built(env!("CARGO_BIN_EXE_lookups"));
    hinted(&place, &[MEGABYTES, "20", "500"], 5000);
}
