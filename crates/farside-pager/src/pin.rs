//! Pages that stay where they are for a while, whatever the policy thinks of them.

use std::sync::atomic::Ordering::Relaxed;

use farside_far::FarError;
use farside_os::memory::PAGE;

use crate::hint::Hint;
use crate::pager::{Pager, Worker};
use crate::word::State;

/// Most pages that are kept at once by one call.
const MOST: u64 = u64::BITS as u64;

impl Pager {
    /// Brings the pages of a range, 64 at most, here, and keeps them until they are [let go](Self::let_go). Returns, by
    /// bits, which are kept: not those that are not managed, and those that are nobody's.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn hold(&self, w: &mut Worker, addr: usize, len: usize) -> Result<u64, FarError> {
        let _inside = self.enter();
        let mut kept = 0;
        for (bit, page) in self.pages_kept(addr, len).enumerate() {
            kept |= u64::from(self.keep_page(w, page)?) << bit;
        }
        Ok(kept)
    }

    /// Brings all pages of a range here, and keeps them until they are [unpinned](Self::unpin) as often. False, and
    /// nothing is done, if they would take more than half of the local memory together with those that are pinned.
    /// What is not far memory is here anyway.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn pin(&self, w: &mut Worker, addr: usize, size: usize) -> Result<bool, FarError> {
        let Some((from, end)) = self.pinnable(addr, size) else { return Ok(true) };
        let count = ((end - from) / PAGE) as u64;
        let most = self.budget.limit() / 2;
        let add = |pinned: u64| pinned.checked_add(count).filter(|pinned| *pinned <= most);
        if self.counters.held_pages.fetch_update(Relaxed, Relaxed, add).is_err() {
            return Ok(false);
        }
        for at in (from..end).step_by(MOST as usize * PAGE) {
            let size = (end - at).min(MOST as usize * PAGE);
            self.hint(w, &Hint { address: at, size, ..Hint::default() })?;
            self.hold(w, at, size)?;
        }
        Ok(true)
    }

    /// Ends what one [`pin`](Self::pin) of this range began.
    pub fn unpin(&self, addr: usize, size: usize) {
        let Some((from, end)) = self.pinnable(addr, size) else { return };
        let less = |pinned: u64| pinned.checked_sub(((end - from) / PAGE) as u64);
        // Who unpins what was never pinned must not let go what the runtime itself holds.
        if self.counters.held_pages.fetch_update(Relaxed, Relaxed, less).is_err() {
            return;
        }
        for at in (from..end).step_by(MOST as usize * PAGE) {
            self.let_go(at, (end - at).min(MOST as usize * PAGE), u64::MAX);
        }
    }

    /// Start and end of the pages that a range lies in, if all of them are far memory.
    fn pinnable(&self, addr: usize, size: usize) -> Option<(usize, usize)> {
        let last = addr.checked_add(size.max(1) - 1)?;
        let whole = self.contains(addr) && self.contains(last);
        whole.then(|| (addr / PAGE * PAGE, (last / PAGE + 1) * PAGE))
    }

    fn keep_page(&self, w: &mut Worker, page: u64) -> Result<bool, FarError> {
        while !self.table.pin(page) {
            match self.table.load(page).state() {
                State::Foreign => return Ok(false),
                State::Untouched if self.held_by_program(page, 1, false) == 0 => return Ok(false),
                State::Busy | State::Leaving => {
                    self.fault(w, self.address(page), false)?;
                    // Somebody else's transition has to end.
                    self.space.rest(0);
                }
                _ => self.fault(w, self.address(page), false)?,
            }
        }
        Ok(true)
    }

    /// Ends what [`hold`](Self::hold) began, with what it returned.
    pub fn let_go(&self, addr: usize, len: usize, kept: u64) {
        for (bit, page) in self.pages_kept(addr, len).enumerate() {
            if kept >> bit & 1 == 1 {
                self.table.unpin(page);
            }
        }
    }

    fn pages_kept(&self, addr: usize, len: usize) -> std::ops::Range<u64> {
        let end = self.base + self.len();
        let (from, to) =
            (addr.clamp(self.base, end), addr.saturating_add(len).clamp(self.base, end));
        let first = self.page_of(from);
        first..self.page_of(to.next_multiple_of(PAGE)).min(first + MOST).max(first)
    }
}
