//! Hints with arguments by chance. `FARSIDE_WILD_SEED=s` runs one seed, `FARSIDE_WILD_SEEDS=n` so many from a random one
//! on.

use std::time::{SystemTime, UNIX_EPOCH};

use super::place::Place;
use super::{MEGABYTES, NODES};

/// Seeds of an ordinary run.
const SEEDS: u64 = 2;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn hints_by_chance_change_nothing() {
    let test = "hints_by_chance_change_nothing";
    let Some(place) = Place::new(test, "wild.c", "gcc", &["-std=gnu99"]) else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let (first, count) = match number("FARSIDE_WILD_SEED") {
        Some(seed) => (seed, 1),
        None => (now.as_millis() as u64, number("FARSIDE_WILD_SEEDS").unwrap_or(SEEDS)),
    };
    println!(
        "seeds from {first} on; one of them again: FARSIDE_WILD_SEED=s, with this test's name"
    );
    for seed in first..first + count {
        for (far, replacement) in NODES.into_iter().zip(["eden", "second-chance"]) {
            place.run_with(far, replacement, &[&seed.to_string(), MEGABYTES]);
        }
    }
}

#[test]
fn the_latest_pages_can_be_pinned_whatever_leaves_first() {
    let test = "the_latest_pages_can_be_pinned_whatever_leaves_first";
    let Some(place) = Place::new(test, "pinned.c", "gcc", &["-std=gnu11"]) else { return };
    for replacement in ["mru", "bimodal", "lirs", "adaptive", "second-chance"] {
        place.run_with(NODES[0], replacement, &[MEGABYTES, "200"]);
    }
}
