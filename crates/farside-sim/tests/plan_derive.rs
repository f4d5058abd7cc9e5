//! Plans for more memory that are made from plans for less.

#[path = "support/plan.rs"]
mod planned;
mod support;

use farside_sim::plan::{PlanOptions, PlanPolicy};
use farside_trace::tape::{Step, StepKind};
use farside_trace::{Block, Mapping, MappingChange, MappingEvent, PageId};
use planned::{Steps, block, check, derive, microsets, options, plan, uses};
use proptest::prelude::*;
use support::{Traces, golden};

use PlanPolicy::{Lru, Min};

fn fetches(steps: &[Step]) -> usize {
    steps.iter().filter(|step| step.kind.fetches()).count()
}

/// A derived plan knows of writes only in what stays of each fetch.
fn apart_from_writes(steps: &[Step]) -> Vec<(bool, bool, PageId)> {
    let plain = |step: &Step| (step.kind.fetches(), step.kind == StepKind::Evict, step.page);
    steps.iter().map(plain).collect()
}

fn of(steps: &Steps, number: usize) -> Vec<Step> {
    steps[number].get(&0).cloned().unwrap_or_default()
}

/// How much more than MIN at the larger size a plan derived by MIN fetches is printed.
#[test]
fn golden_traces_are_derived_as_they_are_planned() {
    let Some(golden) = golden("golden_traces_are_derived_as_they_are_planned") else { return };
    let mut traces = Traces::new(&golden);
    let names = ["zipf200k", "scanmix200k", "loop200k", "real_fft_m16.f16", "real_cg_S.f16"];
    let mut checked = 0;
    for name in names {
        let Some(trace) = traces.get(name) else { continue };
        let pages = trace.iter().collect::<std::collections::HashSet<_>>().len() as u64;
        let blocks = [block(trace)];
        let sizes = [pages / 10, pages / 8, pages / 5, pages / 2];
        for policy in [Lru, Min] {
            let options = options(policy, &sizes, 1);
            let (steps, _) = plan(&options, &blocks).expect("a good trace");
            let small = of(&steps, 0);
            for (number, size) in sizes.iter().enumerate() {
                let derived = derive(policy, sizes[0], size - sizes[0], &small);
                let direct = of(&steps, number);
                if policy == Lru || number == 0 {
                    assert!(derived == direct, "{name} {size}");
                }
                check(&options, number, &[(0, derived.clone())].into(), &blocks).expect("good");
                let (derived, direct) = (fetches(&derived), fetches(&direct));
                assert!(derived <= fetches(&small) && derived >= direct, "{name} {size}");
                println!("{name}\t{}\t{size}\tderived {derived}\tdirect {direct}", policy.name());
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "no trace is there");
}

proptest! {
    #[test]
    fn derived_plans_do_what_the_trace_needs(
        raw in uses(1, 80),
        discards in prop::collection::vec((0..600_u64, 0..80_u64, 1..30_u64), 0..6),
        microset in prop_oneof![Just(1_usize), 2..10_usize],
        capacity in 1..60_u64,
        extra in 0..40_u64,
        kept: bool,
    ) {
        let accesses = microsets(&raw, microset);
        let name = format!("far:0000000000000001:0+0{}", if kept { ",kept" } else { "" });
        let whole = Mapping { first: PageId(0), count: 120, name };
        let mut events = vec![MappingEvent { access: 0, change: MappingChange::Appeared(whole) }];
        for (at, first, count) in &discards {
            let name = format!("far:0000000000000001:0+{first}");
            let part = Mapping { first: PageId(*first), count: *count, name };
            let access = (*at).min(accesses.len() as u64);
            events.push(MappingEvent { access, change: MappingChange::Appeared(part) });
        }
        events.sort_by_key(|event| event.access);
        let blocks = [Block { first: 0, accesses, events }];
        for policy in [Lru, Min] {
            let sizes = vec![capacity, capacity + extra];
            let options = PlanOptions { policy, capacities: sizes, threads: 1, microset };
            let (steps, _) = plan(&options, &blocks).expect("a good trace");
            let small = of(&steps, 0);
            let derived = derive(policy, capacity, extra, &small);
            // Microsets of which two do not fit are halved.
            let regarded = |pages: u64| {
                let halves = std::iter::successors(Some(microset), |m| Some(m.div_ceil(2)));
                halves.into_iter().find(|m| *m == 1 || 2 * *m as u64 <= pages).unwrap_or(1)
            };
            let options = PlanOptions { microset: regarded(capacity), ..options };
            let counts = check(&options, 1, &[(0, derived.clone())].into(), &blocks);
            prop_assert!(counts.is_ok(), "{policy:?}: {counts:?}");
            let counts = counts.expect("checked");
            prop_assert!(counts.fetches <= fetches(&small) as u64);
            if discards.is_empty() {
                prop_assert_eq!(counts.idle, 0);
                prop_assert!(policy == Min || apart_from_writes(&derived) == apart_from_writes(&of(&steps, 1)));
                let least = fetches(&of(&steps, 1)) as u64;
                prop_assert!(counts.fetches == least || regarded(capacity) != regarded(capacity + extra));
            }
            if extra == 0 && discards.is_empty() {
                prop_assert_eq!(derived, small);
            }
        }
    }
}
