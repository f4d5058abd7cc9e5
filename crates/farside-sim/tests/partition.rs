//! Shares of memory: against brute force, and where the greedy rule must and must not fail.

use farside_sharing::Program as _;
use farside_sim::curve::{Curve, Distances};
use farside_sim::partition::{
    Goal, Impossible, MOST_PROGRAMS, Partitioning, Program, Value, optimum,
};
use farside_sim::simulation::Costs;
use proptest::collection::vec;
use proptest::prelude::*;

/// A curve that falls by `count` at each `distance`, with as many first touches as its footprint
/// has pages.
fn curve(steps: &[(usize, u64)]) -> Curve {
    let mut distances = Distances::default();
    let footprint = steps.iter().map(|(distance, _)| *distance).max().unwrap_or(1);
    (0..footprint).for_each(|_| distances.add_cold());
    for (distance, count) in steps {
        (0..*count).for_each(|_| distances.add(*distance));
    }
    distances.curve()
}

fn program(steps: &[(usize, u64)], work: u64) -> Program {
    Program::new(curve(steps), work, &Costs::default())
}

fn partitioning(programs: &[Program], memory: usize, goal: Goal) -> Partitioning {
    Partitioning::new(programs.to_vec(), memory, goal).unwrap()
}

/// All ways to share out `memory` pages.
fn all_shares(programs: &[Program], memory: usize) -> Vec<Vec<usize>> {
    let Some((first, rest)) = programs.split_first() else { return vec![vec![]] };
    let own: Vec<usize> =
        if rest.is_empty() { vec![memory] } else { (first.least()..=memory).collect() };
    let with = |pages: usize| {
        let rest = all_shares(rest, memory - pages).into_iter();
        rest.map(move |rest| [vec![pages], rest].concat())
    };
    let fits = |shares: &Vec<usize>| shares.iter().zip(programs).all(|(s, p)| *s >= p.least());
    own.into_iter().flat_map(with).filter(fits).collect()
}

fn best(partitioning: &Partitioning, shares: &[Vec<usize>]) -> Value {
    let values = shares.iter().map(|shares| partitioning.value(shares));
    values.min_by(|a, b| a.partial_cmp(b).unwrap()).unwrap()
}

fn goals(count: usize) -> impl Strategy<Value = Goal> {
    prop_oneof![
        Just(Goal::Throughput),
        Just(Goal::Fairness),
        vec(1u8..5, count).prop_map(|w| Goal::Weights(w.into_iter().map(f64::from).collect())),
    ]
}

/// Programs with distances up to `most`, and a goal.
fn programs(most: usize, steps: usize) -> impl Strategy<Value = (Vec<Program>, Goal)> {
    let steps = vec((1..=most, 1u64..60), 0..=steps);
    let one = (steps, 1u64..3_000_000, 1usize..4);
    let one = one.prop_map(|(steps, work, least)| program(&steps, work).with_least(least));
    vec(one, 1..4).prop_flat_map(|programs| {
        let count = programs.len();
        (Just(programs), goals(count))
    })
}

fn least(programs: &[Program]) -> usize {
    programs.iter().map(Program::least).sum()
}

proptest! {
    #[test]
    fn the_optimum_is_what_trying_everything_finds(
        (programs, goal) in programs(9, 5), more in 0usize..16
    ) {
        let memory = least(&programs) + more;
        let partitioning = partitioning(&programs, memory, goal);
        let best = best(&partitioning, &all_shares(&programs, memory));
        let optimum = optimum(&partitioning);
        prop_assert_eq!(optimum.value, best);
        prop_assert_eq!(partitioning.value(&optimum.shares), best);
        prop_assert!(optimum.is_exact() && optimum.chunk == 1);
    }

    #[test]
    fn shares_are_the_whole_memory_and_get_better(
        (programs, goal) in programs(50, 20), more in 0usize..200, chunk in 1usize..20
    ) {
        let memory = least(&programs) + more;
        let partitioning = partitioning(&programs, memory, goal);
        let equal = partitioning.equal();
        let optimum = optimum(&partitioning);
        let (fine, chunks) = (partitioning.greedy(None), partitioning.greedy(Some(chunk)));
        for shares in [&equal, &fine, &chunks, &optimum.shares] {
            prop_assert_eq!(shares.iter().sum::<usize>(), memory);
            prop_assert!(shares.iter().zip(&programs).all(|(share, p)| *share >= p.least()));
            prop_assert!(optimum.value <= partitioning.value(shares));
            prop_assert!(partitioning.value(shares) <= partitioning.value(&equal));
        }
        // As equal as can be: who has more than somebody else by two pages or more needs it.
        let smallest = *equal.iter().min().unwrap();
        for (share, program) in equal.iter().zip(&programs) {
            prop_assert!(*share <= smallest + 1 || *share == program.least());
        }
    }

    /// A memory too large to be shared out page by page: the bound holds, and the greatest slowdown
    /// is exact.
    #[test]
    fn large_memories_have_an_honest_bound(
        (programs, goal) in programs(60_000, 5), memory in 20_000usize..100_000
    ) {
        let partitioning = partitioning(&programs, memory, goal);
        // What is best ends at steps of the curves, but for what is left over.
        let mut shares = vec![vec![]];
        for program in &programs {
            let steps = program.curve().steps().iter();
            let sizes = steps.map(|(size, _)| (*size).max(program.least()));
            let with = |shares: Vec<usize>| {
                sizes.clone().map(move |size| [shares.clone(), vec![size]].concat())
            };
            shares = shares.into_iter().flat_map(with).collect();
        }
        shares.retain(|shares: &Vec<usize>| shares.iter().sum::<usize>() <= memory);
        let best = best(&partitioning, &shares);
        let optimum = optimum(&partitioning);
        prop_assert_eq!(optimum.value.worst, best.worst);
        prop_assert!(optimum.bound <= best.misses, "{} {}", optimum.bound, best.misses);
        prop_assert!(best.misses <= optimum.value.misses);
        prop_assert_eq!(optimum.value, partitioning.value(&optimum.shares));
        prop_assert!(optimum.value <= partitioning.value(&partitioning.greedy(None)));
        prop_assert_eq!(optimum.shares.iter().sum::<usize>(), memory);
    }
}

#[test]
fn more_pages_go_where_they_help_more() {
    // The first gains 10 hits with each page, the second 1, up to 100 pages.
    let steps = |hits: u64| (1..=100).map(|pages| (pages, hits)).collect::<Vec<_>>();
    let programs = [program(&steps(10), 10_000), program(&steps(1), 10_000)];
    let throughput = partitioning(&programs, 120, Goal::Throughput);
    assert_eq!(throughput.equal(), [60, 60]);
    assert_eq!(throughput.greedy(None), [100, 20]);
    assert_eq!(optimum(&throughput).shares, [100, 20]);
    // A miss of the second counts twenty times as much.
    let weighted = partitioning(&programs, 120, Goal::Weights(vec![1.0, 20.0]));
    assert_eq!(weighted.greedy(None), [20, 100]);
    assert_eq!(optimum(&weighted).shares, [20, 100]);
    // Both have the same work, so that fairness means the same number of pages to be fetched:
    // 10 (100 - a) = 100 - b.
    let fair = partitioning(&programs, 120, Goal::Fairness);
    assert_eq!(optimum(&fair).shares, [93, 27]);
    assert_eq!(fair.greedy(None), [93, 27]);
}

#[test]
fn fairness_is_about_slowdowns_and_not_misses() {
    // The second does a hundred times the work, so that as many misses hardly slow it down.
    let steps: Vec<_> = (1..=100).map(|pages| (pages, 10)).collect();
    let programs = [program(&steps, 1_000_000), program(&steps, 100_000_000)];
    let fair = optimum(&partitioning(&programs, 120, Goal::Fairness));
    assert!(fair.shares[0] >= 99, "{fair:?}");
    let throughput = partitioning(&programs, 120, Goal::Throughput);
    assert_eq!(throughput.value(&fair.shares).misses, optimum(&throughput).value.misses);
}

#[test]
fn the_greedy_rule_sees_no_further_than_a_chunk() {
    // Nothing is gained in front of the cliff at 60 pages; the other always gains a little.
    let cliff = program(&[(60, 10_000)], 1_000_000);
    let slope = program(&(1..=100).map(|pages| (pages, 1)).collect::<Vec<_>>(), 1_000_000);
    let two = partitioning(&[cliff.clone(), slope.clone()], 80, Goal::Throughput);
    assert_eq!(two.greedy(Some(10)), [10, 70]);
    assert_eq!(two.greedy(Some(20)), [60, 20]);
    assert_eq!(two.greedy(None), [60, 20]);
    assert_eq!(optimum(&two).shares, [60, 20]);
    // Two programs would have to give at once: only the optimum gets across.
    let gentle = program(&[(20, 10)], 1_000_000);
    let three = partitioning(&[cliff, gentle.clone(), gentle], 60 + 2, Goal::Throughput);
    let greedy = three.greedy(None);
    assert!(greedy[0] < 60, "{greedy:?}");
    assert_eq!(optimum(&three).shares, [60, 1, 1]);
}

#[test]
fn enough_for_all_is_enough_for_each() {
    let programs = [program(&[(10, 5), (90, 5)], 100), program(&[(30, 7)], 100)];
    for goal in [Goal::Throughput, Goal::Fairness, Goal::Weights(vec![3.0, 1.0])] {
        let plenty = partitioning(&programs, 1 << 40, goal);
        for shares in [plenty.greedy(None), optimum(&plenty).shares] {
            assert!(shares[0] >= 90 && shares[1] >= 30, "{shares:?}");
            assert_eq!(shares.iter().sum::<usize>(), 1 << 40);
        }
        assert!(optimum(&plenty).is_exact());
    }
}

#[test]
fn what_cannot_be_shared_out_is_refused() {
    let one = program(&[(10, 5)], 100);
    let new = |count: usize, memory, goal| {
        Partitioning::new(vec![one.clone(); count], memory, goal).unwrap_err()
    };
    assert_eq!(new(0, 10, Goal::Throughput), Impossible::Programs(0));
    let many = MOST_PROGRAMS + 1;
    assert_eq!(new(many, 9999, Goal::Throughput), Impossible::Programs(many));
    assert_eq!(new(3, 2, Goal::Fairness), Impossible::TooLittle { memory: 2, least: 3 });
    let weights = |weights: &[f64]| new(2, 10, Goal::Weights(weights.to_vec()));
    assert_eq!(weights(&[1.0]), Impossible::Weights { given: 1, programs: 2 });
    assert_eq!(weights(&[1.0, -2.0]), Impossible::Weight(-2.0));
    assert!(matches!(weights(&[f64::NAN, 1.0]), Impossible::Weight(_)));
    assert!(weights(&[1.0]).to_string().contains("one for each"));
}
