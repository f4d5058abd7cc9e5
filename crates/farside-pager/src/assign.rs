//! Replacement policies of their own for parts of far memory (Eden, section 4).

use std::ops::Range;

use farside_os::memory::PAGE;
use farside_policy::replacement::{self, RegionsInRun, ReplacementPolicy};
use farside_trace::{PageId, PageRange};

use crate::pager::Pager;
use crate::word::State;

/// Why a part of memory cannot have that policy.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AssignError {
    /// No policy that a run can have is called so.
    UnknownPolicy,
    /// The range is not far memory, or too small for a page.
    NoPages,
    /// As many policies as there can be are in use.
    TooMany,
}

impl Pager {
    /// From now on the pages that lie in a range as a whole are evicted by a policy of their own; without a name, by
    /// that of the run again. They give up memory in proportion to how much they have.
    ///
    /// If the run's policy has regions, and the name is its own, they are a region of it from now on: those of them that
    /// are not here yet.
    ///
    /// # Errors
    /// If it cannot be; nothing has changed then.
    pub fn assign(
        &self,
        address: usize,
        size: usize,
        name: Option<&str>,
    ) -> Result<(), AssignError> {
        let mut policy = name.map(known_policy).transpose()?;
        let pages = self.pages_within(address, size);
        if pages.is_empty() {
            return Err(AssignError::NoPages);
        }
        let _inside = self.enter();
        // Pages that are being unmapped to be watched have their slots in the hands of whoever does that.
        let _alone = self.lock(&self.reclaiming);
        {
            let mut parts = self.lock_policy();
            let is_region = name.is_some() && name == has_regions(parts.name());
            if is_region {
                policy = None;
            }
            if !parts.assign(PageId(pages.start)..PageId(pages.end), policy) {
                return Err(AssignError::TooMany);
            }
            if is_region {
                let count = pages.end - pages.start;
                parts.begin_region(PageRange::new(PageId(pages.start), count));
            }
            if let Some(tracking) = &self.tracking {
                tracking.look_at_policy(&*parts);
            }
        }
        for (first, end) in self.table.touched_stretches(pages.start, pages.end) {
            self.pass_on(first..end);
        }
        Ok(())
    }

    /// The program keeps something large of its own in a range from now on: its pages are likely to be used alike.
    pub fn begin_region(&self, address: usize, size: usize) {
        let pages = self.pages_within(address, size);
        let _inside = self.enter();
        let range = PageRange::new(PageId(pages.start), pages.end - pages.start);
        self.lock_policy().begin_region(range);
    }

    /// Has pages that are here go over to the policy that they are now assigned to.
    fn pass_on(&self, pages: Range<u64>) {
        let mut policy = self.lock_policy();
        for page in pages {
            let word = self.table.load(page);
            if matches!(word.state(), State::Resident | State::Watched) {
                let slot = policy.pass_on(PageId(page), word.slot());
                let known = self.table.update(page, word.state(), |word| word.with_slot(slot));
                debug_assert!(known, "page {page} left while the policy was locked");
            }
        }
    }

    /// The pages of far memory that lie in a range as a whole.
    pub(crate) fn pages_within(&self, address: usize, size: usize) -> Range<u64> {
        let end = self.base + self.len();
        let from = address.clamp(self.base, end).next_multiple_of(PAGE);
        let to = address.saturating_add(size).clamp(self.base, end);
        let (first, last) = (self.page_of(from), self.page_of(to));
        first..last.max(first)
    }
}

/// The name of a policy that has regions.
fn has_regions(name: &str) -> Option<&str> {
    (name == RegionsInRun::NAME).then_some(name)
}

fn known_policy(name: &str) -> Result<Box<dyn ReplacementPolicy>, AssignError> {
    replacement::in_run(name).ok_or(AssignError::UnknownPolicy)
}
