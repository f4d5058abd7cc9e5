//! The tape on hand-made faults, on programs that do as it says, and on those that do not.

use std::collections::HashSet;
use std::sync::mpsc;

use crate::support::faults::{demand, fetched, pages, run};
use farside_policy::prefetch::{FaultKind, PrefetchPlan, Prefetcher, Tape, TapeOptions};
use farside_trace::PageId;
use proptest::prelude::*;

fn tape(numbers: &[u64], lookahead: usize, batch: usize) -> Tape<std::vec::IntoIter<PageId>> {
    let coming: Vec<_> = numbers.iter().copied().map(PageId).collect();
    Tape::new(coming, TapeOptions { lookahead, batch, search: lookahead + 4 })
}

const SQUARES: [u64; 12] = [100, 1, 4, 9, 16, 25, 36, 49, 64, 81, 144, 121];

#[test]
fn it_stays_a_lookahead_ahead() {
    let mut tape = tape(&SQUARES, 3, 2);
    assert_eq!(demand(&mut tape, 100), pages([1, 4, 9, 16, 25]));
    assert_eq!(fetched(&mut tape, 1, FaultKind::Used), [], "four are ahead");
    assert_eq!(fetched(&mut tape, 4, FaultKind::Used), [], "three are ahead");
    assert_eq!(fetched(&mut tape, 9, FaultKind::Late), pages([36, 49, 64]));
    tape.access(PageId(16));
    tape.access(PageId(16));
    tape.access(PageId(36));
    assert_eq!(fetched(&mut tape, 25, FaultKind::Used), [], "16 and 25 are passed, 36 is not");
    assert_eq!(fetched(&mut tape, 36, FaultKind::Used), pages([81, 144, 121]));
    for page in [49, 64, 81, 144, 121, 7] {
        assert_eq!(fetched(&mut tape, page, FaultKind::Used), [], "the tape is at its end");
    }
}

#[test]
fn a_fault_further_down_moves_the_place_there() {
    let mut tape = tape(&SQUARES, 2, 1);
    assert_eq!(demand(&mut tape, 100), pages([1, 4, 9]));
    assert_eq!(demand(&mut tape, 25), pages([36, 49, 64]));
    assert_eq!(demand(&mut tape, 4), [], "nothing leads back");
    assert_eq!(demand(&mut tape, 36), []);
    assert_eq!(demand(&mut tape, 49), pages([81, 144]));
}

#[test]
fn a_fault_that_is_not_on_the_tape_changes_nothing() {
    let mut tape = tape(&SQUARES, 2, 1);
    assert_eq!(demand(&mut tape, 5000), pages([100, 1, 4]), "it can begin at once");
    assert_eq!(demand(&mut tape, 121), [], "too far down");
    assert_eq!(demand(&mut tape, 5001), []);
    assert_eq!(demand(&mut tape, 100), []);
    assert_eq!(demand(&mut tape, 1), pages([9, 16]));
}

#[test]
fn what_finds_no_room_in_a_plan_comes_with_the_next() {
    let every_other: Vec<_> = (0..300).map(|i| 2 * i).collect();
    let mut tape = tape(&every_other, 100, 1);
    let first: Vec<_> = demand(&mut tape, 0);
    assert_eq!((first.len(), first[63].first), (64, PageId(128)));
    let second = fetched(&mut tape, 2, FaultKind::Used);
    assert_eq!((second[0].first, second.last().unwrap().first), (PageId(130), PageId(204)));
}

#[test]
fn neighbours_are_one_run_and_the_page_itself_is_left_out() {
    let mut tape = tape(&[5, 6, 7, 5, 8, 9, 10, 11], 6, 1);
    assert_eq!(demand(&mut tape, 5), run(6, 6), "seven pages ahead, one of which is here");
}

#[test]
fn only_the_place_itself_counts_where_all_uses_are_told() {
    let coming: Vec<_> = SQUARES.map(PageId).into();
    let options = TapeOptions { lookahead: 3, batch: 0, search: 1 };
    let mut tape = Tape::new(coming, options);
    assert_eq!(demand(&mut tape, 100), pages([1, 4, 9]));
    assert_eq!(demand(&mut tape, 9), [], "a use that the tape does not list");
    assert_eq!(fetched(&mut tape, 1, FaultKind::Used), pages([16]));
    tape.access(PageId(4));
    assert_eq!(fetched(&mut tape, 9, FaultKind::Used), pages([25, 36]));
    assert!(tape.knows_all_accesses());
}

#[test]
fn a_page_that_left_unused_is_asked_for_once_more() {
    let mut tape = tape(&SQUARES, 4, 0);
    assert_eq!(demand(&mut tape, 100), pages([1, 4, 9, 16]));
    tape.unused(PageId(9));
    tape.unused(PageId(25));
    assert_eq!(fetched(&mut tape, 1, FaultKind::Used), pages([9, 25]), "25 was not asked for yet");
    tape.unused(PageId(9));
    assert_eq!(fetched(&mut tape, 4, FaultKind::Used), pages([36]), "once and no more");
    tape.unused(PageId(16));
    tape.unused(PageId(25));
    assert_eq!(demand(&mut tape, 9), pages([16, 25, 49]), "what comes first is asked for first");
    // What is passed is not asked for.
    tape.unused(PageId(36));
    assert_eq!(demand(&mut tape, 36), pages([64, 81, 144]));
    assert_eq!(demand(&mut tape, 49), pages([121]));
}

#[test]
fn a_tape_in_the_making_goes_on() {
    let (made, coming) = mpsc::channel();
    let coming = std::iter::from_fn(move || coming.try_recv().ok());
    let options = TapeOptions { lookahead: 2, batch: 0, search: 1 };
    let mut tape = Tape::new(coming, options);
    assert_eq!(demand(&mut tape, 7), [], "nothing is known");
    tape.access(PageId(7));
    [10, 20].into_iter().for_each(|page| made.send(PageId(page)).unwrap());
    assert_eq!(demand(&mut tape, 10), pages([20]));
    assert_eq!(fetched(&mut tape, 20, FaultKind::Used), []);
    [30, 40, 50].into_iter().for_each(|page| made.send(PageId(page)).unwrap());
    assert_eq!(demand(&mut tape, 30), pages([40, 50]));
}

/// Demand faults of a program on a memory that never fills up.
fn demand_faults(tape: &mut impl Prefetcher, accesses: &[PageId]) -> Vec<PageId> {
    let mut fetched: HashSet<PageId> = HashSet::new();
    let mut mapped: HashSet<PageId> = HashSet::new();
    let mut faults = Vec::new();
    for &page in accesses {
        if !mapped.insert(page) {
            tape.access(page);
            continue;
        }
        let kind = if fetched.contains(&page) { FaultKind::Used } else { FaultKind::Demand };
        if kind == FaultKind::Demand {
            faults.push(page);
        }
        let mut plan = PrefetchPlan::new();
        tape.fault(page, kind, &mut plan);
        fetched.extend(plan.runs().flat_map(|run| run.pages()).filter(|p| !mapped.contains(p)));
    }
    faults
}

proptest! {
    #[test]
    fn a_program_whose_first_uses_are_on_the_tape_faults_once(
        accesses in prop::collection::vec((0..200_u64).prop_map(PageId), 1..300),
        lookahead in 1..40_usize,
        batch in 0..9_usize,
    ) {
        let mut seen = HashSet::new();
        let coming: Vec<_> = accesses.iter().copied().filter(|p| seen.insert(*p)).collect();
        let mut tape = Tape::new(coming, TapeOptions { lookahead, batch, search: lookahead });
        prop_assert_eq!(demand_faults(&mut tape, &accesses), [accesses[0]]);
    }

    #[test]
    fn a_program_that_does_otherwise_does_no_harm(
        coming in prop::collection::vec((0..50_u64).prop_map(PageId), 0..100),
        accesses in prop::collection::vec((0..50_u64).prop_map(PageId), 0..100),
        options in (0..9_usize, 0..9_usize, 0..9_usize),
    ) {
        let (lookahead, batch, search) = options;
        let mut tape = Tape::new(coming, TapeOptions { lookahead, batch, search });
        for page in accesses {
            let mut plan = PrefetchPlan::new();
            tape.fault(page, FaultKind::Demand, &mut plan);
            let total: u64 = plan.runs().map(|run| run.count).sum();
            prop_assert!(total <= (lookahead + batch) as u64);
            prop_assert!(plan.runs().all(|run| !run.contains(page)));
        }
    }
}
