//! The pager's state: what all transitions share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use farside_far::{FarError, FarStore};
use farside_os::memory::{PAGE, physical_pages};
use farside_os::space::AddressSpace;
use farside_policy::batches::BATCH;
use farside_policy::forecast::{ChangeForecast, UseForecast, WriteForecast};
use farside_policy::prefetch::{Pointer, Prefetcher};
use farside_policy::replacement::{Arrival, Assigned, ReplacementPolicy};
use farside_trace::PageId;
use farside_wire::fault_log::Answer;

use crate::advice::Advice;
use crate::array_pages::ArrayPages;
use crate::counters::Counters;
use crate::evictor::Evictor;
use crate::fault_log::FaultLog;
use crate::flight::Flights;
use crate::frames::{Budget, FrameArea};
use crate::gate::Gate;
use crate::hint::HintWatch;
use crate::part::{KeptNames, Switch};
use crate::pointers::Pointers;
use crate::record::Recorder;
use crate::region::FreeRanges;
use crate::replay::{Aside, Replay};
use crate::settings::{LEAST_LIMIT, Limit};
use crate::table::PageTable;
use crate::tagged::TaggedWords;
use crate::track::Tracking;
use crate::word::{State, Word};

/// The parts a pager is made of.
pub struct Parts {
    /// Address of the far region.
    pub base: usize,
    /// Address of the frame area.
    pub area: usize,
    /// Positions in the frame area, a multiple of 64.
    pub area_positions: u32,
    /// Page table, whose size is the region's.
    pub table: PageTable,
    /// Replacement policy.
    pub policy: Box<dyn ReplacementPolicy>,
    /// Prefetcher.
    pub prefetcher: Box<dyn Prefetcher>,
    /// What follows pointers, if they are followed.
    pub pointers: Option<Pointer>,
    /// What the program says of pointers.
    pub tagged: Arc<TaggedWords>,
    /// The address space.
    pub space: Arc<dyn AddressSpace>,
    /// The far store.
    pub store: Box<dyn FarStore>,
    /// Where to count.
    pub counters: &'static Counters,
    /// Local limit.
    pub limit: Limit,
    /// Whether prefetched pages stay unmapped until touched.
    pub exact_prefetch_count: bool,
    /// Whether somebody calls [`Pager::evict_ahead`].
    pub evict_ahead: bool,
    /// Seed of the tags by which unchanged pages are recognised.
    pub tag_seed: u64,
    /// What records the program's accesses, if they are to be recorded.
    pub recorder: Option<Recorder>,
    /// Where faults are logged, if they are.
    pub fault_log: Option<FaultLog>,
    /// Where what comes of hints is counted, if it is.
    pub hint_watch: Option<HintWatch>,
    /// What has the program follow a tape, if there is one.
    pub replay: Option<Replay>,
    /// Where names of pages are kept for parts of the run that are recorded or follow tapes.
    pub names: Option<KeptNames>,
    /// What sees which pages are used, if that is to be seen.
    pub tracking: Option<Tracking>,
}

/// The far region and everything that decides about its pages.
///
/// The methods that move pages take a [`Worker`]: the scratch memory of the thread that calls them. Any
/// number of threads may call them at once.
pub struct Pager {
    pub(crate) base: usize,
    pub(crate) table: PageTable,
    pub(crate) ranges: Mutex<FreeRanges>,
    pub(crate) policy: Mutex<Assigned>,
    pub(crate) prefetcher: Mutex<Box<dyn Prefetcher>>,
    pub(crate) pointers: Pointers,
    pub(crate) array_pages: ArrayPages,
    pub(crate) tagged: Arc<TaggedWords>,
    pub(crate) budget: Budget,
    pub(crate) area: FrameArea,
    pub(crate) space: Arc<dyn AddressSpace>,
    pub(crate) store: Box<dyn FarStore>,
    pub(crate) counters: &'static Counters,
    pub(crate) gate: Gate,
    pub(crate) flights: Flights,
    pub(crate) advice: Advice,
    pub(crate) evictor: Evictor,
    pub(crate) writes: WriteForecast,
    /// The same for pages that come by themselves, and were only read the last times.
    pub(crate) writes_where_read: WriteForecast,
    pub(crate) changes: ChangeForecast,
    pub(crate) uses: UseForecast,
    pub(crate) protection: Mutex<()>,
    /// Held by the one thread that reclaims.
    pub(crate) reclaiming: Mutex<()>,
    pub(crate) exact_prefetch_count: bool,
    pub(crate) tag_seed: u64,
    /// Runs prefetched, for sampling.
    pub(crate) runs: AtomicU64,
    pub(crate) recorder: Switch<Recorder>,
    pub(crate) fault_log: Option<FaultLog>,
    pub(crate) hint_watch: Option<HintWatch>,
    pub(crate) replay: Switch<Replay>,
    pub(crate) aside: Aside,
    pub(crate) names: Option<KeptNames>,
    pub(crate) tracking: Option<Tracking>,
    limit: Limit,
    touched: AtomicU64,
}

/// Scratch memory of one thread that moves pages.
pub struct Worker {
    /// Unregistered address space of [`BATCH`] pages in which zeroed frames are made.
    pub fresh: usize,
    /// Local memory of [`BATCH`] pages through which pages are copied.
    pub bounce: usize,
    pub(crate) scratch: crate::reclaim::Scratch,
    /// Where the program came in by the fault that is served; `None` if that is not known.
    pub(crate) entry: Option<u64>,
    /// A page that has arrived and waits to be mapped.
    pub(crate) held: Box<[u8; PAGE]>,
    /// Frames taken in advance for pages that pointers lead to.
    pub(crate) credit: u64,
    /// How the last fault was answered.
    pub(crate) answer: Option<Answer>,
    /// The chain of pages that it begins or goes on with.
    pub(crate) chain: u32,
    /// Faults on pages that were there.
    pub(crate) spurious: u32,
    /// Faults on pages that are not tracked.
    pub(crate) untracked: u32,
    /// Whether a tape says what comes after the fault that is served.
    pub(crate) on_tape: bool,
}

impl Worker {
    /// A worker with the given scratch memory, each [`BATCH`] pages long and its own alone.
    pub fn new(fresh: usize, bounce: usize) -> Self {
        Self {
            fresh,
            bounce,
            scratch: crate::reclaim::Scratch::default(),
            entry: None,
            held: Box::new([0; PAGE]),
            credit: 0,
            answer: None,
            chain: 0,
            spurious: 0,
            untracked: 0,
            on_tape: false,
        }
    }

    /// The first `count` pages of the bounce buffer.
    pub(crate) fn bounce(&mut self, count: usize) -> &mut [u8] {
        assert!(count <= BATCH);
        // SAFETY: the buffer is this worker's alone and BATCH pages long.
        unsafe { std::slice::from_raw_parts_mut(self.bounce as *mut u8, count * PAGE) }
    }
}

impl Pager {
    /// Puts a pager together.
    pub fn new(parts: Parts) -> Self {
        let pages = parts.table.pages();
        let ordered = parts.counters.ordered.bytes();
        let limit = match (ordered, parts.limit) {
            (Some(ordered), _) => ordered.max(LEAST_LIMIT) / PAGE as u64,
            (None, Limit::Bytes(bytes)) => bytes / PAGE as u64,
            (None, Limit::PercentOfTouched(_)) => LEAST_LIMIT / PAGE as u64,
        };
        let budget = match parts.limit.is_none() && ordered.is_none() {
            true => Budget::unlimited(parts.counters),
            false => Budget::new(limit, parts.counters),
        };
        let budget = match parts.recorder {
            // What is recorded has to have room to be unmapped.
            Some(_) => budget.of_at_most(u64::from(parts.area_positions) / 16 * 15),
            None => budget,
        };
        let mut policy = Assigned::new(parts.policy);
        policy.set_capacity(capacity(limit));
        if let Some(tracking) = &parts.tracking {
            tracking.introduce(&mut policy);
        }
        Self {
            base: parts.base,
            table: parts.table,
            ranges: Mutex::new(FreeRanges::new(pages)),
            policy: Mutex::new(policy),
            prefetcher: Mutex::new(parts.prefetcher),
            pointers: parts.pointers.map(Mutex::new),
            array_pages: ArrayPages::new(),
            tagged: parts.tagged,
            budget,
            area: FrameArea::new(parts.area, parts.area_positions),
            space: parts.space,
            store: parts.store,
            counters: parts.counters,
            gate: Gate::default(),
            flights: Flights::default(),
            advice: Advice::default(),
            evictor: Evictor::new(parts.evict_ahead),
            writes: WriteForecast::default(),
            writes_where_read: WriteForecast::default(),
            changes: ChangeForecast::default(),
            uses: UseForecast::default(),
            protection: Mutex::new(()),
            reclaiming: Mutex::new(()),
            exact_prefetch_count: parts.exact_prefetch_count,
            tag_seed: parts.tag_seed,
            runs: AtomicU64::new(0),
            recorder: Switch::new(parts.recorder),
            fault_log: parts.fault_log,
            hint_watch: parts.hint_watch,
            replay: Switch::new(parts.replay),
            aside: Aside::default(),
            names: parts.names,
            tracking: parts.tracking,
            limit: parts.limit,
            touched: AtomicU64::new(0),
        }
    }

    /// Address of the far region.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Length of the far region in bytes.
    pub fn len(&self) -> usize {
        self.table.pages() as usize * PAGE
    }

    /// Whether the region has no pages.
    pub fn is_empty(&self) -> bool {
        self.table.pages() == 0
    }

    /// Whether an address lies in the far region.
    #[inline]
    pub fn contains(&self, addr: usize) -> bool {
        addr.wrapping_sub(self.base) < self.len()
    }

    /// What the program is shown of each page of the far region, from the first on; see `farside.h`.
    pub fn shown(&self) -> *const u8 {
        self.table.shown()
    }

    /// What is counted.
    pub fn counters(&self) -> &'static Counters {
        self.counters
    }

    /// Address of a page.
    #[inline]
    pub(crate) fn address(&self, page: u64) -> usize {
        self.base + page as usize * PAGE
    }

    /// The page that holds an address of the region.
    #[inline]
    pub(crate) fn page_of(&self, addr: usize) -> u64 {
        ((addr - self.base) / PAGE) as u64
    }

    /// Locks a mutex that is held across calls of the address space or the far store.
    pub(crate) fn lock<'a, T: ?Sized>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        loop {
            match mutex.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
                Err(TryLockError::WouldBlock) if self.space.contended() => {}
                Err(TryLockError::WouldBlock) => {
                    return mutex.lock().unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    pub(crate) fn lock_policy(&self) -> MutexGuard<'_, Assigned> {
        self.lock(&self.policy)
    }

    pub(crate) fn lock_prefetcher(&self) -> MutexGuard<'_, Box<dyn Prefetcher>> {
        self.prefetcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_ranges(&self) -> MutexGuard<'_, FreeRanges> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the transition of `count` pages that are mapped now, and wakes whoever waits for them.
    ///
    /// Whoever takes a page out of the resident or watched state holds the policy's lock, so that a
    /// page is known to the policy exactly as long as it is in one of these states.
    pub(crate) fn publish_resident(
        &self,
        first: u64,
        count: u64,
        word: Word,
        priority: u8,
        arrival: impl Fn(u64) -> Arrival,
    ) {
        let mut waiters = false;
        {
            let mut policy = self.lock_policy();
            for page in first..first + count {
                let arrival = arrival(page);
                let slot = policy.insert(PageId(page), arrival);
                if priority > 0 {
                    policy.prioritize(slot, priority);
                }
                let mut word = word.in_state(State::Resident).with_slot(slot);
                if arrival == Arrival::Prefetch {
                    word = word.with_prefetched();
                }
                waiters |= self.table.publish(page, word);
            }
        }
        if waiters {
            self.wake(first, count);
        }
    }

    /// Ends the transition of a page that is not in memory.
    pub(crate) fn publish_absent(&self, page: u64, word: Word) {
        if self.table.publish(page, word) {
            self.wake(page, 1);
        }
    }

    pub(crate) fn wake(&self, first: u64, count: u64) {
        self.note_wake();
        // Waking fails only if the range is unmapped or the process ends, and then nobody waits there.
        let _ = self.space.wake(self.address(first), count as usize * PAGE);
    }

    /// Pages touched and not freed since.
    pub fn touched(&self) -> u64 {
        self.touched.load(Relaxed)
    }

    /// Counts pages touched for the first time (or freed, if negative) and adapts a limit that depends
    /// on their number.
    pub(crate) fn add_touched(&self, change: i64) {
        let touched = self.touched.fetch_add(change as u64, Relaxed).wrapping_add(change as u64);
        let bytes = touched * PAGE as u64;
        self.counters.footprint_bytes.store(bytes, Relaxed);
        if change > 0 && bytes > self.counters.footprint_peak_bytes.load(Relaxed) {
            let peak = self.counters.footprint_peak_bytes.fetch_max(bytes, Relaxed).max(bytes);
            // What is ordered stands, whatever the program touches.
            if let Limit::PercentOfTouched(percent) = self.limit
                && self.counters.ordered.bytes().is_none()
            {
                let limit = ((peak as f64 * percent / 100.0) as u64).max(LEAST_LIMIT);
                if self.budget.is_unlimited() {
                    let before = bytes.saturating_sub(change as u64 * PAGE as u64);
                    self.let_policy_grow(before / PAGE as u64, touched);
                    self.budget.show_limit(limit);
                } else {
                    self.set_limit_bytes(limit);
                }
                self.counters.ordered.remind();
            }
        }
    }

    /// Changes the local limit; when it shrinks, the next transitions evict what is over it.
    pub fn set_limit_bytes(&self, bytes: u64) {
        let pages = bytes / PAGE as u64;
        let shown = self.counters.limit_bytes.load(Relaxed) / PAGE as u64;
        let old = if self.budget.is_unlimited() { shown } else { self.budget.limit() };
        self.budget.set_limit(pages);
        self.let_policy_grow(old, pages);
    }

    /// Has the policy make room for so many pages. Growing its lists page by page would make it resize them each time.
    fn let_policy_grow(&self, old: u64, pages: u64) {
        if pages > old && pages.next_power_of_two() > old.next_power_of_two() {
            self.lock_policy().set_capacity(capacity(pages));
        }
    }

    /// Bytes that may be resident; `None` if that is not limited.
    pub fn limit_bytes(&self) -> Option<u64> {
        let shown = self.counters.limit_bytes.load(Relaxed);
        (!self.budget.is_unlimited()).then_some(shown)
    }
}

/// How many pages a policy has to have room for under a limit: no more are ever resident than the machine
/// has memory for.
fn capacity(limit: u64) -> usize {
    limit.min(physical_pages()) as usize
}

/// Result of a transition.
pub type Outcome = Result<(), FarError>;
