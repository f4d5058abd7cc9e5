//! Pages that the program lists: what it will use, in whatever order it lies in memory.

use farside_policy::prefetch::{MAX_RUNS, PrefetchPlan};
use farside_trace::{PageId, PageRange};
use farside_wire::hint_board::Count;
use smallvec::SmallVec;

use crate::counters::Counters;
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;

impl Pager {
    /// Sends for the pages of a list of addresses, without waiting for them. Addresses that are not far memory are
    /// passed over. `given_at` is the address behind the call that gives the list; 0 if that is not known.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn foresee(&self, w: &mut Worker, addresses: &[usize], given_at: usize) -> Outcome {
        let _inside = self.enter();
        if self.is_recorded() || self.follows_tape() {
            return Ok(());
        }
        Counters::add(&self.counters.hints, 1);
        let place = self.hint_place(given_at);
        self.count_hint(place, Count::Given, addresses.len() as u64);
        for some in addresses.chunks(MAX_RUNS) {
            let ours = some.iter().filter(|address| self.contains(**address));
            let mut pages: SmallVec<[u64; MAX_RUNS]> =
                ours.map(|address| self.page_of(*address)).collect();
            let astray = (some.len() - pages.len()) as u64;
            Counters::add(&self.counters.hints_astray, astray);
            self.count_hint(place, Count::Astray, astray);
            pages.sort_unstable();
            pages.dedup();
            let mut plan = PrefetchPlan::new();
            for run in pages.chunk_by(|one, other| one + 1 == *other) {
                plan.push(PageRange::new(PageId(run[0]), run.len() as u64));
            }
            let purpose = Purpose::NONE.given_at(place);
            self.start_flights(w, &plan, self.most_foreseen(), purpose)?;
        }
        Ok(())
    }
}
