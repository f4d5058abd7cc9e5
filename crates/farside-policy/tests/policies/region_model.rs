//! Region-specific replacement against a model made of vectors.

use crate::support::naive::{self, Naive};
use crate::support::region_stacks::Stacks;
use farside_policy::replacement::region::{Order, RegionMap, RegionOptions, RegionSpecific};
use farside_trace::{PageId, PageRange};

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
