//! Which far pages to fetch before they are asked for.
//!
//! A prefetcher is a module of its own beside this one and one line in the table that [`by_name`]
//! searches.

mod adaptive;
mod choice;
mod fixed;
mod leap;
mod linux;
mod none;
mod parameters;
mod plan;
mod pointer;
mod proximity;
mod registry;
mod spatial;
mod swap_cluster;
mod tape;
mod with_pointers;

pub use adaptive::Adaptive;
pub use choice::{BadChoice, Choice};
pub use fixed::FixedReadahead;
pub use leap::{AccessHistory, Leap, LeapOptions};
pub use linux::LinuxWindow;
pub use none::NoPrefetch;
pub use plan::{MAX_RUNS, PrefetchPlan};
pub use pointer::{
    ARRAY_PAGES, Conservative, Deed, Done, Fetch, Fetches, Identify, MOST_FETCHES, Memory, Place,
    Pointer, PointerCounts, PointerOptions, Tagged, Tags, Walk,
};
pub use proximity::{Proximity, ProximityInRun, ProximityOptions};
pub use registry::{NAMES, OMNISCIENT, POINTER, PROXIMITY, by_name, by_name_with_tape, of_runs};
pub use spatial::{Spatial, SpatialOptions};
pub use swap_cluster::SwapCluster;
pub use tape::{Tape, TapeOptions};
pub use with_pointers::WithPointers;

use farside_trace::PageId;

/// What kind of fault a prefetcher is told of.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The program waits for a page that nobody had asked for.
    Demand,
    /// The program waits for a page that was already on its way.
    Late,
    /// The program touched a page that was prefetched and had been kept unmapped to learn of that.
    Used,
}

/// What is to be done about the pointers in a page.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Following {
    /// They are not looked for.
    Off,
    /// It is foreseen where they lead, and nothing is fetched.
    Shadow,
    /// What they lead to is fetched.
    On,
}

/// Foresees page accesses.
pub trait Prefetcher: Send {
    /// The name a user selects the prefetcher by.
    fn name(&self) -> &'static str;

    /// `page` faulted; adds to `plan` what to fetch besides `page` itself.
    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan);

    /// The same for who can tell of a page whether it is far: only then fetching it would be of use.
    /// `page` itself is not.
    fn fault_seeing(
        &mut self,
        page: PageId,
        kind: FaultKind,
        is_far: &dyn Fn(PageId) -> bool,
        plan: &mut PrefetchPlan,
    ) {
        let _ = is_far;
        self.fault(page, kind, plan);
    }

    /// What is to be done about the pointers in `page`, by who follows pointers beside this
    /// prefetcher.
    fn pointers(&self, page: PageId) -> Following {
        let _ = page;
        Following::Off
    }

    /// A pointer leads to `page`, which is far, and fetched if `sent`, or was fetched ahead and is not used yet.
    fn foreseen_by_pointer(&mut self, page: PageId, sent: bool) {
        let _ = (page, sent);
    }

    /// `page`, which is resident, was accessed without a fault. Told as far as accesses can be
    /// seen: in a simulation all of them, in a run hardly any. A fault is an access too, but told
    /// only as such.
    fn access(&mut self, page: PageId) {
        let _ = page;
    }

    /// Whether the prefetcher knows the program's accesses beforehand, and a simulation tells it of
    /// those too that hardware would hide from a policy.
    fn knows_all_accesses(&self) -> bool {
        false
    }

    /// Most pages that may be resident, or on their way, having been asked for by this prefetcher
    /// and not been touched, when local memory holds `local_pages` pages. The caller leaves out of
    /// a plan what would be more.
    fn most_unused(&self, local_pages: u64) -> u64 {
        local_pages
    }

    /// A page this prefetcher had asked for left memory, or was freed, without having been touched,
    /// as far as is known.
    fn unused(&mut self, page: PageId) {
        let _ = page;
    }
}

impl<P: Prefetcher + ?Sized> Prefetcher for Box<P> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        (**self).fault(page, kind, plan);
    }

    fn fault_seeing(
        &mut self,
        page: PageId,
        kind: FaultKind,
        is_far: &dyn Fn(PageId) -> bool,
        plan: &mut PrefetchPlan,
    ) {
        (**self).fault_seeing(page, kind, is_far, plan);
    }

    fn pointers(&self, page: PageId) -> Following {
        (**self).pointers(page)
    }

    fn foreseen_by_pointer(&mut self, page: PageId, sent: bool) {
        (**self).foreseen_by_pointer(page, sent);
    }

    fn access(&mut self, page: PageId) {
        (**self).access(page);
    }

    fn knows_all_accesses(&self) -> bool {
        (**self).knows_all_accesses()
    }

    fn most_unused(&self, local_pages: u64) -> u64 {
        (**self).most_unused(local_pages)
    }

    fn unused(&mut self, page: PageId) {
        (**self).unused(page);
    }
}

/// So many thousandths of `pages`.
const fn share(pages: u64, permille: u64) -> u64 {
    let share = pages as u128 * permille as u128 / 1000;
    if share > u64::MAX as u128 { u64::MAX } else { share as u64 }
}
