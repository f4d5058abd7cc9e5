//! Shares of running programs: what holds whatever they say of themselves, and what is best where that is known.

use farside_sharing::{Member, Rule, SeenCurve, TooLittle, share_out};
use proptest::collection::vec;
use proptest::prelude::*;

/// A loop over so many pages: all of it misses unless all of it fits.
fn cliff(pages: usize, misses: f64) -> SeenCurve {
    SeenCurve::new([(0, misses), (pages - 1, misses), (pages, 0.0)], 1e-5)
}

/// Misses fall evenly with memory.
fn slope(pages: usize, misses: f64) -> SeenCurve {
    SeenCurve::new([(0, misses), (pages, 0.0)], 1e-5)
}

/// A scan: whatever it has, it misses the same.
fn scan(pages: usize, misses: f64) -> SeenCurve {
    cliff(pages, misses)
}

fn member(curve: Option<SeenCurve>, need: usize) -> Member {
    Member { curve, least: 10, floor: 0, need, weight: 1.0, user: 0 }
}

fn shares(total: usize, rule: Rule, members: &[Member]) -> Vec<usize> {
    share_out(total, rule, members, None).unwrap()
}

#[test]
fn a_loop_that_can_fit_gets_what_a_scan_cannot_use() {
    let members = [member(Some(cliff(700, 5e4)), 700), member(Some(scan(100_000, 9e4)), 100_000)];
    let found = shares(1000, Rule::Throughput, &members);
    assert!(found[0] >= 700, "{found:?}");
    assert_eq!(found.iter().sum::<usize>(), 1000);
}

#[test]
fn a_cliff_that_several_have_to_pay_for_is_found() {
    let mut members = vec![member(Some(cliff(600, 9e5)), 600)];
    members.extend((0..9).map(|_| member(Some(slope(200, 1e3)), 200)));
    let found = shares(1000, Rule::Throughput, &members);
    assert!(found[0] >= 600, "{found:?}");
}

#[test]
fn fairness_holds_up_who_is_worst_off() {
    let members = [member(Some(slope(1000, 1e6)), 1000), member(Some(slope(1000, 1e4)), 1000)];
    let by_misses = shares(1000, Rule::Throughput, &members);
    let by_slowdown = shares(1000, Rule::Fairness, &members);
    let worst = |shares: &[usize]| {
        let slowdowns = members.iter().zip(shares);
        slowdowns.map(|(it, share)| it.curve.as_ref().unwrap().slowdown(*share)).fold(1.0, f64::max)
    };
    assert!(worst(&by_slowdown) <= worst(&by_misses) + 1e-9, "{by_misses:?} {by_slowdown:?}");
    // With little there is no way to have both without waiting: the one with more misses gets more.
    assert!(by_slowdown[0] > by_slowdown[1], "{by_slowdown:?}");
}

#[test]
fn weights_and_floors_are_kept() {
    let mut members = [member(Some(slope(5000, 1e4)), 5000), member(Some(slope(5000, 9e4)), 5000)];
    members[0].weight = 3.0;
    assert_eq!(shares(1000, Rule::Weights, &members), [750, 250]);
    members[0].floor = 400;
    let found = shares(1000, Rule::Throughput, &members);
    assert!(found[0] >= 400 && found[1] > found[0], "{found:?}");
    // More than there is.
    members[1].floor = 900;
    let found = shares(1000, Rule::Throughput, &members);
    assert!(found.iter().all(|share| *share >= 10) && found.iter().sum::<usize>() == 1000);
}

#[test]
fn who_is_not_known_keeps_its_share_by_weight() {
    let members = [
        member(None, 5000),
        member(Some(cliff(560, 9e5)), 560),
        member(Some(scan(9000, 9e5)), 9000),
        member(None, 100),
    ];
    let found = shares(1000, Rule::Throughput, &members);
    assert_eq!((found[0], found[3]), (300, 100), "{found:?}");
    assert!(found[1] >= 560, "{found:?}");
}

#[test]
fn a_liar_gets_no_more_than_floors_leave_and_nothing_of_another_user() {
    let honest = |user| Member { floor: 100, user, ..member(Some(slope(800, 1e4)), 800) };
    let mut liar = member(Some(SeenCurve::new([(0, f64::MAX), (1 << 40, 0.0)], f64::MAX)), 1 << 40);
    let found = shares(1000, Rule::Throughput, &[honest(0), honest(0), liar.clone()]);
    assert!(found[0] >= 100 && found[1] >= 100, "{found:?}");
    liar.user = 1;
    for rule in [Rule::Throughput, Rule::Fairness, Rule::Weights] {
        let found = shares(1000, rule, &[honest(0), liar.clone(), liar.clone(), liar.clone()]);
        assert!(found[0] >= 500, "{rule:?}: {found:?}");
    }
    // What the other cannot use it may have.
    let small = Member { need: 200, ..honest(0) };
    assert_eq!(shares(1000, Rule::Throughput, &[small, liar.clone()]), [200, 800]);
}

#[test]
fn little_changes_change_nothing() {
    let members = |a, b| [member(Some(slope(900, a)), 900), member(Some(slope(900, b)), 900)];
    let first = shares(1000, Rule::Throughput, &members(1e4, 2e4));
    let again = share_out(1000, Rule::Throughput, &members(1.01e4, 1.99e4), Some(&first)).unwrap();
    assert_eq!(again, first);
    let turned = share_out(1000, Rule::Throughput, &members(2e4, 1e4), Some(&first)).unwrap();
    assert!(turned[0] > turned[1], "{turned:?}");
    // Another total is another matter.
    let less = share_out(800, Rule::Throughput, &members(1e4, 2e4), Some(&first)).unwrap();
    assert_eq!(less.iter().sum::<usize>(), 800);
}

#[test]
fn alike_programs_have_alike_shares() {
    let members = vec![member(Some(slope(900, 1e3)), 900); 3];
    for rule in [Rule::Throughput, Rule::Fairness, Rule::Weights] {
        assert_eq!(shares(300, rule, &members), [100, 100, 100], "{rule:?}");
    }
    // Alike to the last digit, and what is rounded is no reason to move memory.
    let members = vec![Member { floor: 256, ..member(Some(slope(16_656, 1e3)), 7680) }; 3];
    for rule in [Rule::Throughput, Rule::Fairness, Rule::Weights] {
        assert_eq!(shares(7680, rule, &members), [2560, 2560, 2560], "{rule:?}");
    }
}

#[test]
fn the_least_difference_does_not_decide_over_everything() {
    let nearly = |by: f64| member(Some(slope(1000, 1e3 * (1.0 + by))), 1000);
    let members = [nearly(0.0), nearly(1e-6), nearly(1e-3)];
    for rule in [Rule::Throughput, Rule::Fairness] {
        assert_eq!(shares(900, rule, &members), [300, 300, 300], "{rule:?}");
    }
}

#[test]
fn two_hundred_programs_share() {
    let members: Vec<_> = (0..200)
        .map(|i| match i % 4 {
            0 => member(Some(cliff(50_000 + i, 1e5)), 50_000 + i),
            1 => member(Some(slope(90_000, 1e4 * i as f64)), 90_000),
            2 => member(Some(scan(1 << 20, 1e5)), 1 << 20),
            _ => member(None, 1000 * i),
        })
        .collect();
    for rule in [Rule::Throughput, Rule::Fairness, Rule::Weights] {
        let total = 16 << 18;
        let found = shares(total, rule, &members);
        assert_eq!(found.iter().sum::<usize>(), total);
        let again = share_out(total, rule, &members, Some(&found)).unwrap();
        assert_eq!(again, found, "nothing has changed");
    }
}

#[test]
fn less_than_programs_can_run_with_is_refused() {
    let members = [member(None, 100), member(Some(cliff(50, 1.0)), 50)];
    assert_eq!(share_out(19, Rule::Throughput, &members, None), Err(TooLittle { least: 20 }));
    assert_eq!(share_out(20, Rule::Throughput, &members, None), Ok(vec![10, 10]));
    assert_eq!(share_out(20, Rule::Throughput, &[], None), Ok(vec![]));
}

/// Anything that somebody may say.
fn anything() -> impl Strategy<Value = Member> {
    let number = prop_oneof![any::<f64>(), 0.0..1e6];
    let size = prop_oneof![any::<usize>(), 0..10_000usize];
    let curve = (vec((size.clone(), number.clone()), 0..20), number)
        .prop_map(|(points, each)| SeenCurve::new(points, each));
    (proptest::option::of(curve), 1..50usize, 0..3000usize, size, 0.01..100.0, 0..3u32).prop_map(
        |(curve, least, floor, need, weight, user)| Member {
            curve,
            least,
            floor,
            need,
            weight,
            user,
        },
    )
}

fn rules() -> impl Strategy<Value = Rule> {
    prop_oneof![Just(Rule::Throughput), Just(Rule::Fairness), Just(Rule::Weights)]
}

proptest! {
    #[test]
    fn shares_are_the_whole_and_floors_are_kept(
        total in 0..100_000usize,
        rule in rules(),
        members in vec(anything(), 1..12),
        before in vec(0..20_000usize, 1..12),
    ) {
        let least: usize = members.iter().map(|member| member.least).sum();
        let floors: usize = members.iter().map(|member| member.floor.max(member.least)).sum();
        match share_out(total, rule, &members, Some(&before)) {
            Err(TooLittle { least: told }) => {
                prop_assert!(least > total);
                prop_assert_eq!(told, least);
            }
            Ok(shares) => {
                prop_assert_eq!(shares.iter().sum::<usize>(), total);
                for (share, member) in shares.iter().zip(&members) {
                    prop_assert!(*share >= member.least);
                    prop_assert!(*share >= member.floor || floors > total);
                }
            }
        }
    }

    #[test]
    fn curves_make_shares_no_worse_than_equal_ones(
        members in vec((anything(), vec((0..20_000usize, 1.0..1e6), 1..9)), 2..6),
        total in 400..20_000usize,
    ) {
        let known = |(it, points): (Member, Vec<(usize, f64)>)| Member {
            curve: Some(SeenCurve::new(points, 1e-5)),
            user: 0,
            floor: 0,
            weight: 1.0,
            ..it
        };
        let members: Vec<Member> = members.into_iter().map(known).collect();
        let misses = |shares: &[usize]| {
            let each = members.iter().zip(shares);
            each.map(|(it, share)| it.curve.as_ref().map_or(0.0, |curve| curve.misses(*share))).sum::<f64>()
        };
        let equal = vec![total / members.len(); members.len()];
        let found = shares(total, Rule::Throughput, &members);
        prop_assert!(misses(&found) <= misses(&equal) * 1.001 + 1.0, "{found:?}");
    }
}
