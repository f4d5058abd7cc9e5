//! Holds steps against the trace that they were planned from.
//!
//! Nothing here knows how steps are planned: pages are looked at one by one as they are used.

use farside_trace::tape::{Step, StepKind};
use farside_trace::{Block, MappingEvent, PageId, PageRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::kept::Kept;
use super::{PlanError, PlanOptions, RegionNames};

/// What is wrong with the steps of a plan, or with the trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The trace itself cannot be planned.
    #[error(transparent)]
    Trace(#[from] PlanError),
    /// A page is used that is not resident, and the next step, if there is one, does not bring it.
    #[error(
        "thread {thread} uses page {} in its record {record}, where it is not resident, and the next \
         step is {found:?}",
        .page.0
    )]
    Missing {
        /// The thread.
        thread: u32,
        /// Number of its record.
        record: u64,
        /// The page.
        page: PageId,
        /// The next step.
        found: Option<Step>,
    },
    /// A page is touched that has content, or one is fetched that has none.
    #[error(
        "thread {thread}, record {record}: {step:?}, but a page is touched first and fetched then"
    )]
    WrongKind {
        /// The thread.
        thread: u32,
        /// Number of its record.
        record: u64,
        /// The step.
        step: Step,
    },
    /// A page is fetched to be written, and leaves without that.
    #[error("thread {thread}, before record {record}: page {} is fetched to be written and was not", .page.0)]
    NotWritten {
        /// The thread.
        thread: u32,
        /// Number of its record.
        record: u64,
        /// The page.
        page: PageId,
    },
    /// A page is evicted that is not resident.
    #[error("thread {thread}, before record {record}: page {} is evicted and not resident", .page.0)]
    EvictedTwice {
        /// The thread.
        thread: u32,
        /// Number of its record.
        record: u64,
        /// The page.
        page: PageId,
    },
    /// A page is evicted in the microset that uses it.
    #[error(
        "thread {thread}, before record {record}: page {} is evicted in the microset that has used it",
        .page.0
    )]
    EvictedInUse {
        /// The thread.
        thread: u32,
        /// Number of its record.
        record: u64,
        /// The page.
        page: PageId,
    },
    /// More pages are resident than may be.
    #[error("thread {thread}, record {record}: more than {capacity} pages are resident")]
    TooManyResident {
        /// The thread.
        thread: u32,
        /// Number of its record.
        record: u64,
        /// How many may be.
        capacity: u64,
    },
    /// There are steps behind the end of the trace.
    #[error("thread {thread}: {step:?} comes after the end of the trace")]
    TooManySteps {
        /// The thread.
        thread: u32,
        /// The first of them.
        step: Step,
    },
}

/// What was counted while steps were checked.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// First uses of pages.
    pub touches: u64,
    /// Pages fetched.
    pub fetches: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Those of them that were gone already, by a discard: derived plans do not know of discards.
    pub idle: u64,
    /// Pages fetched to be written.
    pub to_write: u64,
    /// Pages that were written before they left, and not fetched for that.
    pub unforeseen: u64,
}

/// Replays the steps of one plan against its trace.
#[derive(Debug)]
pub struct Checker {
    share: u64,
    /// Records in a microset, or 0 if two do not fit.
    microset: u64,
    names: RegionNames,
    touched: FxHashSet<PageId>,
    kept: Kept,
    threads: FxHashMap<u32, Thread>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Thread {
    records: u64,
    resident: FxHashMap<PageId, Stay>,
    /// Pages that left by a discard.
    gone: FxHashSet<PageId>,
}

/// A page between its fetch and its eviction.
#[derive(Copy, Clone, Debug)]
struct Stay {
    kind: StepKind,
    written: bool,
    /// The microset that used it last.
    microset: u64,
}

impl Checker {
    /// Before the first access; the plan is the one of this number among `options`' capacities.
    ///
    /// # Panics
    /// If there is no such plan.
    pub fn new(options: &PlanOptions, plan: usize) -> Self {
        let share = options.capacities[plan] / u64::from(options.threads.max(1));
        let microset = options.microset.max(1) as u64;
        Self {
            share,
            microset: if microset.saturating_mul(2) <= share { microset } else { 0 },
            names: RegionNames::new(),
            touched: FxHashSet::default(),
            kept: Kept::default(),
            threads: FxHashMap::default(),
            counts: Counts::default(),
        }
    }

    /// Checks the steps of the next accesses and mapping events; `next` gives out the next step of a thread.
    ///
    /// # Errors
    /// A [`CheckError`] if something is wrong, and those of `next`.
    pub fn feed<E: From<CheckError>>(
        &mut self,
        block: &Block,
        next: &mut impl FnMut(u32) -> Result<Option<Step>, E>,
    ) -> Result<(), E> {
        let mut events = block.events.iter().peekable();
        for (number, access) in (block.first..).zip(&block.accesses) {
            while let Some(event) = events.next_if(|event| event.access <= number) {
                self.event(event)?;
            }
            let page = self.names.translate(access.page).map_err(CheckError::from)?;
            self.record(access.thread, (page, access.write), next)?;
        }
        events.try_for_each(|event| self.event(event))?;
        Ok(())
    }

    /// Checks that no steps are left; returns what was counted.
    ///
    /// # Errors
    /// A [`CheckError`] if some are left, and those of `next`.
    pub fn finish<E: From<CheckError>>(
        self,
        next: &mut impl FnMut(u32) -> Result<Option<Step>, E>,
    ) -> Result<Counts, E> {
        for thread in self.threads.keys() {
            if let Some(step) = next(*thread)? {
                return Err(CheckError::TooManySteps { thread: *thread, step }.into());
            }
        }
        Ok(self.counts)
    }

    fn event(&mut self, event: &MappingEvent) -> Result<(), CheckError> {
        let mut gone = Vec::new();
        let kept = self.names.apply(event, &mut gone)?;
        for range in gone {
            self.kept.discard(range);
            self.touched.retain(|page| !range.contains(*page));
            self.threads.values_mut().for_each(|thread| thread.discard(range));
        }
        kept.into_iter().for_each(|range| self.kept.add(range));
        Ok(())
    }

    fn record<E: From<CheckError>>(
        &mut self,
        number: u32,
        (page, write): (PageId, bool),
        next: &mut impl FnMut(u32) -> Result<Option<Step>, E>,
    ) -> Result<(), E> {
        let thread = self.threads.entry(number).or_default();
        let record = thread.records;
        let first = self.touched.insert(page) && !self.kept.contains(page);
        while !thread.resident.contains_key(&page) {
            match next(number)? {
                Some(Step { kind: StepKind::Evict, page }) => {
                    self.counts.evictions += 1;
                    match thread.evict(page, self.microset, number)? {
                        Some(stay) => {
                            let unforeseen = stay.kind == StepKind::Fetch && stay.written;
                            self.counts.unforeseen += u64::from(unforeseen);
                        }
                        None => self.counts.idle += 1,
                    }
                }
                Some(step) if step.page == page => {
                    if first != (step.kind == StepKind::Touch) {
                        return Err(CheckError::WrongKind { thread: number, record, step }.into());
                    }
                    let count =
                        if first { &mut self.counts.touches } else { &mut self.counts.fetches };
                    *count += 1;
                    self.counts.to_write += u64::from(step.kind == StepKind::FetchToWrite);
                    let stay = Stay { kind: step.kind, written: false, microset: 0 };
                    thread.resident.insert(page, stay);
                    thread.gone.remove(&page);
                }
                found => {
                    return Err(CheckError::Missing { thread: number, record, page, found }.into());
                }
            }
        }
        if thread.resident.len() as u64 > self.share {
            let capacity = self.share;
            return Err(CheckError::TooManyResident { thread: number, record, capacity }.into());
        }
        if let Some(stay) = thread.resident.get_mut(&page) {
            stay.written |= write;
            stay.microset = record.checked_div(self.microset).unwrap_or(0);
        }
        thread.records += 1;
        Ok(())
    }
}

impl Thread {
    /// Evicts a page; how it was here, unless it was gone already.
    fn evict(
        &mut self,
        page: PageId,
        microset: u64,
        number: u32,
    ) -> Result<Option<Stay>, CheckError> {
        let (thread, record) = (number, self.records);
        match self.resident.remove(&page) {
            Some(stay) if record.checked_div(microset) == Some(stay.microset) => {
                Err(CheckError::EvictedInUse { thread, record, page })
            }
            Some(Stay { kind: StepKind::FetchToWrite, written: false, .. }) => {
                Err(CheckError::NotWritten { thread, record, page })
            }
            Some(stay) => Ok(Some(stay)),
            None if self.gone.remove(&page) => Ok(None),
            None => Err(CheckError::EvictedTwice { thread, record, page }),
        }
    }

    fn discard(&mut self, range: PageRange) {
        let gone = &mut self.gone;
        self.resident.retain(|page, _| {
            let goes = range.contains(*page);
            if goes {
                gone.insert(*page);
            }
            !goes
        });
    }
}
