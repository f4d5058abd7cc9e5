//! A program's accesses on far memory: what is fetched and written back, and how long it would take.
//!
//! The rules are the pager's: a page that was never touched is filled with zeros; a page that left has to
//! be fetched; pages that a prefetcher foresees are sent for behind the demanded one and take room at
//! once; the program waits for demanded pages only.

mod costs;
mod flights;
mod residence;

pub use costs::Costs;

use farside_policy::prefetch::{FaultKind, PrefetchPlan, Prefetcher};
use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::{Access, PageId, PageRange};

use flights::Flights;
use residence::{Residence, State};

/// Bytes in a page.
const PAGE: u64 = farside_trace::PAGE_SIZE as u64;

/// Most pages that a policy may begin to watch after an arrival.
const WATCH_BATCH: usize = 32;

/// Accesses of which the same is asked for ahead at once.
const AHEAD: usize = 8;

/// By how many times as many accesses what they come to is asked for ahead.
const STEPS: usize = 3;

/// What was counted in a simulation.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Accesses, by records of the trace.
    pub accesses: u64,
    /// Accesses that found their page neither resident nor on its way, first touches included.
    pub misses: u64,
    /// First touches among the misses.
    pub first_touches: u64,
    /// Pages sent for by the prefetcher.
    pub prefetched: u64,
    /// Prefetched pages that were resident at their first use.
    pub prefetch_used: u64,
    /// Accesses that had to wait for a page that was on its way.
    pub prefetch_late: u64,
    /// Prefetched pages that left without having been used.
    pub prefetch_unused: u64,
    /// Bytes read from the far store.
    pub fetched_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
    /// Run time by the timed model, in nanoseconds.
    pub projected_time_ns: u64,
    /// Time for which the program waited in it.
    pub waited_ns: u64,
}

impl Outcome {
    /// Misses that fetched a page: the pager's demand faults.
    pub fn demand_faults(&self) -> u64 {
        self.misses - self.first_touches
    }

    /// Share of the uses of far pages that the prefetcher foresaw in time.
    pub fn coverage(&self) -> f64 {
        let uses = self.prefetch_used + self.prefetch_late + self.demand_faults();
        ratio(self.prefetch_used, uses)
    }

    /// Share of the prefetched pages that were used.
    pub fn accuracy(&self) -> f64 {
        ratio(self.prefetch_used + self.prefetch_late, self.prefetched)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How much memory, and how prefetches are bounded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Pages that may be resident or on their way at once.
    pub pages: usize,
    /// Most pages that one fault fetches besides its own.
    pub most_foreseen: usize,
    /// Most prefetched pages that are not used yet (PATH section 6.3 allows a tenth of the memory).
    pub most_unused: usize,
}

impl Memory {
    /// A memory of `pages` pages, at least one, with the pager's bounds.
    pub fn new(pages: usize) -> Self {
        let pages = pages.max(1);
        Self { pages, most_foreseen: pages / 4, most_unused: pages }
    }
}

/// A memory under a replacement policy and a prefetcher, and the clock of the program on it.
pub struct Simulation<P, F> {
    policy: P,
    prefetcher: F,
    /// Whether nothing hides accesses from the prefetcher.
    all_known: bool,
    memory: Memory,
    costs: Costs,
    residence: Residence,
    flights: Flights,
    /// Pages resident or on their way.
    used: usize,
    /// Prefetched pages that are not used yet.
    unused: usize,
    now_ns: f64,
    outcome: Outcome,
    plan: PrefetchPlan,
    watched: Vec<(PageId, Slot)>,
}

impl<P: ReplacementPolicy, F: Prefetcher> Simulation<P, F> {
    /// An empty memory.
    pub fn new(mut policy: P, prefetcher: F, memory: Memory, costs: Costs) -> Self {
        policy.rely_on_hints();
        policy.set_capacity(memory.pages);
        let most_unused = prefetcher.most_unused(memory.pages as u64);
        let most_unused = usize::try_from(most_unused).unwrap_or(usize::MAX);
        let memory = Memory { most_unused: memory.most_unused.min(most_unused), ..memory };
        Self {
            policy,
            all_known: prefetcher.knows_all_accesses(),
            prefetcher,
            memory,
            costs,
            residence: Residence::new(),
            flights: Flights::new(costs),
            used: 0,
            unused: 0,
            now_ns: 0.0,
            outcome: Outcome::default(),
            plan: PrefetchPlan::new(),
            watched: Vec::new(),
        }
    }

    /// What was counted up to now.
    pub fn outcome(&self) -> Outcome {
        Outcome { projected_time_ns: self.now_ns.round() as u64, ..self.outcome }
    }

    /// The program makes accesses, which the policy sees.
    ///
    /// What later ones come to is asked for ahead of them, step by step: a processor brings many places in
    /// memory near while it goes on with other accesses.
    pub fn accesses(&mut self, accesses: &[Access]) {
        let group = |number: usize| {
            let first = number.saturating_mul(AHEAD).min(accesses.len());
            &accesses[first..(first + AHEAD).min(accesses.len())]
        };
        let earlier = |number: usize, steps| number.checked_sub(steps).map_or(&[][..], group);
        let mut slots = [None; AHEAD];
        for number in 0..accesses.len().div_ceil(AHEAD) + STEPS {
            slots.iter().flatten().for_each(|slot| self.policy.glance_beside(*slot));
            for (slot, access) in slots.iter_mut().zip(earlier(number, 1)) {
                *slot = self.residence.slot(access.page);
                slot.iter().for_each(|slot| self.policy.glance(*slot));
            }
            group(number).iter().for_each(|access| self.residence.glance(access.page));
            for access in earlier(number, STEPS) {
                self.step(*access, true);
            }
        }
    }

    /// The program makes an access, which the policy sees.
    #[inline]
    pub fn access(&mut self, access: Access) {
        self.step(access, true);
    }

    /// The program makes an access that hardware hides from the policy and from a prefetcher that does not
    /// know it anyway, unless its page is missing.
    #[inline]
    pub fn access_unseen(&mut self, access: Access) {
        self.step(access, false);
    }

    #[inline]
    fn step(&mut self, access: Access, seen: bool) {
        self.outcome.accesses += 1;
        self.now_ns += self.costs.access_ns * f64::from(access.weight);
        if self.flights.landed_by(self.now_ns) {
            self.land_until(self.now_ns);
        }
        match self.residence.state(access.page) {
            State::Resident { slot, unused } => {
                if seen {
                    self.policy.access(slot);
                }
                // The first use of a prefetched page is told as a fault.
                if unused {
                    self.use_prefetched(access);
                } else if seen || self.all_known {
                    self.prefetcher.access(access.page);
                }
            }
            State::Untouched => self.first_touch(access.page),
            State::Far { was } => self.demand(access.page, was),
            State::Flying => self.wait_late(access.page),
        }
        if access.write {
            self.residence.set_dirty(access.page);
        }
    }

    fn use_prefetched(&mut self, access: Access) {
        self.outcome.prefetch_used += 1;
        self.unused -= 1;
        self.residence.set_used(access.page);
        // What comes now may push it out again.
        if access.write {
            self.residence.set_dirty(access.page);
        }
        self.foresee(access.page, FaultKind::Used);
    }

    fn first_touch(&mut self, page: PageId) {
        self.outcome.misses += 1;
        self.outcome.first_touches += 1;
        self.wait(self.costs.first_touch_ns);
        self.policy.expect(page);
        self.make_room(1);
        self.arrive(page, Arrival::FirstTouch);
        self.residence.set_dirty(page);
    }

    /// The program waits for a page that nobody has sent for.
    fn demand(&mut self, page: PageId, was: Slot) {
        self.outcome.misses += 1;
        self.wait(self.costs.fault_ns);
        self.policy.hint(page, was);
        self.policy.expect(page);
        self.make_room(1);
        self.outcome.fetched_bytes += PAGE;
        let arrival = self.flights.send(self.now_ns, 1);
        // It is on its way while the prefetcher thinks, and must not be sent for again.
        self.residence.set_flying(page);
        self.used += 1;
        self.foresee(page, FaultKind::Demand);
        self.wait_until(arrival);
        self.used -= 1;
        self.policy.hint(page, was);
        self.arrive(page, Arrival::Demand);
    }

    /// The program waits for a page that is on its way.
    fn wait_late(&mut self, page: PageId) {
        self.outcome.prefetch_late += 1;
        self.wait(self.costs.fault_ns);
        self.foresee(page, FaultKind::Late);
        if let Some(arrival) = self.flights.arrival_of(page) {
            self.wait_until(arrival);
            self.land_until(self.now_ns);
        }
        if let State::Resident { slot, unused } = self.residence.state(page) {
            if unused {
                self.unused -= 1;
                self.residence.set_used(page);
            }
            self.policy.access(slot);
        }
    }

    /// Asks the prefetcher, and sends for what it foresees.
    fn foresee(&mut self, page: PageId, kind: FaultKind) {
        self.plan.clear();
        let residence = &self.residence;
        let is_far = |page| matches!(residence.state(page), State::Far { .. });
        self.prefetcher.fault_seeing(page, kind, &is_far, &mut self.plan);
        if self.plan.is_empty() {
            return;
        }
        let plan = std::mem::take(&mut self.plan);
        let mut left = self.memory.most_foreseen;
        for run in plan.runs() {
            if plan.touches_resident() {
                self.touch(run);
            }
            left = self.send_for(run, left);
        }
        self.plan = plan;
    }

    /// Tells the policy that the resident pages of `run` are about to be used (PATH section 4.3).
    fn touch(&mut self, run: PageRange) {
        for page in run.pages() {
            if let State::Resident { slot, .. } = self.residence.state(page) {
                self.policy.access(slot);
            }
        }
    }

    /// Sends for the far pages of `run`, at most `left`; returns how many more may be sent for.
    fn send_for(&mut self, run: PageRange, mut left: usize) -> usize {
        for page in run.pages() {
            if left == 0 || self.unused >= self.memory.most_unused {
                return 0;
            }
            let State::Far { was } = self.residence.state(page) else { continue };
            self.make_room(1);
            if self.used >= self.memory.pages {
                // All of it is on its way.
                return 0;
            }
            self.residence.set_flying(page);
            self.used += 1;
            self.unused += 1;
            self.outcome.prefetched += 1;
            self.outcome.fetched_bytes += PAGE;
            self.flights.send_page(self.now_ns, page, was);
            left -= 1;
        }
        left
    }

    /// Maps what has arrived by `now_ns`.
    fn land_until(&mut self, now_ns: f64) {
        while let Some((page, was)) = self.flights.pop_landed(now_ns) {
            self.used -= 1;
            self.policy.hint(page, was);
            self.arrive(page, Arrival::Prefetch);
            self.residence.set_unused(page);
        }
    }

    fn arrive(&mut self, page: PageId, arrival: Arrival) {
        let slot = self.policy.insert(page, arrival);
        self.residence.set_resident(page, slot);
        self.used += 1;
        self.policy.watch(WATCH_BATCH, &mut self.watched);
        self.watched.clear();
    }

    /// Evicts until `pages` more fit, or nothing is left to evict.
    fn make_room(&mut self, pages: usize) {
        while self.used + pages > self.memory.pages {
            let Some(page) = self.policy.victim() else { return };
            self.used -= 1;
            if let Some(next) = self.policy.likely_victim() {
                self.residence.glance(next);
            }
            let left = self.residence.evict(page);
            if left.dirty {
                self.outcome.written_bytes += PAGE;
            }
            if left.unused {
                self.unused -= 1;
                self.outcome.prefetch_unused += 1;
                self.prefetcher.unused(page);
            }
        }
    }

    fn wait(&mut self, ns: f64) {
        self.now_ns += ns;
        self.outcome.waited_ns += ns as u64;
    }

    fn wait_until(&mut self, arrival_ns: f64) {
        if arrival_ns > self.now_ns {
            self.outcome.waited_ns += (arrival_ns - self.now_ns) as u64;
            self.now_ns = arrival_ns;
        }
    }
}
