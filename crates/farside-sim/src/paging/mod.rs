//! Demand paging as the pager of `farside run` does it, without prefetching.
//!
//! [`Simulation`](crate::simulation::Simulation) evicts one page when one has to come, and its
//! policy sees every access. The pager evicts in batches, sees accesses only to pages it has
//! unmapped to watch them, brings neighbours back with a watched page that is used, and populates
//! untouched neighbours at a first touch. This is the same with the numbers of
//! [`farside_policy::batches`], which the pager uses too. For a policy that decides by a sample of the pages these are
//! tracked from the first eviction on, as by `--track pressure`, with as many pages as a run begins with.

mod region;
mod tracking;

pub use region::FarMappings;
use tracking::Tracking;

use farside_policy::batches::{self, BATCH, RESCUED_BESIDE, WATCHED_RUN};
use farside_policy::forecast::UseForecast;
use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::{Access, PAGE_SIZE, PageId, PageRange};
use rustc_hash::FxHashMap;

use crate::page_map::{NONE, PageMap};
use crate::simulation::{Costs, Outcome};

/// Marks a resident page that is unmapped until its next use.
const WATCHED: u32 = 1 << 31;

/// Marks a resident page that was never used: it is zero.
const EMPTY: u32 = 1 << 30;

/// What is left for slots; the three highest are states.
const SLOT: u32 = EMPTY - 1;

const UNTOUCHED: u32 = NONE;
const FAR: u32 = NONE - 1;
const ZERO: u32 = NONE - 2;

/// What was counted, besides what every simulation counts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Far pages that were fetched: the counter `demand_faults`.
    pub demand: u64,
    /// The counter `first_touch_faults`.
    pub first_touch: u64,
    /// Pages populated without a fault of their own: the counter `populated_pages`.
    pub populated: u64,
    /// Watched pages that were used: the counter `soft_faults`.
    pub soft: u64,
    /// Watched pages that left without having been used.
    pub unused: u64,
    /// The counter `evicted_pages`.
    pub evicted: u64,
}

/// A program's pages under a policy of the pager.
///
/// A page has content from its first use on: pages of which a program has only read zeros are taken
/// for others. Frames are free as soon as their pages are evicted.
pub struct Paging<'a, P> {
    policy: P,
    limit: u64,
    costs: Costs,
    /// Pages that the program holds: those that have any value.
    held: &'a PageMap,
    pages: PageMap,
    used: u64,
    uses: UseForecast,
    /// Of watched pages, by page number, where their frames lie.
    positions: FxHashMap<u64, u32>,
    next_position: u32,
    watch: Vec<(PageId, Slot)>,
    tracking: Option<Tracking>,
    faults: Faults,
    accesses: u64,
    now_ns: f64,
}

impl<'a, P: ReplacementPolicy> Paging<'a, P> {
    /// A memory of `pages` pages, at least one, for a program that holds the pages that have a
    /// value in `held`. What it does not hold is not populated.
    pub fn new(mut policy: P, pages: usize, costs: Costs, held: &'a PageMap) -> Self {
        let pages = pages.max(1);
        policy.set_capacity(pages);
        let tracking = Tracking::of(&mut policy);
        Self {
            policy,
            limit: pages as u64,
            costs,
            held,
            pages: PageMap::new(),
            used: 0,
            uses: UseForecast::default(),
            positions: FxHashMap::default(),
            next_position: 0,
            watch: Vec::new(),
            tracking,
            faults: Faults::default(),
            accesses: 0,
            now_ns: 0.0,
        }
    }

    /// What was counted up to now.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// The same as other simulations count it. First touches are faults, and not pages.
    pub fn outcome(&self) -> Outcome {
        let Faults { demand, first_touch, .. } = self.faults;
        let waits = self.costs.fault_ns * (demand + self.faults.soft) as f64
            + self.fetch_ns() * demand as f64
            + self.costs.first_touch_ns * first_touch as f64;
        Outcome {
            accesses: self.accesses,
            misses: demand + first_touch,
            first_touches: first_touch,
            fetched_bytes: demand * PAGE_SIZE as u64,
            projected_time_ns: (self.now_ns + waits).round() as u64,
            waited_ns: waits.round() as u64,
            ..Outcome::default()
        }
    }

    fn fetch_ns(&self) -> f64 {
        self.costs.latency_ns + self.costs.byte_ns * PAGE_SIZE as f64
    }

    /// The program makes an access.
    #[inline]
    pub fn access(&mut self, access: Access) {
        self.accesses += 1;
        self.now_ns += self.costs.access_ns * f64::from(access.weight);
        match self.pages.get(access.page) {
            UNTOUCHED => self.first_touch(access.page),
            ZERO => self.touch_zero(access.page),
            FAR => self.demand(access.page),
            // Nobody sees uses of mapped pages.
            state if state & (WATCHED | EMPTY) == 0 => {}
            state => self.use_marked(access.page, state),
        }
    }

    /// The program has a mapping of its own there from now on.
    pub fn appear(&mut self, range: PageRange) {
        self.policy.begin_region(range);
    }

    /// The program gives pages back: they are as if never touched.
    pub fn release(&mut self, range: PageRange) {
        let pages: Vec<_> = self.pages.pages_near(range).collect();
        for page in pages.into_iter().filter(|page| range.contains(*page)) {
            self.release_page(page);
        }
        self.policy.end_region(range);
    }

    fn release_page(&mut self, page: PageId) {
        let state = self.pages.get(page);
        if state == UNTOUCHED {
            return;
        }
        *self.pages.entry(page) = UNTOUCHED;
        self.track_forgotten(page);
        if state < ZERO {
            self.positions.remove(&page.0);
            self.policy.remove(Slot(state & SLOT));
            self.used -= 1;
        }
    }

    fn use_marked(&mut self, page: PageId, state: u32) {
        if state & WATCHED != 0 {
            self.rescue(page);
        }
        *self.pages.entry(page) &= !EMPTY;
    }

    /// A watched page is used: it is mapped again, with those around it that were unmapped with it.
    fn rescue(&mut self, page: PageId) {
        self.track(page, false);
        self.faults.soft += 1;
        self.uses.used();
        let Some(position) = self.positions.get(&page.0).copied() else { return };
        let beside = |offset: i64| {
            let page = page.0.checked_add_signed(offset)?;
            if self.is_tracked(PageId(page)) {
                return None;
            }
            let position = position.checked_add_signed(offset as i32)?;
            (self.positions.get(&page) == Some(&position)).then_some(page)
        };
        let most = RESCUED_BESIDE as i64;
        let below = (1..=most).map_while(|i| beside(-i)).count() as u64;
        let above = (1..=most).map_while(beside).count() as u64;
        for page in page.0 - below..=page.0 + above {
            self.positions.remove(&page);
            let state = self.pages.entry(PageId(page));
            *state &= !WATCHED;
            self.policy.access(Slot(*state & SLOT));
        }
    }

    fn first_touch(&mut self, page: PageId) {
        self.track(page, true);
        self.faults.first_touch += 1;
        let (want, down) = self.run(page);
        let want = self.acquire(want);
        let at = |i: u64| PageId(if down { page.0 - i } else { page.0 + i });
        let more = (1..want).take_while(|i| self.pages.get(at(*i)) == UNTOUCHED).count() as u64;
        self.faults.populated += more;
        self.count_touched(1 + more);
        let first = at(if down { more } else { 0 });
        for next in first.0..=first.0 + more {
            let mark = if next == page.0 { 0 } else { EMPTY };
            self.arrive(PageId(next), Arrival::FirstTouch, mark);
        }
    }

    /// How many pages to populate with `page`, and whether downwards: as many as were touched just
    /// before it, or else behind it.
    fn run(&self, page: PageId) -> (u64, bool) {
        let touched =
            |page: Option<u64>| page.is_some_and(|page| self.pages.get(PageId(page)) != UNTOUCHED);
        let seen = 1..=BATCH as u64;
        let before = seen.clone().take_while(|i| touched(page.0.checked_sub(*i))).count() as u64;
        let behind = seen.take_while(|i| before == 0 && touched(page.0.checked_add(*i))).count();
        let (down, grown) = (behind > 0, before.max(behind as u64));
        let run = batches::populated(grown, self.used, self.limit);
        let held = |i: &u64| {
            let next = if down { page.0.checked_sub(*i) } else { page.0.checked_add(*i) };
            next.is_some_and(|next| self.held.get(PageId(next)) != NONE)
        };
        (1 + (1..run).take_while(held).count() as u64, down)
    }

    /// A page of which only the fact was kept that it is zero.
    fn touch_zero(&mut self, page: PageId) {
        self.track(page, false);
        self.faults.first_touch += 1;
        self.acquire(1);
        self.arrive(page, Arrival::FirstTouch, 0);
    }

    fn demand(&mut self, page: PageId) {
        self.track(page, false);
        self.faults.demand += 1;
        self.policy.expect(page);
        self.acquire(1);
        self.arrive(page, Arrival::Demand, 0);
    }

    fn arrive(&mut self, page: PageId, arrival: Arrival, mark: u32) {
        let slot = self.policy.insert(page, arrival).0;
        assert!(slot < SLOT - 2, "more resident pages than can be simulated");
        *self.pages.entry(page) = slot | mark;
        self.used += 1;
    }

    /// Makes room for `want` pages, or as many as there can be; returns how many.
    fn acquire(&mut self, want: u64) -> u64 {
        while self.used + want > self.limit {
            let short = self.used + want - self.limit;
            let victims = batches::victims(short, self.limit);
            let unused = self.faults.unused;
            let evicted = (0..victims).map_while(|_| self.evict()).count();
            if evicted == 0 {
                break;
            }
            self.watch(batches::watched(victims));
            (unused..self.faults.unused).for_each(|_| self.uses.unused());
        }
        want.min(self.limit - self.used)
    }

    fn evict(&mut self) -> Option<()> {
        let page = self.policy.victim()?;
        let state = self.pages.entry(page);
        if *state & WATCHED != 0 {
            self.positions.remove(&page.0);
            self.faults.unused += 1;
        }
        *state = if *state & EMPTY != 0 { ZERO } else { FAR };
        self.used -= 1;
        self.faults.evicted += 1;
        Some(())
    }

    /// Unmaps the pages whose next use the policy wants to see, run by run.
    fn watch(&mut self, most: usize) {
        self.policy.watch(most, &mut self.watch);
        let mut watch = std::mem::take(&mut self.watch);
        watch.sort_unstable_by_key(|(page, _)| page.0);
        for run in watch.chunk_by(|(a, _), (b, _)| b.0 == a.0 + 1) {
            for run in run.chunks(BATCH) {
                if run.len() < WATCHED_RUN && !self.uses.watch_next(self.fetch_ns() as u64) {
                    continue;
                }
                for (page, _) in run {
                    *self.pages.entry(*page) |= WATCHED;
                    self.positions.insert(page.0, self.next_position);
                    self.next_position = self.next_position.wrapping_add(1);
                }
            }
        }
        watch.clear();
        self.watch = watch;
    }
}
