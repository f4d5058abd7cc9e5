//! Plans: against the golden counts, and any plan against its trace.

#[path = "support/plan.rs"]
mod planned;
mod support;

use std::collections::{BTreeSet, HashSet};

use farside_sim::plan::{CheckError, PlanError, PlanOptions, PlanPolicy, Planner, Survey};
use farside_trace::tape::{Step, StepKind};
use farside_trace::{Access, Block, Mapping, MappingChange, MappingEvent, PageId, PageRange};
use planned::{Steps, block, check, microsets, options, plan, uses};
use proptest::prelude::*;
use support::{Traces, golden, miss_rows};

use PlanPolicy::{Lru, Min};

fn step(kind: StepKind, page: u64) -> Step {
    Step { kind, page: PageId(page) }
}

fn only(steps: &Steps) -> &[Step] {
    steps[0].get(&0).map_or(&[], Vec::as_slice)
}

#[test]
fn plans_fetch_what_the_golden_misses_say() {
    let Some(golden) = golden("plans_fetch_what_the_golden_misses_say") else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for (policy, name) in [(Lru, "lru"), (Min, "opt")] {
        let rows = miss_rows(&golden);
        let rows: Vec<_> = rows.iter().filter(|row| row.policy == name).collect();
        for rows in rows.chunk_by(|one, other| one.trace == other.trace) {
            let Some(trace) = traces.get(&rows[0].trace) else { continue };
            let distinct = trace.iter().collect::<HashSet<_>>().len() as u64;
            let sizes: Vec<_> = rows.iter().map(|row| row.pages as u64).collect();
            let options = options(policy, &sizes, 1);
            let blocks = [block(trace)];
            let (steps, regions) = plan(&options, &blocks).expect("a good trace");
            assert_eq!((regions.len(), regions[0].site, regions[0].nth), (1, 0, 0));
            for (number, row) in rows.iter().enumerate() {
                let counts = check(&options, number, &steps[number], &blocks).expect("a good plan");
                let what = format!("{name} {} {}", row.trace, row.pages);
                assert_eq!(counts.touches, distinct, "{what}");
                assert_eq!(counts.fetches, row.misses - distinct, "{what}");
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "only {checked} rows have their trace");
}

/// A loop over four pages with room for three.
#[test]
fn small_plans_are_as_written_down() {
    use StepKind::{Evict, Fetch, Touch};
    let trace = block(&[1, 2, 3, 4, 1, 2].map(PageId));
    let (steps, _) = plan(&options(Lru, &[3], 1), std::slice::from_ref(&trace)).expect("planned");
    let come = [(Touch, 1), (Touch, 2), (Touch, 3), (Evict, 1), (Touch, 4), (Evict, 2), (Fetch, 1)];
    let all = [&come[..], &[(Evict, 3), (Fetch, 2)]].concat();
    assert_eq!(only(&steps), all.into_iter().map(|(k, p)| step(k, p)).collect::<Vec<_>>());
    // 3 is dead when room is needed.
    let (steps, _) = plan(&options(Min, &[3], 1), &[trace]).expect("planned");
    let all = [(Touch, 1), (Touch, 2), (Touch, 3), (Evict, 3), (Touch, 4)];
    assert_eq!(only(&steps), all.map(|(k, p)| step(k, p)));
}

/// Accesses of these pages by thread 0, and whether each writes.
fn accesses(of: &[(u64, bool)]) -> Block {
    let access = |&(page, write)| Access { write, ..Access::from(PageId(page)) };
    Block { first: 0, accesses: of.iter().map(access).collect(), events: vec![] }
}

/// What is read when it comes and written later is fetched to be written; so is not what is written after it left.
#[test]
fn pages_are_fetched_to_be_written_if_they_are_before_they_leave() {
    use StepKind::{Evict, Fetch, FetchToWrite, Touch};
    let (r, w) = (|page| (page, false), |page| (page, true));
    let trace = [w(1), w(2), w(3), r(1), w(1), r(2), w(3), r(1), r(3), w(2), r(2)].to_vec();
    let trace = accesses(&trace);
    let (steps, _) = plan(&options(Lru, &[2], 1), std::slice::from_ref(&trace)).expect("planned");
    let expected = [
        (Touch, 1),
        (Touch, 2),
        (Evict, 1),
        (Touch, 3),
        (Evict, 2),
        (FetchToWrite, 1),
        (Evict, 3),
        (Fetch, 2),
        (Evict, 1),
        (FetchToWrite, 3),
        (Evict, 2),
        (Fetch, 1),
        (Evict, 1),
        (FetchToWrite, 2),
    ];
    // Page 3 is still here when it is read again.
    assert_eq!(only(&steps), expected.map(|(kind, page)| step(kind, page)));
    let counts = check(&options(Lru, &[2], 1), 0, &steps[0], &[trace]).expect("a good plan");
    assert_eq!((counts.to_write, counts.unforeseen), (3, 0));
}

/// A page that is read for longer than a plan waits counts as one that is not written, and its steps come all the same.
#[test]
fn what_stays_for_very_long_is_not_waited_for() {
    let others = (0..600_000).map(|turn| (10 + turn % 3, false));
    let first = [(1, false), (10, false), (11, false), (12, false), (1, false)];
    let kept = others.flat_map(|other| [(1, false), other]);
    let last = [(1, true), (20, false), (21, false), (22, false)];
    let blocks = [accesses(&first.into_iter().chain(kept).chain(last).collect::<Vec<_>>())];
    let options = options(Lru, &[3], 1);
    let (steps, _) = plan(&options, &blocks).expect("planned");
    let counts = check(&options, 0, &steps[0], &blocks).expect("a good plan");
    assert_eq!((counts.to_write, counts.unforeseen), (0, 1));
}

/// By its next use alone page 2 would leave for page 3; its microset still has it.
#[test]
fn what_a_microset_uses_stays_to_its_end() {
    use StepKind::{Evict, Fetch, Touch};
    let trace = block(&[1, 9, 2, 3, 8, 7, 1, 9, 3, 1, 9, 2].map(PageId));
    let in_use = |steps: &[Step]| {
        let at = |wanted: Step| steps.iter().position(|step| *step == wanted);
        at(step(Evict, 2)) < at(step(Touch, 3)) && at(step(Evict, 2)).is_some()
    };
    let single = plan(&options(Min, &[3], 1), std::slice::from_ref(&trace)).expect("planned").0;
    assert!(in_use(only(&single)), "{:?}", only(&single));
    let pairs = options(Min, &[4], 2);
    let blocks = [block(&[1, 9, 5, 6, 2, 3, 1, 9, 5, 6, 2, 3].map(PageId))];
    let (steps, _) = plan(&pairs, &blocks).expect("planned");
    // Of 1, 9, 5 and 6 the last two are used last, and 6 may be in use still when 2 comes; 2 is not given up for 3.
    assert_eq!(
        only(&steps)[4..8],
        [(Evict, 5), (Touch, 2), (Evict, 6), (Touch, 3)].map(|(k, p)| step(k, p))
    );
    assert!(only(&steps).contains(&step(Fetch, 5)));
    check(&pairs, 0, &steps[0], &blocks).expect("a good plan");
}

/// Three pages of four had content before; one of them is discarded before it is used.
#[test]
fn what_had_content_before_is_fetched() {
    use StepKind::{Fetch, Touch};
    let appeared = |access, first, count, name: &str| {
        let mapping = Mapping { first: PageId(first), count, name: name.to_owned() };
        MappingEvent { access, change: MappingChange::Appeared(mapping) }
    };
    let events = vec![
        appeared(0, 50, 4, "far:00000000000000ab:0+0"),
        appeared(0, 51, 3, "far:00000000000000ab:0+1,kept"),
        appeared(2, 52, 1, "far:00000000000000ab:0+2"),
    ];
    let pages = [50, 51, 52, 53, 50, 51];
    let accesses = pages.map(|page| Access::from(PageId(page))).to_vec();
    let blocks = [Block { first: 0, accesses, events }];
    for policy in [Lru, Min] {
        let options = options(policy, &[4], 1);
        let (steps, regions) = plan(&options, &blocks).expect("planned");
        let first = regions[0].first.0;
        let expected = [(Touch, 0), (Fetch, 1), (Touch, 2), (Fetch, 3)];
        assert_eq!(only(&steps), expected.map(|(kind, page)| step(kind, first + page)));
        check(&options, 0, &steps[0], &blocks).expect("a good plan");
    }
    let mut survey = Survey::new();
    blocks.iter().for_each(|block| survey.feed(block).expect("a good trace"));
    let footprint = survey.finish();
    assert_eq!((footprint.pages, footprint.peak), (4, 4));
}

/// A region of ten pages, used, discarded and used again; then given back.
#[test]
fn pages_leave_without_a_step_when_their_content_is_gone() {
    let event = |access, change| MappingEvent { access, change };
    let name = "far:00000000000000ab:2+5".to_owned();
    let appeared = MappingChange::Appeared(Mapping { first: PageId(100), count: 10, name });
    let events = vec![
        event(0, appeared.clone()),
        event(3, appeared),
        event(6, MappingChange::Vanished(PageRange::new(PageId(100), 10))),
    ];
    let pages = [100, 101, 102, 100, 101, 102, 7, 8, 9];
    let accesses = pages.map(|page| Access::from(PageId(page))).to_vec();
    let blocks = [Block { first: 0, accesses, events }];
    for policy in [Lru, Min] {
        let options = options(policy, &[3], 1);
        let (steps, regions) = plan(&options, &blocks).expect("planned");
        assert!(only(&steps).iter().all(|step| step.kind == StepKind::Touch), "{policy:?}");
        assert_eq!(only(&steps).len(), 9);
        assert_eq!((regions[1].site, regions[1].nth, regions[1].count), (0xab, 2, 15));
        assert_eq!(only(&steps)[0].page.0, regions[1].first.0 + 5);
        check(&options, 0, &steps[0], &blocks).expect("a good plan");
    }
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let too_little = PlanOptions { threads: 4, ..options(Lru, &[8, 3], 1) };
    let error = PlanError::TooLittleMemory { capacity: 3, threads: 4 };
    assert_eq!(plan(&too_little, &[]).err(), Some(error));
    let mut other = block(&[PageId(1), PageId(2)]);
    other.accesses[1].thread = 7;
    let error = PlanError::TooManyThreads { thread: 7, access: 1, threads: 1 };
    assert_eq!(plan(&options(Min, &[8], 1), &[other]).err(), Some(error));
    assert!(PlanPolicy::by_name("opt").is_none() && PlanPolicy::by_name("min") == Some(Min));
}

/// Every kind of damage is seen.
#[test]
fn the_checker_sees_what_is_wrong() {
    use StepKind::{Evict, Fetch, Touch};
    let options = options(Lru, &[2], 1);
    let blocks = [block(&[1, 2, 3, 1].map(PageId))];
    let found = |steps: &[(StepKind, u64)]| {
        let steps = steps.iter().map(|(kind, page)| step(*kind, *page)).collect();
        check(&options, 0, &[(0, steps)].into(), &blocks)
    };
    let good = [(Touch, 1), (Touch, 2), (Evict, 1), (Touch, 3), (Evict, 2), (Fetch, 1)];
    let counts = found(&good).expect("a good plan");
    assert_eq!((counts.touches, counts.fetches, counts.evictions, counts.idle), (3, 1, 2, 0));
    let without = |gone: usize| {
        let mut steps = good.to_vec();
        steps.remove(gone);
        found(&steps)
    };
    assert!(matches!(without(0), Err(CheckError::Missing { record: 0, .. })));
    assert!(matches!(without(2), Err(CheckError::TooManyResident { record: 2, .. })));
    assert!(matches!(without(4), Err(CheckError::TooManyResident { record: 3, .. })));
    assert!(matches!(without(5), Err(CheckError::Missing { found: None, .. })));
    let with = |at: usize, kind, page| {
        let mut steps = good;
        steps[at] = (kind, page);
        found(&steps)
    };
    assert!(matches!(with(5, Touch, 1), Err(CheckError::WrongKind { .. })));
    assert!(matches!(with(0, Fetch, 1), Err(CheckError::WrongKind { .. })));
    assert!(matches!(with(5, StepKind::FetchToWrite, 1), Ok(counts) if counts.to_write == 1));
    let more = [&good[..5], &[(StepKind::FetchToWrite, 1), (Evict, 1)]].concat();
    let twice = accesses(&[(1, false), (2, false), (3, false), (1, false), (2, false)]);
    let left = [&more[..], &[(Fetch, 2)]].concat();
    let left = left.iter().map(|(kind, page)| step(*kind, *page)).collect();
    let error = check(&options, 0, &[(0, left)].into(), &[twice]);
    assert!(matches!(error, Err(CheckError::NotWritten { record: 4, .. })), "{error:?}");
    assert!(matches!(with(2, Evict, 5), Err(CheckError::EvictedTwice { .. })));
    let more = [&good[..], &[(Evict, 1)]].concat();
    assert!(matches!(found(&more), Err(CheckError::TooManySteps { .. })));
    let pairs = planned::options(Lru, &[4], 2);
    let steps = [(Touch, 1), (Evict, 1), (Touch, 2)].map(|(kind, page)| step(kind, page)).to_vec();
    let blocks = [block(&[1, 2].map(PageId))];
    let error = check(&pairs, 0, &[(0, steps)].into(), &blocks);
    assert!(matches!(error, Err(CheckError::EvictedInUse { record: 1, .. })));
}

/// Site, number and offset of a region, and whether there is content; or that something vanishes.
type Name = Option<(u64, u32, u64, bool)>;

/// Changes of mappings among the accesses: before which access, where, how many pages, and what.
fn events() -> impl Strategy<Value = Vec<(u64, u64, u64, Name)>> {
    let name = prop::option::weighted(0.7, (0..2_u64, 0..3_u32, 0..40_u64, any::<bool>()));
    prop::collection::vec((0..600_u64, 0..80_u64, 1..30_u64, name), 0..12)
}

fn event(access: u64, first: u64, count: u64, name: Name) -> MappingEvent {
    let first = PageId(first);
    let change = match name {
        Some((site, nth, offset, kept)) => {
            let kept = if kept { ",kept" } else { "" };
            let name = format!("far:{site:016x}:{nth}+{offset}{kept}");
            MappingChange::Appeared(Mapping { first, count, name })
        }
        None => MappingChange::Vanished(PageRange::new(first, count)),
    };
    MappingEvent { access, change }
}

/// Cuts a trace into blocks.
fn blocks(accesses: &[Access], events: &[MappingEvent], size: usize) -> Vec<Block> {
    let pieces = accesses.len().div_ceil(size).max(1);
    let block = |piece: usize| {
        let (from, to) = (piece * size, accesses.len().min((piece + 1) * size));
        let last = piece + 1 == pieces;
        let inside = |event: &&MappingEvent| {
            event.access >= from as u64 && (last || event.access < to as u64)
        };
        let events = events.iter().filter(inside).cloned().collect();
        Block { first: from as u64, accesses: accesses[from..to].to_vec(), events }
    };
    (0..pieces).map(block).collect()
}

proptest! {
    #[test]
    fn every_plan_does_what_the_trace_needs(
        raw in uses(3, 80),
        events in events(),
        microset in prop_oneof![Just(1_usize), 2..20_usize],
        capacities in prop::collection::vec(3..150_u64, 1..4),
        size in 1..300_usize,
    ) {
        let accesses = microsets(&raw, microset);
        let mut events: Vec<_> =
            events.into_iter().map(|(at, first, count, name)| event(at.min(accesses.len() as u64), first, count, name)).collect();
        events.sort_by_key(|event| event.access);
        let blocks = blocks(&accesses, &events, size);
        let whole = self::blocks(&accesses, &events, usize::MAX / 2);
        let mut fetches = Vec::new();
        for policy in [Lru, Min] {
            let options = PlanOptions { policy, capacities: capacities.clone(), threads: 3, microset };
            let (steps, regions) = plan(&options, &blocks).expect("a good trace");
            prop_assert_eq!(&plan(&options, &whole).expect("a good trace").0, &steps);
            for (number, steps) in steps.iter().enumerate() {
                let counts = check(&options, number, steps, &blocks);
                prop_assert!(counts.is_ok(), "{policy:?} {}: {counts:?}", capacities[number]);
                let counts = counts.expect("checked");
                prop_assert_eq!((counts.idle, counts.unforeseen), (0, 0));
                fetches.push(counts.fetches);
            }
            let pages: BTreeSet<_> = steps.iter().flat_map(|s| s.values().flatten()).map(|s| s.page).collect();
            for page in pages {
                let of = regions.iter().filter(|r| PageRange::new(r.first, r.count).contains(page));
                prop_assert_eq!(of.count(), 1, "{:?}", page);
            }
        }
        let (lru, min) = fetches.split_at(capacities.len());
        for (number, (lru, min)) in lru.iter().zip(min).enumerate() {
            let share = capacities[number] / 3;
            prop_assert!(min <= lru || (microset as u64) > share / 2, "{min} > {lru}");
        }
    }
}

/// Steps by LRU need no memory for what is over, so they come at once, but for a page that may still be written; those by
/// MIN come at the end.
#[test]
fn lru_plans_while_the_trace_comes() {
    let trace = block(&[1, 2, 3, 1].map(PageId));
    for (policy, at_once) in [(Lru, 5), (Min, 0)] {
        let mut planner = Planner::new(&options(policy, &[2], 1)).expect("good options");
        let mut count = 0;
        let mut sink = |_: usize, _: u32, steps: &[Step]| {
            count += steps.len();
            Ok::<_, PlanError>(())
        };
        planner.feed(&trace, &mut sink).expect("a good trace");
        assert_eq!(count, at_once, "{policy:?}");
    }
}

/// A sink that fails, as when a disk is full, ends planning with its error.
#[test]
fn an_error_of_the_sink_comes_back() {
    #[derive(Debug, PartialEq)]
    enum Failure {
        Plan,
        Full,
    }
    impl From<PlanError> for Failure {
        fn from(_: PlanError) -> Self {
            Self::Plan
        }
    }
    let trace = block(&[1, 2, 3, 1].map(PageId));
    let mut sink = |_: usize, _: u32, _: &[Step]| Err(Failure::Full);
    let mut lru = Planner::new(&options(Lru, &[2], 1)).expect("good options");
    assert_eq!(lru.feed(&trace, &mut sink), Err(Failure::Full));
    let mut min = Planner::new(&options(Min, &[2], 1)).expect("good options");
    assert_eq!(min.feed(&trace, &mut sink), Ok(()));
    assert_eq!(min.finish(&mut sink), Err(Failure::Full));
}
