//! Which resident page leaves next.
//!
//! A policy is a file of its own beside this one, built from the lists of [`list`] or `page_lists`,
//! and one line in the table that [`by_name`] searches.

mod adaptive;
mod ahead;
mod arc;
mod assigned;
mod bimodal;
mod clock;
mod clock_pro;
mod directory;
mod eden;
mod fifo;
mod lirs;
pub mod list;
mod lru;
pub(crate) mod page_index;
mod page_lists;
mod priority;
pub mod region;
mod registry;
mod remembered;
mod s3_fifo;
mod second_chance;
mod two_queue;
mod watching;

pub use adaptive::Adaptive;
pub use arc::Arc;
pub use assigned::{Assigned, MOST_ASSIGNED};
pub use bimodal::Bimodal;
pub use clock::Clock;
pub use clock_pro::{ClockPro, ClockProOptions};
pub use eden::{Eden, EdenOptions, MOST_GENERATIONS};
pub use fifo::Fifo;
pub use lirs::{Lirs, LirsOptions};
pub use lru::{Lru, Mru};
pub use priority::{MOST_PRIORITIES, Priority};
pub use region::{RegionSpecific, RegionsInRun};
pub use registry::{
    BY_WATCHING, NAMES, OMNISCIENT, PolicyVisitor, by_name, in_run, of_runs, visit_by_name,
};
pub use s3_fifo::{S3Fifo, S3FifoOptions};
pub use second_chance::SecondChance;
pub use two_queue::TwoQueue;
pub use watching::{Watching, WatchingOptions};

use farside_trace::{PageId, PageRange, PageSample};

/// Names a resident page inside a policy; the caller keeps it for as long as the page is resident.
///
/// Slots are dense small numbers, so that a caller can store one in 32 bits and a policy can keep
/// its lists in flat arrays. A slot is valid from [`ReplacementPolicy::insert`] until the page is
/// removed or chosen as a victim, and may then be given to another page.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// Why a page became resident.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// The program waited for it.
    Demand,
    /// A prefetcher foresaw it; the program has not touched it yet, as far as is known.
    Prefetch,
    /// The program touched it for the first time ever.
    FirstTouch,
}

/// Decides which resident pages to give up.
///
/// A policy never sees time or memory: it is told of arrivals, of those accesses that can be seen
/// (in a simulation all of them, in a run only those to pages it asked to watch), and is asked for
/// victims. No method allocates once `set_capacity` has been called with the largest number of pages
/// that will be resident at once; without that promise the policy grows its lists as needed.
pub trait ReplacementPolicy: Send {
    /// The name a user selects the policy by.
    fn name(&self) -> &'static str;

    /// Tells how many pages may be resident at once. May be called again when the limit changes.
    fn set_capacity(&mut self, pages: usize);

    /// From now on the caller tells of every page that comes back where it was: see
    /// [`hint`](Self::hint). Called before the first page. Policies that remember pages which left need
    /// no index of them then.
    fn rely_on_hints(&mut self) {}

    /// `page`, which is expected or inserted or restored next, had `slot` when it was resident last.
    fn hint(&mut self, page: PageId, slot: Slot) {
        let _ = (page, slot);
    }

    /// `page` is about to become resident because the program waits for it: the victims asked for
    /// until then make room for it. Policies that remember pages that left choose by that.
    fn expect(&mut self, page: PageId) {
        let _ = page;
    }

    /// `page` became resident.
    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot;

    /// The resident page at `slot` was accessed.
    fn access(&mut self, slot: Slot);

    /// Asks the processor for what there is about `slot`.
    ///
    /// A caller that knows of accesses to come lets the policy ask for what they come to some time ahead of
    /// them, and for what lies [beside](Self::glance_beside) that some time later. The slot may be one that a
    /// page had when it left.
    fn glance(&self, slot: Slot) {
        let _ = slot;
    }

    /// Asks the processor for what lies beside `slot` in the policy's order, which moving it will change;
    /// what there is about `slot` was asked for.
    fn glance_beside(&self, slot: Slot) {
        let _ = slot;
    }

    /// The page that leaves next if nothing is used until then, for who asks ahead for what there is about
    /// it; a guess, and `None` where it would take long.
    fn likely_victim(&self) -> Option<PageId> {
        None
    }

    /// The program asks for the resident page at `slot` to be evicted sooner than those of lower
    /// priorities; 0 is the lowest, and every page has it at first (Eden's `ev_prio`). Policies
    /// without priorities ignore it.
    fn prioritize(&mut self, slot: Slot, priority: u8) {
        let _ = (slot, priority);
    }

    /// The program is done with the resident page at `slot`: it may leave next. Policies that cannot say
    /// which page leaves next make do with the highest [priority](Self::prioritize).
    fn dismiss(&mut self, slot: Slot) {
        self.prioritize(slot, u8::MAX);
    }

    /// The program came to `page`, from where more is fetched ahead now: as it says, page by page, it is half-way through
    /// what was fetched with that page, which is resident at `slot`; or there is no slot since nothing was, or what was has
    /// left. Policies that evict what came last learn by it how long what is fetched ahead has to stay.
    fn reach(&mut self, page: PageId, slot: Option<Slot>) {
        let _ = (page, slot);
    }

    /// The page at `slot` is no longer resident although the policy did not choose it (the program
    /// freed it).
    fn remove(&mut self, slot: Slot);

    /// Chooses the next page to evict and forgets it; `None` if nothing is resident.
    fn victim(&mut self) -> Option<PageId>;

    /// A victim turned out not to be evictable now (the kernel holds it); it stays resident.
    fn restore(&mut self, page: PageId) -> Slot;

    /// Appends to `out` up to `max` resident pages whose next access the policy wants to be told of.
    ///
    /// The pager unmaps those pages without evicting them, and reports the soft fault that their
    /// next use causes through [`access`](Self::access). Policies that need no such knowledge leave
    /// `out` alone.
    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        let _ = (max, out);
    }

    /// If the policy decides by the uses of a [sample](Self::set_sample) of all pages: how many pages it keeps because
    /// they were used last, whose uses need not be told.
    fn wants_sample(&self) -> Option<usize> {
        None
    }

    /// The caller tells of the uses of the pages of this sample from now on, as far as it can: see [`come`](Self::come).
    /// Called for the first time before the first page, and when the sample is halved or doubled, and for nothing else.
    fn set_sample(&mut self, sample: PageSample) {
        let _ = sample;
    }

    /// The program came to a page of the [sample](Self::set_sample), which may be resident or not: if not, it arrives
    /// after that.
    fn come(&mut self, page: PageId) {
        let _ = page;
    }

    /// The program keeps something large of its own in `range` from now on, as an array: its pages are likely to be used
    /// alike. They are none of another such range any more.
    fn begin_region(&mut self, range: PageRange) {
        let _ = range;
    }

    /// What there is of such ranges in `range` is given back; its pages have been [removed](Self::remove).
    fn end_region(&mut self, range: PageRange) {
        let _ = range;
    }

    /// Number of resident pages the policy knows of.
    fn len(&self) -> usize;

    /// Whether no page is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<P: ReplacementPolicy + ?Sized> ReplacementPolicy for Box<P> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn set_capacity(&mut self, pages: usize) {
        (**self).set_capacity(pages);
    }

    fn rely_on_hints(&mut self) {
        (**self).rely_on_hints();
    }

    fn hint(&mut self, page: PageId, slot: Slot) {
        (**self).hint(page, slot);
    }

    fn expect(&mut self, page: PageId) {
        (**self).expect(page);
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        (**self).insert(page, arrival)
    }

    fn access(&mut self, slot: Slot) {
        (**self).access(slot);
    }

    fn prioritize(&mut self, slot: Slot, priority: u8) {
        (**self).prioritize(slot, priority);
    }

    fn dismiss(&mut self, slot: Slot) {
        (**self).dismiss(slot);
    }

    fn reach(&mut self, page: PageId, slot: Option<Slot>) {
        (**self).reach(page, slot);
    }

    fn remove(&mut self, slot: Slot) {
        (**self).remove(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        (**self).victim()
    }

    fn restore(&mut self, page: PageId) -> Slot {
        (**self).restore(page)
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        (**self).watch(max, out);
    }

    fn wants_sample(&self) -> Option<usize> {
        (**self).wants_sample()
    }

    fn set_sample(&mut self, sample: PageSample) {
        (**self).set_sample(sample);
    }

    fn come(&mut self, page: PageId) {
        (**self).come(page);
    }

    fn begin_region(&mut self, range: PageRange) {
        (**self).begin_region(range);
    }

    fn end_region(&mut self, range: PageRange) {
        (**self).end_region(range);
    }

    fn len(&self) -> usize {
        (**self).len()
    }
}
