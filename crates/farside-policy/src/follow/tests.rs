use super::*;

const OPTIONS: FollowOptions = FollowOptions { batch: 3, lookahead: 5, search: 64 };

fn step(kind: StepKind, page: u64) -> Step {
    Step { kind, page: PageId(page) }
}

const fn page(page: u64) -> PageId {
    PageId(page)
}

/// Pages 0 to 19 are touched, and then used once more, with room for ten of them.
fn tape() -> Vec<Step> {
    let uses = (0..20).map(|page| (StepKind::Touch, page));
    let uses = uses.chain((0..20).map(|page| (StepKind::Fetch, page)));
    let mut steps = Vec::new();
    for (number, (kind, page)) in uses.enumerate() {
        if number >= 10 {
            steps.push(step(StepKind::Evict, (page + 10) % 20));
        }
        steps.push(step(kind, page));
    }
    steps
}

/// What is to be fetched now: pages, and whether each is a key page.
fn fetches(follower: &mut Follower, tape: &mut impl Iterator<Item = Step>) -> Vec<(u64, bool)> {
    let next = || follower.next_fetch(tape).map(|fetch| (fetch.page.0, fetch.key));
    std::iter::from_fn(next).collect()
}

fn evictions(follower: &mut Follower) -> Vec<u64> {
    std::iter::from_fn(|| follower.next_eviction()).map(|page| page.0).collect()
}

#[test]
fn pages_are_ordered_ahead_and_evicted_behind() {
    let mut tape = tape().into_iter();
    let mut follower = Follower::new(OPTIONS);
    for page in 0..20 {
        assert_eq!(follower.fault(PageId(page), &mut tape), Met::Here);
    }
    assert_eq!(evictions(&mut follower), (0..10).collect::<Vec<_>>());
    let ahead = [(0, false), (1, false), (2, true), (3, false), (4, false)];
    assert_eq!(fetches(&mut follower, &mut tape), ahead);
    // What comes after the last use that was seen may still be in use.
    assert!(evictions(&mut follower).is_empty());
    assert_eq!([19, 4, 5, 0].map(|p| follower.expects(page(p))), [true, true, false, true]);
    // The key page tells that all before it was used.
    assert_eq!(follower.fault(page(2), &mut tape), Met::Here);
    assert_eq!(evictions(&mut follower), [10, 11, 12]);
    assert_eq!(fetches(&mut follower, &mut tape), [(5, true), (6, false), (7, false)]);
}

#[test]
fn a_page_that_comes_again_soon_does_not_go() {
    let mut tape = tape().into_iter();
    let mut follower = Follower::new(OPTIONS);
    for page in 0..20 {
        follower.fault(PageId(page), &mut tape);
    }
    // They have not been evicted yet.
    assert_eq!(fetches(&mut follower, &mut tape), []);
    assert_eq!(evictions(&mut follower), [5, 6, 7, 8, 9]);
}

#[test]
fn what_finds_no_room_is_fetched_later() {
    let mut tape = (0..20).map(|page| step(StepKind::Fetch, page));
    let mut follower = Follower::new(OPTIONS);
    let pages = |fetches: Vec<(u64, bool)>| fetches.into_iter().map(|(page, _)| page);
    assert!(pages(fetches(&mut follower, &mut tape)).eq(0..5));
    follower.take_back(3);
    assert!(pages(fetches(&mut follower, &mut tape)).eq(3..5));
    follower.fault(page(2), &mut tape);
    follower.take_back(0);
    assert!(pages(fetches(&mut follower, &mut tape)).eq(3..8));
}

#[test]
fn what_was_passed_before_it_was_ordered_still_comes() {
    let fetched = (0..8).map(|page| step(StepKind::Fetch, page));
    let given_up = [step(StepKind::Evict, 1), step(StepKind::Fetch, 8)];
    let mut tape = fetched.chain(given_up).chain((9..20).map(|page| step(StepKind::Fetch, page)));
    let mut follower = Follower::new(OPTIONS);
    // The order of what is close together is not exact: the thread comes back to 0 to 3.
    assert_eq!(follower.fault(page(4), &mut tape), Met::Here);
    assert_eq!(follower.fault(page(2), &mut tape), Met::Early);
    let next = follower.next_fetch(&mut tape).map(|fetch| (fetch.page, fetch.key));
    assert_eq!(next, Some((page(0), false)));
    // Page 1 is not needed any more.
    assert_eq!(follower.fault(page(8), &mut tape), Met::Here);
    let pages = |fetches: Vec<(u64, bool)>| fetches.into_iter().map(|(page, _)| page);
    let rest: Vec<_> = pages(fetches(&mut follower, &mut tape)).collect();
    assert_eq!(rest, [3, 5, 6, 7, 9, 10, 11, 12, 13]);
    // Far down the tape, after the thread was lost, nothing is owed.
    for page in 100..200 {
        follower.fault(PageId(page), &mut tape);
    }
    assert!(follower.is_lost() && follower.next_fetch(&mut tape).is_none());
}

#[test]
fn what_happens_on_the_way_is_counted() {
    let mut tape = tape().into_iter();
    let mut follower = Follower::new(OPTIONS);
    for page in 0..20 {
        follower.fault(PageId(page), &mut tape);
        evictions(&mut follower);
    }
    let passed = Tally { steps: 30, ..Tally::default() };
    assert_eq!((follower.take_tally(), follower.place()), (passed, 30));
    assert_eq!(follower.take_tally(), Tally::default());
    // Pages 2, 5, 8 and 11 are key pages; the thread is seen at 2, and then beyond the others.
    fetches(&mut follower, &mut tape);
    follower.fault(page(2), &mut tape);
    fetches(&mut follower, &mut tape);
    follower.fault(page(6), &mut tape);
    let tally = follower.take_tally();
    assert_eq!((tally.keys_met, tally.keys_missed), (1, 1));
    evictions(&mut follower);
    fetches(&mut follower, &mut tape);
    // Page 11 cannot be one, and is not missed.
    follower.key_failed();
    follower.fault(page(12), &mut tape);
    let tally = follower.take_tally();
    assert_eq!((tally.keys_met, tally.keys_missed, tally.lost), (0, 1, 0));
}

#[test]
fn a_page_that_left_early_says_nothing_of_the_place() {
    let mut tape = tape().into_iter();
    let mut follower = Follower::new(OPTIONS);
    for page in 0..10 {
        follower.fault(PageId(page), &mut tape);
    }
    let place = follower.place();
    // Steps 10 and following say when it goes.
    assert_eq!(follower.fault(page(7), &mut tape), Met::Early);
    assert_eq!(follower.place(), place);
    assert_eq!(follower.next_stray(), None);
}

#[test]
fn a_page_that_is_not_planned_goes_when_room_is_needed_or_stays_if_it_is_fetched_soon() {
    let mut tape = (0..200).map(|page| step(StepKind::Fetch, page));
    let mut follower = Follower::new(OPTIONS);
    assert_eq!(follower.fault(page(9_000), &mut tape), Met::Unknown);
    // Far ahead: a single fault is no reason to leave out all that lies between.
    assert_eq!(follower.fault(page(60), &mut tape), Met::Unknown);
    assert_eq!(follower.place(), 0);
    assert_eq!(follower.next_stray(), Some(page(9_000)));
    assert_eq!(follower.fault(page(58), &mut tape), Met::Unknown);
    assert_eq!(follower.fault(page(16), &mut tape), Met::Here);
    let pages = |fetches: Vec<(u64, bool)>| fetches.into_iter().map(|(page, _)| page);
    assert!(pages(fetches(&mut follower, &mut tape)).eq((0..16).chain(17..22)));
    assert_eq!(follower.fault(page(19), &mut tape), Met::Here);
    for place in [25, 36, 47] {
        assert_eq!(follower.fault(page(place), &mut tape), Met::Here);
        fetches(&mut follower, &mut tape);
    }
    assert_eq!(follower.fault(page(55), &mut tape), Met::Here);
    // Page 58 stays, since it comes soon; and so did page 60.
    assert!(pages(fetches(&mut follower, &mut tape)).eq([53, 54, 56, 57, 59]));
    assert_eq!(follower.next_stray(), None);
}

#[test]
fn a_thread_that_is_seen_further_down_again_and_again_is_there() {
    let mut tape = (0..200).map(|page| step(StepKind::Fetch, page));
    let mut follower = Follower::new(OPTIONS);
    for (seen, place) in [(50, 0), (52, 0), (55, 0), (56, 57)] {
        follower.fault(page(seen), &mut tape);
        assert_eq!(follower.place(), place);
    }
}

#[test]
fn a_program_that_does_something_else_is_left_alone_until_it_comes_back() {
    let steps: Vec<Step> = (0..1000).map(|page| step(StepKind::Touch, page)).collect();
    let mut tape = steps.into_iter();
    let mut follower = Follower::new(OPTIONS);
    for page in 5000..5000 + u64::from(PATIENCE) {
        assert!(!follower.is_lost());
        assert_eq!(follower.fault(PageId(page), &mut tape), Met::Unknown);
    }
    assert!(follower.is_lost());
    assert_eq!(follower.take_tally(), Tally { lost: 1, ..Tally::default() });
    assert_eq!(follower.next_fetch(&mut tape), None);
    for page in 20..20 + u64::from(REGAINED) {
        assert!(follower.is_lost());
        follower.fault(PageId(page), &mut tape);
    }
    assert!(!follower.is_lost());
}

#[test]
fn a_lost_thread_is_looked_for_far_down_the_tape() {
    let mut tape = (0..1000).map(|page| step(StepKind::Touch, page));
    let mut follower = Follower::new(OPTIONS);
    for page in 5000..5000 + u64::from(PATIENCE) {
        follower.fault(PageId(page), &mut tape);
    }
    for page in 400..400 + u64::from(REGAINED) {
        assert!(follower.is_lost());
        follower.fault(PageId(page), &mut tape);
    }
    assert_eq!((follower.is_lost(), follower.place()), (false, 400 + u64::from(REGAINED)));
}

#[test]
fn a_lost_thread_is_found_by_the_few_faults_that_fetching_ahead_leaves() {
    let mut tape = (0..1000).map(|page| step(StepKind::Touch, page));
    let mut follower = Follower::new(OPTIONS);
    for page in 5000..5000 + u64::from(PATIENCE) {
        follower.fault(PageId(page), &mut tape);
    }
    for sighting in 0..u64::from(REGAINED) {
        assert!(follower.is_lost());
        follower.fault(PageId(400 + 60 * sighting), &mut tape);
    }
    let last = 400 + 60 * (u64::from(REGAINED) - 1);
    assert_eq!((follower.is_lost(), follower.place()), (false, last + 1));
}

#[test]
fn a_thread_that_is_elsewhere_for_long_has_left_the_tape() {
    let mut tape = tape().into_iter();
    let mut follower = Follower::new(OPTIONS);
    for page in 0..20 {
        follower.fault(PageId(page), &mut tape);
        // Now and then the thread uses what is not on the tape.
        (1..PATIENCE).for_each(|_| follower.fault_elsewhere());
    }
    assert!(!follower.is_lost() && follower.expects(page(12)) && follower.planned() == 10);
    follower.fault_elsewhere();
    assert_eq!(follower.take_tally(), Tally { steps: 30, lost: 1, ..Tally::default() });
    // Others may have all the memory, and nothing comes.
    assert!(!follower.expects(page(12)) && !follower.needs(page(12)) && follower.planned() == 0);
    assert_eq!((evictions(&mut follower), fetches(&mut follower, &mut tape)), (vec![], vec![]));
}

#[test]
fn what_the_plan_has_here_comes_again_when_a_thread_is_back() {
    let mut tape = tape().into_iter();
    let mut follower = Follower::new(OPTIONS);
    for page in 0..20 {
        follower.fault(PageId(page), &mut tape);
    }
    evictions(&mut follower);
    assert_eq!(fetches(&mut follower, &mut tape).len(), 5);
    (0..PATIENCE).for_each(|_| follower.fault_elsewhere());
    for page in 0..u64::from(REGAINED) {
        assert!(follower.is_lost());
        follower.fault(PageId(page), &mut tape);
    }
    assert!(!follower.is_lost() && follower.is_due());
    // Pages 18 and 19 are to stay until 8 and 9 are used; 0 to 7 have just been; the next ones had not been ordered.
    let pages = fetches(&mut follower, &mut tape).into_iter().map(|(page, _)| page);
    assert!(pages.eq([0, 1, 2, 3, 4, 5, 6, 7, 18, 19, 8, 9, 10, 11, 12]));
}
