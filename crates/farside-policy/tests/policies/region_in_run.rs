//! Region-specific replacement in runs, where a sample of the pages tells what suits a region.

use crate::support::run::Run;
use farside_policy::replacement::region::Order;
use farside_policy::replacement::{
    Assigned, RegionsInRun, ReplacementPolicy, SecondChance, in_run,
};
use farside_trace::{PageId, PageRange, PageSample};

/// Where the loop goes.
const LOOP: PageRange = PageRange::new(PageId(10_000), 6000);

/// Of what pages are used by chance.
const CHANCE: PageRange = PageRange::new(PageId(20_000), 2000);

fn numbers() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1_u64), |state| {
        Some(state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407))
    })
    .map(|state| state >> 33)
}

/// Rounds of a loop over 6,000 pages; after each step a page of 2,000 by chance.
fn mixed(rounds: u64) -> impl Iterator<Item = u64> {
    let steps = (0..rounds * LOOP.count).map(|at| LOOP.first.0 + at % LOOP.count);
    let chance = numbers().map(|number| CHANCE.first.0 + number % CHANCE.count);
    steps.zip(chance).flat_map(|(step, chance)| [step, chance])
}

fn two_regions() -> RegionsInRun {
    let mut policy = RegionsInRun::new();
    policy.begin_region(LOOP);
    policy.begin_region(CHANCE);
    policy
}

#[test]
fn each_region_has_its_order_and_memory_goes_where_it_helps() {
    let mut run = Run::tracked(two_regions(), 5000, 2);
    run.misses(mixed(20));
    let orders: Vec<Order> = run.policy.regions().map(|(order, _)| order).collect();
    assert_eq!(orders, [Order::Lru, Order::Mru, Order::Lru]);
    let sizes: Vec<usize> = run.policy.regions().map(|(_, size)| size).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 5000);
    assert!(sizes[2] > 1800, "what is used by chance fits: {sizes:?}");
    // Of each round of the loop, 3,000 pages are missed at least, and all 6,000 by LRU.
    assert_eq!(run.misses(mixed(20)), 67_896);
    let mut usual = Run::new(SecondChance::new(), 5000);
    usual.misses(mixed(20));
    assert_eq!(usual.misses(mixed(20)), 157_009);
}

#[test]
fn without_a_sample_it_is_lru() {
    let mut run = Run::new(two_regions(), 5000);
    let misses = run.misses(mixed(20));
    assert!(run.policy.regions().all(|(order, _)| order == Order::Lru));
    let lru = Run::new(in_run("lru").expect("a policy of runs"), 5000).misses(mixed(20));
    assert!(misses.abs_diff(lru) < lru / 50, "{misses} beside {lru}");
}

#[test]
fn small_samples_do_as_well_within_limits() {
    let misses = |halvings| {
        let mut run = Run::tracked(two_regions(), 5000, halvings);
        run.misses(mixed(30));
        run.misses(mixed(20))
    };
    assert_eq!([0, 2, 4, 5].map(misses), [67_748, 67_468, 67_794, 67_569]);
}

#[test]
fn a_region_in_the_place_of_another_begins_in_the_order_of_the_last_use() {
    let mut run = Run::tracked(two_regions(), 5000, 2);
    run.misses(mixed(20));
    // The arrays are given back, and there is nothing of them any more.
    run.release(LOOP);
    run.policy.end_region(LOOP);
    run.policy.begin_region(PageRange::new(PageId(30_000), 700));
    let orders: Vec<Order> = run.policy.regions().map(|(order, _)| order).collect();
    assert_eq!(orders, [Order::Lru; 3], "the new one has the number of the loop");
}

#[test]
fn a_loop_that_ends_is_forgotten() {
    let mut run = Run::tracked(two_regions(), 5000, 2);
    run.misses(mixed(20));
    // The same pages, each used a few times shortly after another.
    let walk = (0..120_000).map(|at| LOOP.first.0 + (at / 10 + at % 10) % LOOP.count);
    run.misses(walk);
    let orders: Vec<Order> = run.policy.regions().map(|(order, _)| order).collect();
    assert_eq!(orders[1], Order::Lru);
}

#[test]
fn it_follows_a_limit_that_nobody_told_of() {
    let mut run = Run::tracked(two_regions(), 5000, 2);
    run.misses(mixed(10));
    run.shrink_to(3000);
    run.misses(mixed(10));
    let sizes = run.policy.regions().map(|(_, size)| size);
    let all = sizes.sum::<usize>();
    assert!((2950..=3050).contains(&all), "{all}");
}

#[test]
fn a_part_of_its_own_learns_of_the_sample_too() {
    let mut policy = Assigned::new(Box::new(SecondChance::new()));
    policy.set_capacity(5000);
    assert_eq!(policy.wants_sample(), None);
    let range = LOOP.first..PageId(LOOP.end());
    assert!(policy.assign(range, in_run("region")));
    assert_eq!(policy.wants_sample(), Some(5000 / 16), "so many stay because they came last");
    let mut run = Run::tracked(policy, 5000, 2);
    let rounds = |count| (0..count * LOOP.count).map(|at| LOOP.first.0 + at % LOOP.count);
    run.misses(rounds(20));
    let misses = run.misses(rounds(10));
    assert!(misses < 10 * 2000, "{misses}: 1,000 of each round are least");
}

#[test]
fn pages_outside_the_sample_say_nothing() {
    let mut policy = RegionsInRun::new();
    policy.set_capacity(5000);
    policy.set_sample(PageSample::all(1).with_halvings(20));
    for round in 0..100 {
        (0..6000).for_each(|page| policy.come(PageId(page + round % 2)));
    }
    assert!(policy.regions().all(|(order, _)| order == Order::Lru));
}
