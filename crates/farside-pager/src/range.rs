//! What the program does to its address space: taking, giving back, discarding, protecting, moving.

use farside_os::memory::{self, PAGE};
use farside_policy::batches::BATCH;
use farside_policy::replacement::{Arrival, ReplacementPolicy};
use farside_trace::{PageId, PageRange};

use crate::advice::Said;
use crate::frames::Run;
use crate::pager::Pager;
use crate::table::{BLOCK_PROTECTED, BLOCK_TOUCHED};
use crate::word::{State, Word};

const REGION: &str = "the far region";

/// How long a program thread sleeps until it looks again at a page in transition. It must sleep: the
/// thread that ends the transition may need this processor.
const RETRY_NS: u64 = 20_000;

impl Pager {
    /// Hands out `len` bytes (a multiple of the page size) of zeroed far memory at a multiple of
    /// `align` bytes.
    pub fn reserve(&self, len: usize, align: usize) -> Option<usize> {
        let align = (align / PAGE).max(1) as u64;
        let page = self.lock_ranges().take((len / PAGE) as u64, align)?;
        let end = page + (len / PAGE) as u64;
        self.unprotect(page, end);
        self.add_reserved(len as i64);
        self.rename(|names, site, tell| names.appear(page, end, site, tell));
        Some(self.address(page))
    }

    /// Hands out the `new_len - old_len` bytes behind a range that the caller holds, if they are free.
    pub fn extend(&self, addr: usize, old_len: usize, new_len: usize) -> bool {
        let (page, more) = (self.page_of(addr + old_len), (new_len - old_len) / PAGE);
        if !self.contains(addr + new_len - 1) {
            return false;
        }
        let taken = self.lock_ranges().take_at(page, more as u64);
        if taken {
            self.unprotect(page, page + more as u64);
            self.add_reserved((new_len - old_len) as i64);
            self.rename(|names, _, tell| names.grow(page, page + more as u64, tell));
        }
        taken
    }

    /// Hands out exactly this range, if all of it is free.
    pub fn claim(&self, addr: usize, len: usize) -> bool {
        let taken = self.lock_ranges().take_at(self.page_of(addr), (len / PAGE) as u64);
        if taken {
            let (first, end) = self.span(addr, len);
            self.unprotect(first, end);
            self.add_reserved(len as i64);
            self.rename(|names, site, tell| names.appear(first, end, site, tell));
        }
        taken
    }

    fn add_reserved(&self, change: i64) {
        use std::sync::atomic::Ordering::Relaxed;
        self.counters.reserved_bytes.fetch_add(change as u64, Relaxed);
    }

    /// Takes back a range: its content is gone, and the address space is free again.
    pub fn release(&self, addr: usize, len: usize) {
        self.discard(addr, len);
        let (first, end) = self.span(addr, len);
        self.lock_policy().end_region(PageRange::new(PageId(first), end - first));
        self.rename(|names, _, tell| names.vanish(first, end, tell));
        // Whoever uses memory after giving it back must learn of it, as from the kernel.
        self.table.mark_blocks(first, end, BLOCK_PROTECTED);
        {
            let _changing = self.lock_protection();
            // A range that stays accessible is only less strict than it should be.
            let _ = self.space.protect(addr, len, libc::PROT_NONE);
        }
        self.lock_ranges().give(first, end - first);
        self.add_reserved(-(len as i64));
    }

    /// Makes pages readable and writable, whatever the program made of them.
    fn unprotect(&self, first: u64, end: u64) {
        if self.table.any_block(first, end, BLOCK_PROTECTED) {
            let all = libc::PROT_READ | libc::PROT_WRITE;
            let _changing = self.lock_protection();
            // A range that stays protected would fail its next user loudly, which beats failing now.
            let _ = self.space.protect(self.address(first), (end - first) as usize * PAGE, all);
            self.table.clear_whole_blocks(first, end, BLOCK_PROTECTED);
        }
    }

    fn span(&self, addr: usize, len: usize) -> (u64, u64) {
        let first = self.page_of(addr);
        (first, (first + (len / PAGE) as u64).min(self.table.pages()))
    }

    pub(crate) fn lock_protection(&self) -> std::sync::MutexGuard<'_, ()> {
        self.lock(&self.protection)
    }

    /// Forgets the content of a range; it reads as zeros afterwards.
    pub fn discard(&self, addr: usize, len: usize) {
        let (first, end) = self.span(addr, len);
        let inside = self.enter();
        self.forget_pages(first, end);
        drop(inside);
        self.rename(|names, _, tell| names.forget(first, end, tell));
    }

    /// Forgets the content of the pages from `first` to before `end`; the caller is inside.
    fn forget_pages(&self, first: u64, end: u64) {
        let mut forgotten = 0;
        for (start, stop) in self.table.touched_stretches(first, end) {
            // Something may be said of pages beside touched ones, too.
            (start..stop).for_each(|page| self.tagged.forget(page));
            self.track_forgotten(start, stop);
            let mut at = start;
            while at < stop {
                at = self.discard_some(at, stop, &mut forgotten);
            }
        }
        self.add_touched(-forgotten);
    }

    /// Discards pages from `at` on until one is in transition or a batch is full; returns where to go
    /// on.
    fn discard_some(&self, at: u64, end: u64, forgotten: &mut i64) -> u64 {
        let busy = Word::new(State::Busy);
        let mut held = Discarded::default();
        let mut page = at;
        let mut wait = false;
        {
            let mut policy = self.lock_policy();
            while page < end && page - at < BATCH as u64 {
                let word = self.table.load(page);
                match word.state() {
                    State::Untouched | State::Foreign => {}
                    State::Busy | State::Leaving => {
                        wait = true;
                        break;
                    }
                    _ => {
                        let Some(word) = self.table.claim(page, word, busy) else { continue };
                        if matches!(word.state(), State::Resident | State::Watched) {
                            policy.remove(word.slot());
                        }
                        held.add(page, word);
                    }
                }
                page += 1;
            }
        }
        *forgotten += held.pages.len() as i64;
        self.forget_held(&mut held);
        if wait {
            self.wait_out(page);
        }
        page
    }

    /// Drops what discarded pages hold here and in the far store, and ends their transition.
    fn forget_held(&self, held: &mut Discarded) {
        let ranges: Vec<(usize, usize)> = held
            .mapped
            .iter()
            .map(|(first, count)| (self.address(*first), *count as usize * PAGE))
            .collect();
        // A failure means that the range is not mapped any more, and its frames are gone.
        let _ = self.space.drop_pages(&ranges);
        self.budget.give(held.mapped.iter().map(|(_, count)| count).sum());
        self.release_frames(&mut held.positions);
        for (first, count) in &held.stored {
            // What the store cannot discard is discarded with the process.
            let _ = self.store.discard(*first, *count);
        }
        for page in &held.pages {
            self.publish_absent(*page, Word::new(State::Untouched));
        }
    }

    /// Waits until the transition of `page` may have ended; flights are dropped instead.
    fn wait_out(&self, page: u64) {
        if let Some(flight) = self.flights.take_with(page) {
            let first = flight.ticket.first;
            for page in first..first + u64::from(flight.ticket.count) {
                self.publish_absent(page, Word::new(State::Far).with_stored());
            }
            match flight.frames {
                Some(run) => self.area.add_spare(run),
                None => self.budget.give(u64::from(flight.ticket.count)),
            }
            return;
        }
        if !self.wait_moved(page) {
            self.space.rest(RETRY_NS);
        }
    }

    /// Changes the protection of a range, as `mprotect` does; fails with its errno.
    pub fn protect(&self, addr: usize, len: usize, prot: i32) -> Result<(), i32> {
        let (first, end) = self.span(addr, len);
        if prot != libc::PROT_READ | libc::PROT_WRITE {
            self.table.mark_blocks(first, end, BLOCK_PROTECTED);
        }
        let _changing = self.lock_protection();
        self.space.protect(addr, len, prot).map_err(|error| error.errno)
    }

    /// Moves the content of a range to another, without fetching any of it; what the other held is
    /// forgotten. Afterwards both are readable and writable, however they were protected.
    pub fn relocate(&self, from: usize, to: usize, len: usize) -> Result<(), i32> {
        let _inside = self.enter();
        let (first, end) = self.span(from, len);
        let target = self.page_of(to);
        self.forget_pages(target, target + (end - first));
        // Frames move only between writable ranges.
        self.unprotect(first, end);
        self.unprotect(target, target + (end - first));
        for (start, stop) in self.table.touched_stretches(first, end) {
            let mut page = start;
            while page < stop {
                let to = target + (page - first);
                match self.relocate_page(page, to) {
                    Relocated::Done => page += 1,
                    Relocated::Busy(page) => self.wait_out(page),
                    Relocated::Foreign => return Err(libc::EFAULT),
                    // A first touch nearby may have populated the page, though nobody used it yet.
                    Relocated::Occupied => self.forget_pages(to, to + 1),
                }
            }
        }
        Ok(())
    }

    /// Moves one page.
    fn relocate_page(&self, from: u64, to: u64) -> Relocated {
        let busy = Word::new(State::Busy);
        let mut policy = self.lock_policy();
        let word = self.table.load(from);
        match word.state() {
            State::Untouched | State::Foreign => return Relocated::Done,
            State::Busy | State::Leaving => return Relocated::Busy(from),
            _ => {}
        }
        let there = self.table.load(to);
        match there.state() {
            State::Busy | State::Leaving => return Relocated::Busy(to),
            State::Foreign => return Relocated::Foreign,
            _ => {}
        }
        if there.state() != State::Untouched || !self.table.exchange(to, there, busy) {
            return Relocated::Occupied;
        }
        let Some(word) = self.table.claim(from, word, busy) else {
            self.publish_absent(to, Word::new(State::Untouched));
            return Relocated::Busy(from);
        };
        self.table.mark_blocks(to, to + 1, BLOCK_TOUCHED);
        let mut new = word;
        if matches!(word.state(), State::Resident | State::Watched) {
            policy.remove(word.slot());
            new = new.with_slot(policy.insert(PageId(to), Arrival::Demand));
        }
        if word.state() == State::Resident {
            self.map_frames(to, self.address(from), 1);
            new = new.with_writable();
        }
        if self.store.rename(from, to, 1).is_err() {
            new = new.without_stored().with_writable();
        }
        self.table.set_tag(to, self.table.tag(from));
        self.tagged.follow(from, to);
        drop(policy);
        self.publish_absent(to, new);
        self.publish_absent(from, Word::new(State::Untouched));
        Relocated::Done
    }

    /// Takes a range out of management, because the program maps something else over it.
    pub fn make_foreign(&self, addr: usize, len: usize) {
        self.discard(addr, len);
        let (first, end) = self.span(addr, len);
        self.table.mark_blocks(first, end, BLOCK_TOUCHED | BLOCK_PROTECTED);
        for page in first..end {
            let untouched = Word::new(State::Untouched);
            while !self.table.exchange(page, untouched, Word::new(State::Foreign)) {
                if self.table.load(page).state() == State::Foreign {
                    break;
                }
                self.discard(self.address(page), PAGE);
            }
        }
    }

    /// Makes a foreign range managed again: fresh, zeroed, read-write.
    pub fn adopt(&self, addr: usize, len: usize) -> Result<(), i32> {
        let all = libc::PROT_READ | libc::PROT_WRITE;
        memory::remap_fresh(addr, len, all, REGION).map_err(|error| error.errno)?;
        self.space.manage(addr, len).map_err(|error| error.errno)?;
        let (first, end) = self.span(addr, len);
        for page in first..end {
            let foreign = Word::new(State::Foreign);
            self.table.exchange(page, foreign, Word::new(State::Untouched));
        }
        Ok(())
    }

    /// The program will soon need this range: what of it is far is fetched in the background.
    pub fn will_need(&self, addr: usize, len: usize) {
        let (first, end) = self.span(addr, len);
        self.advise(first, end, Said::Needed);
    }

    /// The program will not soon need this range: it is evicted in the background.
    pub fn cold(&self, addr: usize, len: usize) {
        let (first, end) = self.span(addr, len);
        self.advise(first, end, Said::Cold);
    }

    /// Whether any page of the range is foreign.
    pub fn has_foreign(&self, addr: usize, len: usize) -> bool {
        let (first, end) = self.span(addr, len);
        self.table.touched_stretches(first, end).any(|(start, stop)| {
            (start..stop).any(|page| self.table.load(page).state() == State::Foreign)
        })
    }
}

/// What came of moving a page.
enum Relocated {
    /// There is nothing left to move.
    Done,
    /// This page is in transition.
    Busy(u64),
    /// The target holds something, or did a moment ago.
    Occupied,
    /// The target is not managed.
    Foreign,
}

/// Pages being discarded, and what they hold.
#[derive(Default)]
struct Discarded {
    pages: Vec<u64>,
    /// Runs that are mapped.
    mapped: Vec<(u64, u64)>,
    /// Positions of frames in the frame area.
    positions: Vec<Run>,
    /// Runs that the far store holds.
    stored: Vec<(u64, u64)>,
}

impl Discarded {
    fn add(&mut self, page: u64, word: Word) {
        self.pages.push(page);
        match word.state() {
            State::Resident => push_page(&mut self.mapped, page),
            State::Watched => self.positions.push(Run { start: word.position(), count: 1 }),
            _ => {}
        }
        if word.stored() {
            push_page(&mut self.stored, page);
        }
    }
}

fn push_page(list: &mut Vec<(u64, u64)>, page: u64) {
    if let Some((first, count)) = list.last_mut()
        && *first + *count == page
    {
        *count += 1;
        return;
    }
    list.push((page, 1));
}
