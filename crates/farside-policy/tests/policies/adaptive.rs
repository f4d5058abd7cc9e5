//! What the adaptive prefetcher makes of programs, in a small memory, beside what each of its prefetchers does alone.

use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};

use farside_policy::prefetch::{self, Adaptive, FaultKind, Following, PrefetchPlan, Prefetcher};
use farside_trace::{PageId, PageRange};
use proptest::prelude::*;

/// Pages of a part of memory that is judged by itself.
const PART: u64 = 1 << 14;

/// How much of what is fetched is seen to be used.
#[derive(Copy, Clone, PartialEq)]
enum Seen {
    /// Every page.
    All,
    /// One page of every eighth run of several, as in a run.
    Sample,
    /// None.
    Nothing,
}

/// A memory, first in first out, of pages of which each has content from the start.
struct Memory<P> {
    prefetcher: P,
    capacity: usize,
    seen: Seen,
    here: VecDeque<PageId>,
    /// Whether a page that is here is unused, as far as is told.
    unused: HashMap<PageId, bool>,
    runs: u64,
    demand: u64,
    used: u64,
    fetched: u64,
    wasted: u64,
}

impl<P: Prefetcher> Memory<P> {
    fn new(prefetcher: P, capacity: usize, seen: Seen) -> Self {
        let (here, unused) = (VecDeque::new(), HashMap::new());
        let (runs, demand, used, fetched, wasted) = (0, 0, 0, 0, 0);
        Self { prefetcher, capacity, seen, here, unused, runs, demand, used, fetched, wasted }
    }

    fn access(&mut self, page: u64) {
        let page = PageId(page);
        match self.unused.get_mut(&page) {
            None => {
                self.demand += 1;
                self.bring(page, false);
                self.fault(page, FaultKind::Demand);
            }
            Some(unused) if *unused => {
                *unused = false;
                self.used += 1;
                self.fault(page, FaultKind::Used);
            }
            Some(_) => {}
        }
    }

    fn fault(&mut self, page: PageId, kind: FaultKind) {
        let mut plan = PrefetchPlan::new();
        let here = &self.unused;
        self.prefetcher.fault_seeing(page, kind, &|page| !here.contains_key(&page), &mut plan);
        for run in plan.runs() {
            self.runs += 1;
            let place = self.runs.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let is_seen = self.seen == Seen::Sample && run.count > 1 && self.runs.is_multiple_of(8);
            let sample = is_seen.then(|| place % run.count);
            for (at, page) in run.pages().enumerate() {
                let told = self.seen == Seen::All || sample == Some(at as u64);
                self.fetch(page, told);
            }
        }
    }

    /// Fetches a page ahead, if it is far.
    fn fetch(&mut self, page: PageId, told: bool) {
        if !self.unused.contains_key(&page) {
            self.fetched += 1;
            self.bring(page, told);
        }
    }

    fn bring(&mut self, page: PageId, unused: bool) {
        self.here.push_back(page);
        self.unused.insert(page, unused);
        if self.here.len() > self.capacity {
            let gone = self.here.pop_front().unwrap();
            if self.unused.remove(&gone) == Some(true) {
                self.wasted += 1;
                self.prefetcher.unused(gone);
            }
        }
    }

    fn run(&mut self, accesses: impl IntoIterator<Item = u64>) -> &mut Self {
        accesses.into_iter().for_each(|page| self.access(page));
        self
    }

    /// Demand faults and pages fetched ahead since the last time.
    fn counts(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.demand), std::mem::take(&mut self.fetched))
    }
}

fn adaptive() -> Memory<Adaptive> {
    Memory::new(Adaptive::new(64), 2000, Seen::All)
}

fn alone(name: &str, seen: Seen) -> Memory<Box<dyn Prefetcher>> {
    Memory::new(prefetch::by_name(name, 64).expect("a listed prefetcher"), 2000, seen)
}

fn scan(from: u64) -> std::ops::Range<u64> {
    from..from + 10_000
}

fn strided(from: u64) -> impl Iterator<Item = u64> {
    scan(from).step_by(7)
}

/// Pages by chance, of the 16,384 from `from` on (splitmix64).
fn noise(from: u64, seed: u64, count: usize) -> impl Iterator<Item = u64> {
    (1_u64..=count as u64).map(move |index| {
        let mixed = (seed.wrapping_add(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (mixed ^ (mixed >> 31)) % PART
    })
}

#[test]
fn a_scan_is_read_ahead_as_by_read_ahead_alone() {
    for seen in [Seen::All, Seen::Sample] {
        for backwards in [false, true] {
            let pages = || -> Vec<u64> {
                if backwards { scan(0).rev().collect() } else { scan(0).collect() }
            };
            let mut adaptive = Memory::new(Adaptive::new(64), 2000, seen);
            let found = adaptive.run(pages()).counts();
            assert_eq!(found, alone("linux", seen).run(pages()).counts());
            assert_eq!(adaptive.wasted, 0);
        }
    }
}

#[test]
fn a_scan_that_nothing_is_heard_of_goes_on_because_of_where_it_faults() {
    for seen in [Seen::Sample, Seen::Nothing] {
        let mut adaptive = Memory::new(Adaptive::new(64), 2000, seen);
        let found = adaptive.run(0..300_000).counts();
        assert_eq!(found, alone("linux", seen).run(0..300_000).counts());
    }
}

#[test]
fn strides_are_followed_by_the_trend() {
    for seen in [Seen::All, Seen::Sample, Seen::Nothing] {
        let mut adaptive = Memory::new(Adaptive::new(64), 2000, seen);
        let found = adaptive.run(strided(0)).counts();
        let leap = alone("leap", seen).run(strided(0)).counts();
        assert_eq!((found, leap), ((39, 1400), (32, 1407)));
    }
}

#[test]
fn accesses_by_chance_come_to_fetch_hardly_anything() {
    let mut adaptive = adaptive();
    adaptive.run(noise(0, 1, 20_000));
    assert_eq!((adaptive.demand, adaptive.fetched, adaptive.wasted), (17_631, 164, 140));
    adaptive.counts();
    adaptive.run(noise(0, 2, 20_000));
    assert_eq!(adaptive.counts(), (17_510, 0));
}

#[test]
fn each_phase_finds_its_prefetcher_again() {
    let mut adaptive = adaptive();
    let mut phases = Vec::new();
    for _ in 0..2 {
        phases.push(adaptive.run(scan(0)).counts());
        phases.push(adaptive.run(noise(0, 3, 10_000)).counts());
        phases.push(adaptive.run(strided(0)).counts());
        phases.push(adaptive.run(noise(0, 4, 10_000)).counts());
    }
    // The numbers by chance are the same as before, but for the first, from the second time on.
    let once = [(2, 10_108), (8761, 664), (49, 1281), (8687, 256)];
    let again = [(24, 10_069), (6430, 4095), (49, 1282), (4586, 6765)];
    assert_eq!(phases, [once, again].concat());
}

#[test]
fn parts_of_memory_are_told_apart() {
    let mut adaptive = adaptive();
    for (page, chance) in scan(0).zip(noise(100 * PART, 5, 10_000)) {
        adaptive.run([page, chance]);
    }
    let of_scan = alone("linux", Seen::All).run(scan(0)).counts();
    let (demand, fetched) = adaptive.counts();
    assert_eq!((demand, fetched, adaptive.wasted, of_scan), (9437, 10_157, 46, (2, 10_108)));
}

#[test]
fn what_the_trend_finds_in_one_part_is_known_in_the_next() {
    let pages = || (0..8 * PART).step_by(64);
    let mut adaptive = adaptive();
    let found = adaptive.run(pages()).counts();
    assert_eq!((found, alone("leap", Seen::All).run(pages()).counts()), ((49, 2040), (42, 2047)));
}

/// A list of the pages of a part in an order by chance, whose next eight are found by who follows pointers.
struct List {
    order: Vec<u64>,
    memory: Memory<Adaptive>,
    /// How often pointers were on, foreseen, and not looked for.
    asked: [u64; 3],
}

impl List {
    fn new() -> Self {
        let mut order: Vec<_> = (0..PART).collect();
        for (at, chance) in noise(0, 6, PART as usize).enumerate() {
            order.swap(at, chance as usize);
        }
        Self { order, memory: adaptive(), asked: [0; 3] }
    }

    /// Visits pages of the list; each page that faults has pointers to those that come `ahead` of it.
    fn walk(&mut self, places: std::ops::Range<usize>, ahead: std::ops::Range<usize>) -> &mut Self {
        for at in places {
            let (page, before) = (self.order[at], self.memory.demand + self.memory.used);
            self.memory.access(page);
            if self.memory.demand + self.memory.used == before {
                continue;
            }
            let following = self.memory.prefetcher.pointers(PageId(page));
            self.asked[2 - following as usize] += 1;
            for ahead in ahead.clone() {
                let target = PageId(self.order[(at + ahead) % self.order.len()]);
                let is_far = !self.memory.unused.contains_key(&target);
                if is_far && following != Following::Off {
                    let sent = following == Following::On;
                    self.memory.prefetcher.foreseen_by_pointer(target, sent);
                    if sent {
                        self.memory.fetch(target, true);
                    }
                }
            }
        }
        self
    }

    fn counts(&mut self) -> ((u64, u64), [u64; 3]) {
        (self.memory.counts(), std::mem::take(&mut self.asked))
    }
}

#[test]
fn a_list_is_left_to_who_follows_pointers() {
    let mut list = List::new();
    assert_eq!(list.walk(0..8000, 1..9).counts(), ((1, 8302), [8000, 0, 0]));
    // Some pages of the list are neighbours by chance.
    assert_eq!(list.memory.wasted, 295);
}

#[test]
fn pointers_that_lead_astray_are_not_followed_until_they_are_right_again() {
    let mut list = List::new();
    assert_eq!(list.walk(0..6000, 5000..5004).counts(), ((5950, 410), [62, 1601, 4337]));
    assert_eq!(list.walk(6000..8000, 1..9).counts(), ((155, 1853), [1846, 11, 143]));
}

#[test]
fn where_there_are_no_pointers_they_are_looked_for_now_and_then() {
    let mut list = List::new();
    assert_eq!(list.walk(0..9000, 0..0).counts(), ((8950, 345), [2047, 0, 6953]));
}

/// To look for pointers takes time at each fault: a useful one now and then is not worth it, and one in eight is.
#[test]
fn where_few_pointers_are_of_use_they_are_looked_for_now_and_then() {
    for (every, rarely_looked) in [(100, true), (8, false)] {
        let (mut adaptive, mut plan) = (Adaptive::new(64), PrefetchPlan::new());
        let mut looked = 0;
        for (at, page) in noise(0, 9, 10_000).map(PageId).enumerate() {
            let is_led = at % every == 0;
            if is_led {
                adaptive.foreseen_by_pointer(page, true);
            }
            let kind = if is_led { FaultKind::Late } else { FaultKind::Demand };
            plan.clear();
            adaptive.fault(page, kind, &mut plan);
            looked += u32::from(at >= 5000 && adaptive.pointers(page) != Following::Off);
        }
        assert_eq!(looked < 1000, rarely_looked, "{looked} of 5,000");
    }
}

#[test]
fn no_pointers_are_looked_for_if_nothing_is_to_be_fetched() {
    let nothing = Adaptive::new(0);
    assert_eq!(nothing.pointers(PageId(7)), Following::Off);
    let names = prefetch::NAMES.iter().filter(|(name, _)| *name != "adaptive");
    for (name, _) in names {
        let other = prefetch::by_name(name, 8).expect("a listed prefetcher");
        assert_eq!(other.pointers(PageId(7)), Following::Off, "{name}");
    }
}

/// Pages of a list that are used because of pointers are no stream, and do not interrupt one.
#[test]
fn pages_that_pointers_bring_disturb_neither_a_stream_nor_a_stride() {
    for (with, name, expected) in [(true, "linux", (2, 46, 2)), (false, "leap", (41, 6, 32))] {
        let pages = |from| -> Vec<u64> {
            if with { scan(from).collect() } else { strided(from).collect() }
        };
        let mut adaptive = adaptive();
        let mut list = noise(50 * PART, 8, 100_000);
        for page in pages(0) {
            // Where the list goes is known before the program goes there.
            let node = PageId(list.next().expect("more than are used"));
            if !adaptive.unused.contains_key(&node) {
                adaptive.prefetcher.foreseen_by_pointer(node, true);
                adaptive.fetch(node, true);
            }
            adaptive.run([page, node.0]);
        }
        let interrupted = alone(name, Seen::All).run(pages(0)).counts();
        assert_eq!((adaptive.demand, adaptive.wasted, interrupted.0), expected, "{name}");
    }
}

#[test]
fn only_far_pages_are_counted() {
    let mut prefetcher = Adaptive::new(64);
    let asked = Cell::new(0);
    let mut plan = PrefetchPlan::new();
    for page in 0..2 {
        let is_far = |_| {
            asked.set(asked.get() + 1);
            false
        };
        prefetcher.fault_seeing(PageId(page), FaultKind::Demand, &is_far, &mut plan);
    }
    // They are planned as without this, since they may leave meanwhile.
    assert_eq!(plan.runs().collect::<Vec<_>>(), [PageRange::new(PageId(2), 4)]);
    assert_eq!(asked.get(), 4);
}

fn likely_page() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, 16_300..16_500_u64, u64::MAX - 40..=u64::MAX, any::<u64>()]
}

proptest! {
    #[test]
    fn plans_are_bounded_and_the_same_for_the_same_faults(
        calls in prop::collection::vec((likely_page(), 0..7_u8, 1..40_u64, 1..9_u64), 0..80),
        max in 0..80_u32,
        far in 1..5_u64,
    ) {
        let mut twins = [Adaptive::new(max), Adaptive::new(max)];
        let is_far = |page: PageId| !page.0.is_multiple_of(far + 1);
        for (start, call, length, stride) in calls {
            for at in 0..length {
                let page = PageId(start.wrapping_add(at * stride));
                let kind = match call {
                    0 | 1 => FaultKind::Demand,
                    2 => FaultKind::Late,
                    3 => FaultKind::Used,
                    4 => {
                        twins.iter_mut().for_each(|twin| twin.unused(page));
                        continue;
                    }
                    _ => {
                        twins.iter_mut().for_each(|twin| twin.foreseen_by_pointer(page, call == 5));
                        continue;
                    }
                };
                let plans = twins.each_mut().map(|twin| {
                    let mut plan = PrefetchPlan::new();
                    twin.fault_seeing(page, kind, &is_far, &mut plan);
                    plan.runs().collect::<Vec<_>>()
                });
                prop_assert_eq!(&plans[0], &plans[1]);
                prop_assert_eq!(twins[0].pointers(page), twins[1].pointers(page));
                let total: u64 = plans[0].iter().map(|run| run.count).sum();
                prop_assert!(total <= u64::from(max), "{plans:?}");
                let mut seen = HashSet::new();
                for run in &plans[0] {
                    prop_assert!(run.first.0.checked_add(run.count).is_some(), "{run:?}");
                    prop_assert!(run.pages().all(|next| next != page && seen.insert(next)));
                }
            }
        }
    }
}
