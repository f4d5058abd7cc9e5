//! Region-specific replacement: its curves against exact stack distances, the policy against a
//! model made of vectors, and what it is for.

mod support;

use farside_policy::replacement::region::{
    Curves, Misses, Order, RegionMap, RegionOptions, RegionSpecific,
};
use farside_policy::replacement::{Arrival, Lru, Mru, ReplacementPolicy, Slot};
use farside_trace::{PageId, PageRange};
use proptest::prelude::*;
use proptest::sample::Index;
use support::naive::{self, Naive};
use support::{Traces, golden, golden_rows, misses};

const ORDERS: [Order; 2] = [Order::Lru, Order::Mru];

/// The stacks of one region, top first, with the misses at the three sizes.
#[derive(Clone, Debug)]
struct Stacks {
    size: usize,
    step: usize,
    stacks: [Vec<PageId>; 2],
    misses: [Misses; 2],
}

impl Stacks {
    fn new(step: usize) -> Self {
        Self { size: 0, step, stacks: Default::default(), misses: Default::default() }
    }

    fn cut(&mut self) {
        let most = self.size + self.step;
        self.stacks.iter_mut().for_each(|stack| stack.truncate(most));
    }

    fn access(&mut self, page: PageId) {
        for (index, stack) in self.stacks.iter_mut().enumerate() {
            let place = stack.iter().position(|&other| other == page);
            let distance = place.map_or(usize::MAX, |place| place + 1);
            let misses = &mut self.misses[index];
            misses.less += u64::from(distance > self.size.saturating_sub(self.step));
            misses.present += u64::from(distance > self.size);
            misses.more += u64::from(distance > self.size + self.step);
            match (ORDERS[index], place) {
                (Order::Lru, Some(place)) => stack[..=place].rotate_right(1),
                (Order::Lru, None) => stack.insert(0, page),
                (Order::Mru, Some(place)) => stack.swap(0, place),
                (Order::Mru, None) => {
                    stack.push(page);
                    let last = stack.len() - 1;
                    stack.swap(0, last);
                }
            }
        }
        self.cut();
    }

    fn holds(&self, page: PageId) -> bool {
        self.stacks.iter().any(|stack| stack.contains(&page))
    }
}

#[test]
fn curves_equal_the_misses_of_lru_and_mru_on_the_golden_traces() {
    let test = "curves_equal_the_misses_of_lru_and_mru_on_the_golden_traces";
    let Some(golden) = golden(test) else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in golden_rows(&golden, "lru").into_iter().filter(|row| row.pages <= 1000) {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let step = (row.pages / 4).max(1);
        let mut curves = Curves::new(step);
        curves.resize(3, row.pages);
        for page in trace {
            curves.access(3, Slot(page.0 as u32));
            while curves.next_gone().is_some() {}
        }
        for order in ORDERS {
            let at = |pages| match (order, pages) {
                (_, 0) => trace.len(),
                (Order::Lru, _) => misses(Lru::new(), pages, trace),
                (Order::Mru, _) => misses(Mru::new(), pages, trace),
            };
            let [less, present, more] =
                [row.pages - step, row.pages, row.pages + step].map(|pages| at(pages) as u64);
            let expected = Misses { less, present, more };
            assert_eq!(curves.misses(3, order), expected, "{} {}", row.trace, row.pages);
        }
        checked += 1;
    }
    assert!(checked > 30);
}

#[derive(Clone, Debug)]
enum Op {
    Access(usize, u64),
    Remove(usize, Index),
    Resize(usize, usize),
    Step(usize),
    Restart(usize),
    Reset(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => (0..2_usize, 0..30_u64).prop_map(|(region, page)| Op::Access(region, page)),
        2 => (0..2_usize, any::<Index>()).prop_map(|(region, index)| Op::Remove(region, index)),
        2 => (0..2_usize, 0..20_usize).prop_map(|(region, pages)| Op::Resize(region, pages)),
        1 => (1..6_usize).prop_map(Op::Step),
        1 => (0..2_usize).prop_map(Op::Restart),
        1 => (0..2_usize).prop_map(Op::Reset),
    ]
}

proptest! {
    #[test]
    fn curves_equal_the_stacks_while_sizes_change(ops in prop::collection::vec(op(), 0..200)) {
        let mut curves = Curves::new(2);
        let mut model = [Stacks::new(2), Stacks::new(2)];
        let page_at = |slot: Slot| PageId(u64::from(slot.0));
        let mut known = std::collections::HashSet::new();
        for op in ops {
            match op {
                Op::Access(region, page) => {
                    // Each region has pages of its own.
                    let page = PageId(2 * page + region as u64);
                    model[region].access(page);
                    curves.access(region, Slot(page.0 as u32));
                    known.insert(page);
                }
                Op::Remove(region, index) => {
                    let held: Vec<_> = model[region].stacks.concat();
                    if !held.is_empty() {
                        let page = *index.get(&held);
                        model[region].stacks.iter_mut().for_each(|s| s.retain(|p| *p != page));
                        curves.remove(region, Slot(page.0 as u32));
                        known.remove(&page);
                    }
                }
                Op::Resize(region, pages) => {
                    model[region].size = pages;
                    model[region].cut();
                    curves.resize(region, pages);
                }
                Op::Step(step) => {
                    for stacks in &mut model {
                        stacks.step = step;
                        stacks.cut();
                    }
                    curves.set_step(step);
                }
                Op::Restart(region) => {
                    model[region].stacks[1] = model[region].stacks[0].clone();
                    curves.restart_mru(region);
                }
                Op::Reset(region) => {
                    model[region].misses = Default::default();
                    curves.reset(region);
                }
            }
            while let Some(slot) = curves.next_gone() {
                prop_assert!(known.remove(&page_at(slot)), "{:?} went twice", slot);
            }
            for (region, stacks) in model.iter().enumerate() {
                for (index, order) in ORDERS.into_iter().enumerate() {
                    prop_assert_eq!(curves.misses(region, order), stacks.misses[index]);
                }
            }
            for page in (0..60).map(PageId) {
                let held = model[(page.0 % 2) as usize].holds(page);
                prop_assert_eq!(curves.holds(Slot(page.0 as u32)), held, "{:?}", page);
                prop_assert_eq!(known.contains(&page), held, "{:?}", page);
            }
        }
    }
}

struct ModelRegion {
    order: Order,
    better: u32,
    age: u32,
    /// Misses of both orders at the three sizes over the latest epochs.
    history: [[f64; 3]; 2],
    stacks: Stacks,
    /// Oldest use first.
    resident: Vec<PageId>,
}

/// The policy by its description, for a given number of regions.
struct Model<F> {
    capacity: usize,
    options: RegionOptions,
    region_of: F,
    regions: Vec<ModelRegion>,
    references: usize,
}

impl<F: Fn(PageId) -> usize> Model<F> {
    fn new(capacity: usize, options: RegionOptions, count: usize, region_of: F) -> Self {
        let step = (capacity / options.steps).max(1);
        let region = || ModelRegion {
            order: Order::Lru,
            better: 0,
            age: 0,
            history: [[0.0; 3]; 2],
            stacks: Stacks::new(step),
            resident: Vec::new(),
        };
        let regions = (0..count).map(|_| region()).collect();
        Self { capacity, options, region_of, regions, references: 0 }
    }

    fn evict(&mut self, coming: usize) -> PageId {
        let excess = |r: &ModelRegion| r.resident.len() as i64 - r.stacks.size as i64;
        let own = !self.regions[coming].resident.is_empty() && excess(&self.regions[coming]) >= 0;
        let mut giving = coming;
        if !own {
            let mut most = i64::MIN;
            for (index, region) in self.regions.iter().enumerate() {
                if !region.resident.is_empty() && excess(region) > most {
                    (giving, most) = (index, excess(region));
                }
            }
        }
        let region = &mut self.regions[giving];
        match region.order {
            Order::Lru => region.resident.remove(0),
            Order::Mru => region.resident.pop().unwrap(),
        }
    }

    fn end_epoch(&mut self) {
        let options = self.options;
        for region in &mut self.regions {
            for (sums, misses) in region.history.iter_mut().zip(region.stacks.misses) {
                let misses = [misses.less, misses.present, misses.more];
                for (sum, misses) in sums.iter_mut().zip(misses) {
                    *sum = *sum * (1.0 - 1.0 / options.history) + misses as f64;
                }
            }
            let [lru, mru] = region.stacks.misses.map(|misses| misses.present as f64);
            let better = match region.order {
                Order::Lru => region.history[1][1] < region.history[0][1] * (1.0 - options.margin),
                Order::Mru => lru < mru * (1.0 - options.margin),
            };
            region.better = if better { region.better + 1 } else { 0 };
            region.age += 1;
            let mut restart = region.age >= options.restart && region.better == 0;
            if region.better == options.patience {
                region.order = if region.order == Order::Lru { Order::Mru } else { Order::Lru };
                region.better = 0;
                region.age = 0;
                restart = true;
            }
            if restart && region.order == Order::Lru {
                region.age = 0;
                region.stacks.stacks[1] = region.stacks.stacks[0].clone();
                region.history[1] = region.history[0];
            }
        }
        self.balance();
        self.regions.iter_mut().for_each(|region| region.stacks.misses = Default::default());
    }

    /// Misses over the latest epochs in the order in effect: a step less, present, a step more.
    fn curve(&self, region: usize) -> [f64; 3] {
        let region = &self.regions[region];
        region.history[usize::from(region.order == Order::Mru)]
    }

    fn gives(&self, region: usize) -> bool {
        let stacks = &self.regions[region].stacks;
        stacks.size > stacks.step
    }

    /// The next move between regions that are still open.
    fn next_move(&self, open: &[usize]) -> Option<(usize, usize)> {
        let benefit = |region: usize| self.curve(region)[1] - self.curve(region)[2];
        let penalty = |region: usize| self.curve(region)[0] - self.curve(region)[1];
        let misses = |region: usize| self.curve(region)[1];

        let to = first_with_most(open, benefit)?;
        let givers: Vec<_> = open.iter().copied().filter(|&r| r != to && self.gives(r)).collect();
        let from = first_with_most(&givers, |region| -penalty(region))?;
        if benefit(to) > penalty(from) * (1.0 + self.options.margin) + 1.0 {
            return Some((from, to));
        }
        let to = first_with_most(open, misses)?;
        let idle = |&region: &usize| region != to && self.gives(region) && penalty(region) < 1.0;
        let givers: Vec<_> = open.iter().copied().filter(idle).collect();
        let from = first_with_most(&givers, |region| -misses(region))?;
        (misses(to) > misses(from)).then_some((from, to))
    }

    fn balance(&mut self) {
        let mut open: Vec<usize> = (0..self.regions.len()).collect();
        while let Some((from, to)) = self.next_move(&open) {
            self.regions[from].stacks.size -= self.regions[from].stacks.step;
            self.regions[to].stacks.size += self.regions[to].stacks.step;
            for [less, present, more] in &mut self.regions[from].history {
                (*less, *present, *more) = (*less + (*less - *present), *less, *present);
            }
            for [less, present, more] in &mut self.regions[to].history {
                (*less, *present, *more) = (*present, *more, *more - (*present - *more) / 2.0);
            }
            self.regions[from].stacks.cut();
            self.regions[to].stacks.cut();
            open.retain(|region| *region != from && *region != to);
        }
    }
}

fn first_with_most(regions: &[usize], value: impl Fn(usize) -> f64) -> Option<usize> {
    let mut best: Option<usize> = None;
    for &region in regions {
        if best.is_none_or(|best| value(region) > value(best)) {
            best = Some(region);
        }
    }
    best
}

impl<F: Fn(PageId) -> usize> Naive for Model<F> {
    fn reference(&mut self, page: PageId) -> Option<Option<PageId>> {
        let coming = (self.region_of)(page);
        let place = self.regions[coming].resident.iter().position(|&other| other == page);
        let outcome = match place {
            Some(place) => {
                self.regions[coming].resident.remove(place);
                None
            }
            None => {
                let resident: usize = self.regions.iter().map(|r| r.resident.len()).sum();
                Some((resident == self.capacity).then(|| self.evict(coming)))
            }
        };
        let allotted: usize = self.regions.iter().map(|region| region.stacks.size).sum();
        let region = &mut self.regions[coming];
        region.resident.push(page);
        if allotted < self.capacity && region.resident.len() > region.stacks.size {
            region.stacks.size += 1;
        }
        region.stacks.access(page);
        self.references += 1;
        if self.references == (self.capacity * self.options.epoch).max(64) {
            self.references = 0;
            self.end_epoch();
        }
        outcome
    }
}

#[test]
fn one_region_equals_the_model_on_the_golden_traces() {
    let test = "one_region_equals_the_model_on_the_golden_traces";
    let options = RegionOptions::default();
    naive::compare(
        test,
        || RegionSpecific::with_options(RegionMap::by_gap(u64::MAX, 1), options),
        |capacity| Model::new(capacity, options, 1, |_| 0),
    );
}

/// The first 100 pages, the next 200, and all others.
fn three_regions() -> RegionMap {
    let ranges = [(PageRange::new(PageId(100), 200), 1), (PageRange::new(PageId(0), 100), 0)];
    RegionMap::given(&ranges).expect("ranges without overlap")
}

#[test]
fn three_regions_equal_the_model_on_the_golden_traces() {
    let test = "three_regions_equal_the_model_on_the_golden_traces";
    let unsteady = RegionOptions { steps: 8, patience: 1, restart: 3, ..RegionOptions::default() };
    for options in [RegionOptions::default(), unsteady] {
        let region_of = |page: PageId| usize::from(page.0 >= 100) + usize::from(page.0 >= 300);
        naive::compare(
            test,
            || RegionSpecific::with_options(three_regions(), options),
            |capacity| Model::new(capacity, options, 3, region_of),
        );
    }
}
/// Misses of the policy with one region.
fn alone(pages: usize, trace: &[PageId]) -> usize {
    misses(RegionSpecific::new(), pages, trace)
}

#[test]
fn a_single_region_does_no_worse_than_lru_on_the_golden_traces() {
    let test = "a_single_region_does_no_worse_than_lru_on_the_golden_traces";
    let Some(golden) = golden(test) else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in golden_rows(&golden, "lru") {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let found = alone(row.pages, trace);
        // FFT goes through phases that want different orders, and pays for each change.
        let noise = row.misses / if row.trace.contains("fft") { 2 } else { 200 };
        assert!(found <= row.misses + noise, "{} {}: {found}", row.trace, row.pages);
        checked += 1;
    }
    assert!(checked > 50);
}

#[test]
fn a_loop_is_found_to_want_mru() {
    let trace: Vec<_> = (0..100_000).map(|i| PageId(i % 1000)).collect();
    let (lru, mru) = (misses(Lru::new(), 700, &trace), misses(Mru::new(), 700, &trace));
    assert_eq!((lru, mru), (100_000, 1000 + 99 * 300));
    let found = alone(700, &trace);
    assert!(found < mru + 3000, "{found}");
}

#[test]
fn a_region_returns_to_lru_when_its_loop_ends() {
    let mut trace: Vec<_> = (0..50_000).map(|i| PageId(i % 1000)).collect();
    let looped = misses(Mru::new(), 700, &trace);
    // Ever new pages, each used a few times shortly after another.
    trace.extend((0..100_000).map(|i| PageId(2000 + i / 10 + i % 10)));
    let found = alone(700, &trace);
    assert!(found < looped + 3000 + 10_009 + 3000, "{found}");
}

/// A loop over 300 pages, 200 pages used at random, and 2000 pages that are used once in a while.
fn mixed() -> Vec<PageId> {
    let mut random = 1_u64;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    (0..100_000_u64)
        .flat_map(|i| [i % 300, 1_000_000 + next() % 200, 2_000_000 + next() % 2000])
        .map(PageId)
        .collect()
}

#[test]
fn memory_goes_where_it_helps() {
    let trace = mixed();
    let count = |mut policy: Box<dyn ReplacementPolicy>| {
        policy.set_capacity(450);
        let mut slots = std::collections::HashMap::new();
        let mut count = 0;
        for &page in &trace {
            match slots.get(&page) {
                Some(&slot) => policy.access(slot),
                None => {
                    count += 1;
                    policy.expect(page);
                    if slots.len() == 450 {
                        slots.remove(&policy.victim().unwrap());
                    }
                    slots.insert(page, policy.insert(page, Arrival::Demand));
                }
            }
        }
        count
    };
    let lru = count(Box::new(Lru::new()));
    let region = count(Box::new(RegionSpecific::new()));
    // At best 200 and 250 pages for the first two, and nearly all misses in the third.
    let ideal = 100_000 * 50 / 300 + 100_000;
    assert!(lru > 230_000, "{lru}");
    assert!(region < ideal + ideal / 10, "{region}, at best {ideal}");
}

#[test]
fn orders_and_sizes_can_be_told() {
    let mut policy = RegionSpecific::new();
    policy.set_capacity(700);
    let mut slots = std::collections::HashMap::new();
    for page in (0..50_000).map(|i| PageId(i % 1000)) {
        match slots.get(&page) {
            Some(&slot) => policy.access(slot),
            None => {
                policy.expect(page);
                if slots.len() == 700 {
                    slots.remove(&policy.victim().unwrap());
                }
                slots.insert(page, policy.insert(page, Arrival::Demand));
            }
        }
    }
    assert_eq!(policy.regions().collect::<Vec<_>>(), [(Order::Mru, 700)]);
    policy.expect(PageId(1 << 40));
    let regions: Vec<_> = policy.regions().map(|(_, pages)| pages).collect();
    assert_eq!(regions, [700 - 21, 21], "a new region gets a step of the largest");
    policy.set_capacity(100);
    assert_eq!(policy.regions().map(|(_, pages)| pages).sum::<usize>(), 100);
}

#[test]
fn a_prefetched_page_is_not_the_next_to_leave() {
    let mut policy = RegionSpecific::new();
    policy.set_capacity(100);
    let mut paging = support::Paging::new(policy, 100);
    for page in (0..20_000).map(|i| PageId(i % 200)) {
        paging.reference(page);
    }
    let mut policy = paging.into_policy();
    assert_eq!(policy.regions().next(), Some((Order::Mru, 100)));
    policy.victim();
    policy.insert(PageId(1000), Arrival::Prefetch);
    assert_ne!(policy.victim(), Some(PageId(1000)));
}

#[test]
fn hot_pages_stay_where_mru_would_give_them_up() {
    let (capacity, hot) = (100, 10);
    let looped = |hot| {
        let options = RegionOptions { hot, ..RegionOptions::default() };
        let mut policy = RegionSpecific::with_options(RegionMap::by_gap(u64::MAX, 1), options);
        policy.set_capacity(capacity);
        let mut paging = support::Paging::new(policy, capacity);
        for page in (0..20_000).map(|i| PageId(i % 200)) {
            paging.reference(page);
        }
        let mut policy = paging.into_policy();
        assert_eq!(policy.regions().next(), Some((Order::Mru, capacity)));
        policy.victim();
        for page in (1000..).map(PageId).take(hot.max(1)) {
            policy.expect(page);
            policy.insert(page, Arrival::Demand);
            policy.victim();
        }
        policy
    };
    let mut mru = looped(0);
    assert!(mru.victim().is_some_and(|page| page.0 < 1000), "1000 left at once");
    let mut policy = looped(hot);
    let gone: Vec<_> = std::iter::from_fn(|| policy.victim()).collect();
    let kept = capacity - 1;
    assert_eq!(gone.len(), kept, "all can leave");
    // The hot ones leave last, the one not used for longest first.
    let last: Vec<_> = (1000..1010).map(PageId).collect();
    assert_eq!(gone[kept - hot..], last);
}

#[test]
fn hot_pages_are_at_most_half_the_capacity() {
    let options = RegionOptions { hot: usize::MAX, ..RegionOptions::default() };
    let mut policy = RegionSpecific::with_options(RegionMap::by_gap(u64::MAX, 1), options);
    policy.set_capacity(10);
    let slots: Vec<_> = (0..10).map(|page| policy.insert(PageId(page), Arrival::Demand)).collect();
    policy.access(slots[0]);
    policy.remove(slots[9]);
    let gone: Vec<_> = std::iter::from_fn(|| policy.victim()).collect();
    assert_eq!(gone, [1, 2, 3, 4, 5, 6, 7, 8, 0].map(PageId));
}
