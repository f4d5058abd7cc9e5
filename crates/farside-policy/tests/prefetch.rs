//! What the prefetchers fetch for sequential, interleaved and random accesses.

mod support;

use std::collections::{BTreeSet, HashSet, VecDeque};

use farside_policy::prefetch::{
    self, FaultKind, FixedReadahead, LinuxWindow, MAX_RUNS, PrefetchPlan, Prefetcher,
};
use farside_trace::{PageId, PageRange};
use proptest::prelude::*;
use support::counting::{Counting, allocations};
use support::faults::{demand, fetched, run};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The pages among `accesses` that fault when whatever was fetched stays.
fn faults(prefetcher: &mut impl Prefetcher, accesses: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut resident = HashSet::new();
    let mut faults = Vec::new();
    for page in accesses {
        if resident.insert(PageId(page)) {
            faults.push(page);
            resident.extend(demand(prefetcher, page).iter().flat_map(|run| run.pages()));
        }
    }
    faults
}

/// A memory of `capacity` pages, first in first out, whose prefetcher hears of unused pages.
struct Memory {
    prefetcher: LinuxWindow,
    capacity: usize,
    resident: HashSet<PageId>,
    order: VecDeque<PageId>,
    untouched: BTreeSet<PageId>,
}

impl Memory {
    fn new(capacity: usize, max: u32) -> Self {
        Self {
            prefetcher: LinuxWindow::new(max),
            capacity,
            resident: HashSet::new(),
            order: VecDeque::new(),
            untouched: BTreeSet::new(),
        }
    }

    /// Number of pages prefetched with an access; `None` if there was no fault.
    fn access(&mut self, page: u64) -> Option<usize> {
        let page = PageId(page);
        self.untouched.remove(&page);
        if self.resident.contains(&page) {
            return None;
        }
        let wanted = demand(&mut self.prefetcher, page.0);
        self.bring(page);
        let mut count = 0;
        for page in wanted.iter().flat_map(|run| run.pages()) {
            if !self.resident.contains(&page) {
                self.bring(page);
                self.untouched.insert(page);
                count += 1;
            }
        }
        Some(count)
    }

    fn bring(&mut self, page: PageId) {
        self.resident.insert(page);
        self.order.push_back(page);
        if self.order.len() > self.capacity {
            let victim = self.order.pop_front().unwrap();
            self.resident.remove(&victim);
            if self.untouched.remove(&victim) {
                self.prefetcher.unused(victim);
            }
        }
    }
}

/// Numbers that look random (splitmix64).
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    (1_u64..).map(move |index| {
        let mixed = (seed.wrapping_add(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// A Linux window whose stream has come to windows of 64 pages, the last of them 66 to 129.
fn settled() -> LinuxWindow {
    let mut prefetcher = LinuxWindow::new(64);
    for page in [0, 1, 6, 15, 32] {
        demand(&mut prefetcher, page);
    }
    assert_eq!(demand(&mut prefetcher, 65), run(66, 64));
    prefetcher
}

fn names() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    prefetch::NAMES.iter().chain(prefetch::OMNISCIENT)
}

/// A prefetcher with a tape of the pages from 0 to 999, if it needs one.
fn with_tape(name: &str, max_pages: u32) -> Box<dyn Prefetcher> {
    let tape = (0..1000).map(PageId);
    prefetch::by_name_with_tape(name, max_pages, tape).expect("a listed prefetcher")
}

#[test]
fn every_listed_name_makes_the_prefetcher_of_that_name() {
    for &(name, description) in names() {
        assert_eq!(with_tape(name, 8).name(), name);
        assert!(!description.is_empty() && !description.contains('\n'));
        assert_eq!(prefetch::by_name(name, 8).is_none(), name == "tape");
    }
    assert!(prefetch::by_name("no such prefetcher", 8).is_none());
    assert!(prefetch::by_name_with_tape("no such prefetcher", 8, []).is_none());
    let twice = |name| names().filter(|(other, _)| *other == name).count();
    assert!(names().all(|(name, _)| twice(*name) == 1));
}

#[test]
fn none_fetches_nothing() {
    let mut none = prefetch::NoPrefetch;
    assert_eq!(faults(&mut none, 0..100).len(), 100);
}

#[test]
fn fixed_readahead_fetches_the_pages_after_each_page_waited_for() {
    let mut fixed = FixedReadahead::new(7);
    assert_eq!(demand(&mut fixed, 1000), run(1001, 7));
    assert_eq!(fetched(&mut fixed, 1003, FaultKind::Late), run(1004, 7));
    assert_eq!(fetched(&mut fixed, 1004, FaultKind::Used), []);
    assert_eq!(faults(&mut fixed, 0..24), [0, 8, 16]);
    assert_eq!(demand(&mut fixed, u64::MAX - 3), run(u64::MAX - 2, 2));
    assert_eq!(demand(&mut fixed, u64::MAX - 1), []);
    assert_eq!(demand(&mut fixed, u64::MAX), []);
}

#[test]
fn forward_scan_settles_on_one_fault_per_window() {
    let found = faults(&mut LinuxWindow::new(64), 0..10_000);
    let mut expected = vec![0, 1, 6, 15, 32];
    expected.extend((65..10_000).step_by(65));
    assert_eq!(found, expected);
}

#[test]
fn backward_scan_does_as_well_and_stops_at_page_0() {
    let found = faults(&mut LinuxWindow::new(64), (0..10_000).rev());
    let forward = faults(&mut LinuxWindow::new(64), 0..10_000);
    assert!(found.iter().map(|page| 9_999 - page).eq(forward));

    let mut prefetcher = LinuxWindow::new(64);
    assert_eq!(demand(&mut prefetcher, 3), []);
    assert_eq!(demand(&mut prefetcher, 2), run(0, 2));
    assert_eq!(demand(&mut prefetcher, 1), run(0, 1));
    assert_eq!(demand(&mut prefetcher, 0), []);
}

#[test]
fn forward_scan_stops_at_the_highest_page() {
    let mut prefetcher = LinuxWindow::new(64);
    assert_eq!(demand(&mut prefetcher, u64::MAX - 4), []);
    assert_eq!(demand(&mut prefetcher, u64::MAX - 3), run(u64::MAX - 2, 2));
    assert_eq!(demand(&mut prefetcher, u64::MAX), []);
    assert_eq!(demand(&mut prefetcher, 0), [], "the first page does not follow the last");
}

#[test]
fn a_limit_of_no_pages_fetches_none() {
    for &(name, _) in prefetch::NAMES {
        let mut prefetcher = prefetch::by_name(name, 0).unwrap();
        for page in 0..100 {
            let mut plan = PrefetchPlan::new();
            prefetcher.fault(PageId(page), FaultKind::Demand, &mut plan);
            assert!(plan.is_empty(), "{name}");
        }
    }
}

#[test]
fn interleaved_streams_each_get_their_window() {
    let alone = faults(&mut LinuxWindow::new(64), 0..5_000).len();
    for streams in [2, 8, 16, 32] {
        // Every other stream goes backward.
        let page = |stream: u64, index: u64| match stream % 2 {
            0 => (stream << 30) + index,
            _ => (stream << 30) - index,
        };
        let accesses = (0..5_000).flat_map(|index| (1..=streams).map(move |s| page(s, index)));
        let together = faults(&mut LinuxWindow::new(64), accesses).len();
        assert_eq!(together, alone * streams as usize, "{streams} streams");
    }
}

#[test]
fn arrays_side_by_side_are_told_apart() {
    const PAGES: u64 = 5_000;
    let alone = faults(&mut LinuxWindow::new(64), 0..PAGES).len();
    let accesses = (0..PAGES).flat_map(|index| (0..8).map(move |array| array * PAGES + index));
    let together = faults(&mut LinuxWindow::new(64), accesses).len();
    assert!(together <= alone * 8, "{together} faults, {alone} for one array");
}

#[test]
fn random_faults_do_not_disturb_a_stream() {
    let mut noise = noise(1);
    let accesses = (0..2_000).flat_map(|page| {
        let others: Vec<_> = noise.by_ref().take(20).map(|other| other | 1 << 63).collect();
        std::iter::once(page).chain(others)
    });
    let mut found = faults(&mut LinuxWindow::new(64), accesses);
    found.retain(|page| page >> 63 == 0);
    assert_eq!(found, faults(&mut LinuxWindow::new(64), 0..2_000));
}

#[test]
fn random_accesses_converge_to_no_prefetch() {
    for (region, seed) in [(1_000, 1), (4_096, 2), (131_072, 3), (1 << 40, 4)] {
        let mut memory = Memory::new(region.min(131_072) as usize / 5, 64);
        // Streams that were, all over the region.
        for start in (0..32).map(|stream| stream * region / 32) {
            for page in start..start + (region / 64).min(2_048) {
                memory.access(page);
            }
        }
        let mut fetched = 0;
        for (index, page) in noise(seed).take(300_000).enumerate() {
            fetched += memory.access(page % region).unwrap_or(0);
            if index == 200_000 {
                fetched = 0;
            }
        }
        assert_eq!(fetched, 0, "pages fetched after the warm-up, region of {region} pages");
    }
}

#[test]
fn a_scan_after_a_random_phase_finds_its_window_again() {
    let mut memory = Memory::new(800, 64);
    for page in noise(5).take(100_000) {
        memory.access(page % 4_096);
    }
    let scan: Vec<_> =
        (0..100_000).filter(|page| memory.access(100_000 + page).is_some()).collect();
    assert!(scan[3..].is_sorted() && scan.len() < 100_000 / 65 + 20, "{} faults", scan.len());
    assert!(scan.windows(2).skip(20).all(|pair| pair[1] - pair[0] == 65));
}

#[test]
fn a_small_gap_continues_the_stream_and_a_large_one_does_not() {
    assert_eq!(demand(&mut settled(), 130), run(131, 64));
    assert_eq!(demand(&mut settled(), 135), run(136, 64), "some pages may have been resident");
    assert_eq!(demand(&mut settled(), 1000), []);
}

#[test]
fn a_window_does_not_grow_by_gaps_that_are_large_beside_it() {
    let young = || {
        let mut prefetcher = LinuxWindow::new(64);
        demand(&mut prefetcher, 0);
        assert_eq!(demand(&mut prefetcher, 1), run(2, 4));
        prefetcher
    };
    for gap in [0, 1] {
        assert_eq!(demand(&mut young(), 6 + gap), run(7 + gap, 8));
    }
    for gap in [2, 8] {
        assert_eq!(demand(&mut young(), 6 + gap), [], "it may be chance");
    }
    for (gap, size) in [(0, 16), (2, 16), (3, 4), (8, 4)] {
        let mut proven = young();
        demand(&mut proven, 6);
        assert_eq!(demand(&mut proven, 15 + gap), run(16 + gap, size));
    }
    assert_eq!(demand(&mut young(), 15), []);
}

#[test]
fn a_stream_that_was_silent_for_long_begins_anew() {
    let by_chance = |prefetcher: &mut LinuxWindow| {
        for i in 0..5000 {
            demand(prefetcher, (1 << 40) + i * 1000);
        }
    };
    let mut prefetcher = settled();
    by_chance(&mut prefetcher);
    assert_eq!(demand(&mut prefetcher, 131), [], "it is near, and that may be chance");
    let mut prefetcher = settled();
    by_chance(&mut prefetcher);
    assert_eq!(demand(&mut prefetcher, 130), run(131, 8));
}

#[test]
fn streams_of_which_nothing_is_heard_make_cautious() {
    let mut prefetcher = LinuxWindow::new(64);
    let mut fetched = 0;
    for i in 0..400 {
        let first = i * 100_003 % 8191 * 64;
        demand(&mut prefetcher, first);
        fetched += demand(&mut prefetcher, first + 1).iter().map(|run| run.count).sum::<u64>();
    }
    assert_eq!(fetched, 40 * 4);
}

#[test]
fn a_stream_ends_when_more_of_it_is_unused_than_used() {
    for (used, ends) in [(0, true), (20, false)] {
        let mut prefetcher = settled();
        let mut plan = PrefetchPlan::new();
        for page in 20..20 + used {
            prefetcher.fault(PageId(page), FaultKind::Used, &mut plan);
        }
        assert!(plan.is_empty(), "the windows that they came with have been passed");
        // No more than a half of any window, and of what the stream has passed.
        (50..65).map(PageId).for_each(|page| prefetcher.unused(page));
        assert_eq!(demand(&mut prefetcher, 130).is_empty(), ends);
    }
}

#[test]
fn a_page_of_the_window_that_faults_again_is_fetched_on_from_there() {
    assert_eq!(demand(&mut settled(), 100), run(101, 32));
}

#[test]
fn one_unused_page_halves_the_next_window() {
    let mut prefetcher = settled();
    prefetcher.unused(PageId(70));
    prefetcher.unused(PageId(20));
    assert_eq!(demand(&mut prefetcher, 130), run(131, 32));
    assert_eq!(demand(&mut prefetcher, 163), run(164, 64), "and then it grows again");
    prefetcher.unused(PageId(5000));
    assert_eq!(
        demand(&mut prefetcher, 228),
        run(229, 64),
        "another's page is none of its business"
    );
}

#[test]
fn a_mostly_unused_window_ends_the_stream() {
    let mut prefetcher = settled();
    (80..113).map(PageId).for_each(|page| prefetcher.unused(page));
    assert_eq!(demand(&mut prefetcher, 130), []);
}

#[test]
fn windows_mostly_unused_one_after_the_other_end_the_stream() {
    let mut prefetcher = settled();
    for page in [130, 195, 260] {
        assert_eq!(demand(&mut prefetcher, page), run(page + 1, 64));
    }
    (66..99).map(PageId).for_each(|page| prefetcher.unused(page));
    assert_eq!(demand(&mut prefetcher, 325), [], "what was reported late counts as well");
}

#[test]
fn unused_first_windows_make_it_take_longer_runs_to_begin_a_stream() {
    let mut prefetcher = LinuxWindow::new(64);
    let mut needed = Vec::new();
    for stream in 1..=8_u64 {
        let first = stream << 20;
        let begun = (first..).find(|&page| !demand(&mut prefetcher, page).is_empty()).unwrap();
        needed.push(begun - first + 1);
        (begun + 1..begun + 5).map(PageId).for_each(|page| prefetcher.unused(page));
    }
    assert_eq!(needed, [2, 3, 4, 5, 6, 6, 6, 6]);
}

#[test]
fn a_run_must_keep_its_direction() {
    let mut prefetcher = LinuxWindow::new(64);
    demand(&mut prefetcher, 0);
    demand(&mut prefetcher, 1);
    prefetcher.unused(PageId(2));
    for page in [500, 501, 500] {
        assert_eq!(demand(&mut prefetcher, page), [], "to and fro is no stream of three");
    }
}

#[test]
fn a_page_that_faults_again_and_again_does_not_hide_others() {
    let mut prefetcher = LinuxWindow::new(64);
    demand(&mut prefetcher, 100);
    for _ in 0..100 {
        assert_eq!(demand(&mut prefetcher, 9_000), []);
    }
    assert_eq!(demand(&mut prefetcher, 101), run(102, 4));
}

#[test]
fn a_late_page_widens_the_window_and_fetches_ahead_once() {
    let mut prefetcher = LinuxWindow::new(64);
    demand(&mut prefetcher, 0);
    assert_eq!(demand(&mut prefetcher, 1), run(2, 4));
    assert_eq!(fetched(&mut prefetcher, 2, FaultKind::Late), run(6, 8));
    assert_eq!(fetched(&mut prefetcher, 3, FaultKind::Late), [], "what follows is on its way");
    prefetcher.unused(PageId(4));
    assert_eq!(fetched(&mut prefetcher, 6, FaultKind::Late), run(14, 8), "halved, then doubled");
    assert_eq!(fetched(&mut prefetcher, 999, FaultKind::Late), []);
}

#[test]
fn used_pages_keep_a_stream_ahead_of_the_program() {
    let mut prefetcher = LinuxWindow::new(64);
    let mut resident = HashSet::new();
    let mut demand_faults = Vec::new();
    for page in (0..10_000).map(PageId) {
        let kind = if resident.contains(&page) { FaultKind::Used } else { FaultKind::Demand };
        if kind == FaultKind::Demand {
            demand_faults.push(page.0);
        }
        for run in fetched(&mut prefetcher, page.0, kind) {
            assert!(run.count <= 64 && run.end() <= page.0 + 1 + 2 * 64, "{run:?} at {page:?}");
            resident.extend(run.pages());
        }
    }
    assert_eq!(demand_faults, [0, 1]);
}

#[test]
fn nothing_is_allocated_once_a_prefetcher_is_made() {
    for &(name, _) in names() {
        let mut prefetcher = with_tape(name, 64);
        let mut plan = PrefetchPlan::with_capacity(200);
        let before = allocations();
        for i in 0..20_000_u64 {
            let page = PageId(if i % 3 == 0 { i } else { i * i % 5000 });
            let kinds = [FaultKind::Demand, FaultKind::Late, FaultKind::Used];
            plan.clear();
            prefetcher.fault(page, kinds[i as usize % 7 % 3], &mut plan);
            prefetcher.access(PageId(page.0 + 1));
            prefetcher.unused(PageId(page.0 + 2));
        }
        assert_eq!(allocations(), before, "{name}");
    }
}

#[test]
fn a_plan_takes_as_many_runs_as_it_has_room_for() {
    for (mut plan, most) in [
        (PrefetchPlan::new(), MAX_RUNS),
        (PrefetchPlan::with_capacity(1), MAX_RUNS),
        (PrefetchPlan::with_capacity(MAX_RUNS + 3), MAX_RUNS + 3),
    ] {
        assert!(plan.is_empty());
        plan.touch_resident();
        for cleared in [false, true] {
            if cleared {
                plan.clear();
            }
            assert_eq!((plan.runs().count(), plan.touches_resident()), (0, !cleared));
            let taken = (0..1000).take_while(|i| plan.push(PageRange::new(PageId(10 * i), 2)));
            assert_eq!(taken.count(), most);
            assert!(plan.push(PageRange::new(PageId(0), 0)), "an empty run takes no room");
            assert!(plan.runs().enumerate().all(|(i, run)| run.first.0 == 10 * i as u64));
            assert_eq!(plan.runs().count(), most);
            let last = 10 * (most as u64 - 1);
            assert!(plan.push_page(PageId(last + 2)) && !plan.push_page(PageId(5)));
            assert_eq!(plan.runs().last(), Some(PageRange::new(PageId(last), 3)));
        }
    }
}

#[test]
fn neighbouring_pages_make_one_run() {
    let mut plan = PrefetchPlan::new();
    assert!(
        [5, 6, 4, 8, u64::MAX - 1, u64::MAX, 0].map(PageId).map(|p| plan.push_page(p)) == [true; 7]
    );
    let expected = [(4, 3), (8, 1), (u64::MAX - 1, 1), (0, 1)];
    assert!(plan.runs().eq(expected.map(|(first, count)| PageRange::new(PageId(first), count))));
}

fn likely_page() -> impl Strategy<Value = u64> {
    prop_oneof![0..40_u64, u64::MAX - 40..=u64::MAX, 1_000..1_400_u64, any::<u64>()]
}

proptest! {
    #[test]
    fn plans_stay_within_the_limit_and_the_page_numbers(
        calls in prop::collection::vec((likely_page(), 0..6_u8, 1..20_u64), 0..80),
        max in prop_oneof![0..80_u32, Just(u32::MAX)],
    ) {
        // A graph allocates for as many pages as it may ask for.
        for &(name, _) in names().filter(|(name, _)| *name != "proximity" || max < 100) {
            let mut prefetcher = with_tape(name, max);
            for &(start, call, length) in &calls {
                for page in (start..start.saturating_add(length)).map(PageId) {
                    let kind = match call {
                        0 | 1 => FaultKind::Demand,
                        2 => FaultKind::Late,
                        3 => FaultKind::Used,
                        5 => {
                            prefetcher.access(page);
                            continue;
                        }
                        _ => {
                            prefetcher.unused(page);
                            continue;
                        }
                    };
                    let mut plan = PrefetchPlan::new();
                    prefetcher.fault(page, kind, &mut plan);
                    let total: u64 = plan.runs().map(|run| run.count).sum();
                    prop_assert!(total <= u64::from(max), "{}: {:?}", name, plan);
                    for run in plan.runs() {
                        prop_assert!(run.first.0.checked_add(run.count).is_some(), "{:?}", run);
                        prop_assert!(!run.contains(page), "{}: {:?} at {:?}", name, run, page);
                    }
                }
            }
        }
    }
}
