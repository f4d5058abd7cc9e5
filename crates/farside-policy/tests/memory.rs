//! Memory that policies and prefetchers take: none for pages that may come, only for those that did.

use farside_policy::prefetch::{self, Choice, FaultKind, PrefetchPlan, Prefetcher};
use farside_policy::replacement::{self, Arrival, ReplacementPolicy, in_run};
use farside_trace::PageId;

/// Pages that may be resident, or known, at once: tables for all of them take tens of megabytes.
const PAGES: usize = 1 << 20;

/// Pages that come.
const FEW: u64 = 2000;

/// Bytes for each of them: a hundred or two that are kept, and a page of a table for a line of it, which eight have together.
const EACH: u64 = 768;

/// What is left over for everything that does not grow with pages.
const FIXED: u64 = 512 << 10;

/// Bytes of this process that are in memory and belong to no file.
fn taken() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("a kernel that counts");
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB"));
    kilobytes.and_then(|it| it.trim().parse::<u64>().ok()).expect("a number") << 10
}

/// How much more there is after each of two steps. What was made is kept: an allocator that has got something back may
/// have to clear it, where it need not have cleared what is new.
fn growth<T>(make: impl FnOnce() -> T, using: impl FnOnce(&mut T)) -> [u64; 2] {
    let before = taken();
    let mut made = make();
    let after = taken();
    using(&mut made);
    let grown = [after.saturating_sub(before), taken().saturating_sub(after)];
    std::mem::forget(made);
    grown
}

fn policy(name: &str) -> [u64; 2] {
    let make = || {
        let mut policy = in_run(name).expect("a policy of runs");
        policy.set_capacity(PAGES);
        policy
    };
    growth(make, |policy| {
        (0..FEW).for_each(|page| {
            policy.insert(PageId(page), Arrival::FirstTouch);
        });
    })
}

fn prefetcher(choice: &Choice) -> [u64; 2] {
    let make = || choice.prefetcher(64);
    growth(make, |prefetcher| {
        let mut plan = PrefetchPlan::new();
        // An order that is not that of memory, and comes again.
        for page in (0..4 * FEW).map(|at| at * 7 % FEW) {
            plan.clear();
            prefetcher.fault(PageId(page), FaultKind::Demand, &mut plan);
        }
    })
}

/// Pages of a program of which proximity knows all.
const ALL: u64 = 200_000;

/// Most bytes that proximity takes for each of them.
const OF_PROXIMITY: u64 = 32;

/// What proximity takes for [`ALL`] pages that come in an order that is not that of memory.
fn proximity() -> u64 {
    let choice: Choice = "proximity".parse().expect("a prefetcher of runs");
    let [made, used] = growth(
        || choice.prefetcher(64),
        |prefetcher| {
            let mut plan = PrefetchPlan::new();
            for page in (0..3 * ALL).map(|at| at * 7 % ALL) {
                plan.clear();
                prefetcher.fault(PageId(page), FaultKind::Demand, &mut plan);
            }
        },
    );
    made + used
}

/// The only test of this file: others would take memory meanwhile.
#[test]
fn memory_is_taken_by_pages_that_come_and_not_for_those_that_may() {
    // What reading takes is taken once.
    taken();
    for (name, _) in replacement::of_runs() {
        let [made, used] = policy(name);
        println!("{name}: {made} bytes, and {used} for {FEW} pages");
        assert!(made <= FIXED, "{name} takes {made} bytes before any page comes");
        assert!(used <= FIXED + EACH * FEW, "{name} takes {used} bytes for {FEW} pages");
    }
    for (name, _) in prefetch::of_runs() {
        let pages = if name == "proximity" { ":pages=1048576" } else { "" };
        let choice = format!("{name}{pages}").parse().expect("a prefetcher of runs");
        let [made, used] = prefetcher(&choice);
        println!("{name}: {made} bytes, and {used} for {FEW} pages");
        assert!(made <= FIXED, "{name} takes {made} bytes before any fault");
        assert!(used <= FIXED + EACH * FEW, "{name} takes {used} bytes for {FEW} pages");
    }
    let used = proximity();
    println!("proximity: {used} bytes for {ALL} pages");
    assert!(
        used <= OF_PROXIMITY * ALL + (64 << 10),
        "proximity takes {used} bytes for {ALL} pages"
    );
}
