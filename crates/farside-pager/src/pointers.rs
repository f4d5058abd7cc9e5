//! Following pointers: what the page that comes points to is sent for before the program follows it (CHERI-picking).
//!
//! Which pointers are followed is decided in [`farside_policy::prefetch::Pointer`]. Here it is told where the program
//! comes in and shown what lies there; pages it names are sent for one by one, and shown to it when they arrive, so that
//! it goes on from them while the program is still on its way.

use std::sync::{Mutex, MutexGuard};

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_policy::prefetch::{
    FaultKind, Fetch, Fetches, Following, Memory, Place, Pointer, Walk,
};
use farside_policy::replacement::Assigned;
use farside_trace::PageId;
use farside_wire::fault_log::Deed;

use crate::counters::Counters;
use crate::flight::Flight;
use crate::frames::words_at;
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;
use crate::table::BLOCK_PROTECTED;
use crate::word::{State, Word};

/// Pages that are brought in, one after the other, before a program that waits goes on.
const HOPS: u64 = 16;

/// What the prefetcher sees of memory: pages that are here, and those that have just arrived.
struct View<'a> {
    pager: &'a Pager,
    /// The first page that has arrived, and the content of it and those behind it.
    arrived: (u64, &'a [u8]),
    /// No page leaves meanwhile.
    _policy: MutexGuard<'a, Assigned>,
    /// What can be read stays so.
    _protection: MutexGuard<'a, ()>,
}

impl View<'_> {
    fn arrived(&self, page: u64) -> Option<&[u8]> {
        let at = page.checked_sub(self.arrived.0)? as usize * PAGE;
        self.arrived.1.get(at..at + PAGE)
    }

    /// Where the content of a page lies that is here, if it can be read.
    fn address(&self, page: u64) -> Option<usize> {
        let pager = self.pager;
        let word = pager.table.load(page);
        match word.state() {
            State::Resident if !pager.table.any_block(page, page + 1, BLOCK_PROTECTED) => {
                Some(pager.address(page))
            }
            State::Watched => Some(pager.area.address(word.position())),
            _ => None,
        }
    }
}

impl Memory for View<'_> {
    fn place(&self, page: u64) -> Place {
        let address = (page as usize).wrapping_mul(PAGE);
        if !self.pager.contains(address) {
            return Place::Elsewhere;
        }
        let page = self.pager.page_of(address);
        let word = self.pager.table.load(page);
        match word.state() {
            State::Far => Place::Far,
            State::Watched if word.prefetched() => Place::Unused,
            State::Resident | State::Watched => Place::Here,
            _ if self.arrived(page).is_some() => Place::Here,
            _ => Place::Elsewhere,
        }
    }

    fn array_page(&self, age: usize) -> Option<u64> {
        let page = self.pager.array_pages.get(age)?;
        Some((self.pager.address(page) / PAGE) as u64)
    }

    fn read(&mut self, address: u64, into: &mut [u64]) -> bool {
        let address = address as usize;
        if !self.pager.contains(address) {
            return false;
        }
        let (page, offset) = (self.pager.page_of(address), address % PAGE);
        if let Some(bytes) = self.arrived(page) {
            let words = bytes[offset..].chunks_exact(size_of::<u64>());
            for (word, bytes) in into.iter_mut().zip(words) {
                *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
            }
            return true;
        }
        let Some(content) = self.address(page) else { return false };
        // SAFETY: the page is mapped, or its frame lies in the frame area, and stays so while the policy is locked; the
        // program cannot take away the right to read it meanwhile.
        unsafe { words_at(content + offset, into) };
        true
    }
}

impl Pager {
    /// Takes note of those of the pages that come, from `first` on, that are full of pointers.
    pub(crate) fn note_array_pages(&self, first: u64, bytes: &[u8]) {
        if self.pointers.is_some() && !self.follows_tape() {
            self.array_pages.note(first, bytes, &(self.base..self.base + self.len()));
        }
    }

    /// Counts what the prefetcher did.
    fn note_pointers(&self, pointers: &mut Pointer) {
        let did = pointers.take_counts();
        for (counter, n) in [
            (&self.counters.pointer_scanned, did.scanned),
            (&self.counters.pointer_candidates, did.candidates),
            (&self.counters.pointer_used, did.used),
            (&self.counters.pointer_late, did.late),
            (&self.counters.pointer_unused, did.unused),
        ] {
            if n > 0 {
                Counters::add(counter, n);
            }
        }
        self.log_pointers(pointers);
    }

    fn lock_pointers(&self) -> Option<MutexGuard<'_, Pointer>> {
        self.pointers.as_ref().map(|pointers| self.lock(pointers))
    }

    /// What is to be done about the pointers in a page.
    fn following(&self, page: u64) -> Following {
        self.lock_prefetcher().pointers(PageId(page))
    }

    /// The program came by a fault to where the worker's fault was. Sends for what may be sent for now; returns what the
    /// page is to be looked at with when it is here.
    pub(crate) fn came(&self, w: &mut Worker, kind: FaultKind) -> Result<Option<Walk>, FarError> {
        let Some(entry) = w.entry else { return Ok(None) };
        if self.pointers.is_none()
            || self.follows_tape()
            || self.is_recorded()
            || self.following(self.page_of(entry as usize)) == Following::Off
        {
            return Ok(None);
        }
        let Some(mut pointers) = self.lock_pointers() else { return Ok(None) };
        let (walk, parked) = pointers.fault(entry, kind);
        w.chain = walk.chain();
        drop(pointers);
        if let Some(fetch) = parked {
            self.send_for_pointer(w, fetch)?;
        }
        Ok(Some(walk))
    }

    /// The program came to a page that is here now, or that has arrived with others from a page on; sends for what it
    /// points to. Says whether anything was sent for.
    pub(crate) fn enter_page(
        &self,
        w: &mut Worker,
        walk: Walk,
        arrived: (u64, &[u8]),
    ) -> Result<bool, FarError> {
        let fetches = self.look_entered(walk, arrived);
        self.send_for_all(w, &fetches)
    }

    pub(crate) fn look_entered(&self, walk: Walk, arrived: (u64, &[u8])) -> Fetches {
        self.look(arrived, |pointers, view, fetches| pointers.enter(view, walk, fetches))
    }

    /// The program came by a fault to a page that is here now.
    pub(crate) fn enter_resident(&self, w: &mut Worker, kind: FaultKind) -> Outcome {
        if let Some(walk) = self.came(w, kind)?
            && self.enter_page(w, walk, (0, &[]))?
        {
            self.go_ahead(w)?;
        }
        Ok(())
    }

    /// The program waits for a page whose content has arrived in [`Worker::held`]: sends for what it points to, and goes
    /// on from there for a while.
    pub(crate) fn follow_from(&self, w: &mut Worker, walk: Walk, page: u64) -> Outcome {
        let fetches = self.look_entered(walk, (page, &*w.held));
        if self.send_for_all(w, &fetches)? {
            self.go_ahead(w)?;
        }
        Ok(())
    }

    /// Looks at a page that was sent for because of a pointer, and that has arrived.
    pub(crate) fn look_at(&self, walk: Walk, arrived: (u64, &[u8])) -> Fetches {
        self.look(arrived, |pointers, view, fetches| pointers.arrived(view, walk, fetches))
    }

    fn look(
        &self,
        arrived: (u64, &[u8]),
        look: impl FnOnce(&mut Pointer, &mut dyn Memory, &mut Fetches),
    ) -> Fetches {
        let mut fetches = Fetches::default();
        if let Some(mut pointers) = self.lock_pointers() {
            let policy = self.lock_policy();
            let protection = self.lock_protection();
            let mut view = View { pager: self, arrived, _policy: policy, _protection: protection };
            look(&mut pointers, &mut view, &mut fetches);
            drop(view);
            self.note_pointers(&mut pointers);
        }
        fetches
    }

    /// A page that had been sent for left unused.
    pub(crate) fn pointer_unused(&self, page: u64) {
        if let Some(mut pointers) = self.lock_pointers() {
            pointers.unused((self.address(page) / PAGE) as u64);
            self.note_pointers(&mut pointers);
        }
    }

    pub(crate) fn send_for_all(&self, w: &mut Worker, fetches: &Fetches) -> Result<bool, FarError> {
        for page in fetches.passed() {
            let page = self.page_of(page as usize * PAGE);
            self.lock_prefetcher().foreseen_by_pointer(PageId(page), false);
        }
        let mut sent = false;
        for fetch in fetches.iter() {
            sent |= self.send_for_pointer(w, fetch)?;
        }
        Ok(sent)
    }

    /// Sends for one page, if that is worth it and there is room; says whether it did.
    fn send_for_pointer(&self, w: &mut Worker, fetch: Fetch) -> Result<bool, FarError> {
        let page = self.page_of(fetch.walk.entry as usize);
        let sent = self.following(page) == Following::On && self.start_walk(w, page, fetch)?;
        self.lock_prefetcher().foreseen_by_pointer(PageId(page), sent);
        if !sent && let Some(mut pointers) = self.lock_pointers() {
            pointers.not_sent(&fetch);
        }
        Ok(sent)
    }

    /// Sends for one page, if there is room; says whether it did.
    fn start_walk(&self, w: &mut Worker, page: u64, fetch: Fetch) -> Result<bool, FarError> {
        if w.credit > 0 {
            w.credit -= 1;
        } else if self.acquire(w, 1, 0)? == 0 {
            return Ok(false);
        }
        if self.claim_far(page, 1, Word::new(State::Busy).with_flight()) == 0 {
            self.budget.give(1);
            return Ok(false);
        }
        let ticket = match self.store.begin_read(page, 1) {
            Ok(ticket) => ticket,
            Err(error) => return self.restore_far(page, 1, error).map(|()| false),
        };
        let keep = Some(u64::from(fetch.watch || self.exact_prefetch_count));
        let (walk, purpose) = (Some(fetch.walk), Purpose::NONE);
        let held = Some(self.space.now_ns());
        self.flights.add(Flight { ticket, frames: None, keep, purpose, held, walk });
        Counters::add(&self.counters.pointer_pages, 1);
        self.log_deed(Deed::Fetched, fetch.walk.entry / PAGE as u64, fetch.walk.chain());
        Ok(true)
    }

    /// Goes on for a program that waits: completes what was sent for because of pointers, and what that leads to, a few
    /// pages one after the other.
    ///
    /// A program that waits here would wait for the next pages, too, and pay for a fault at each.
    pub(crate) fn go_ahead(&self, w: &mut Worker) -> Outcome {
        // Now, while the first is on its way, there is time to make room.
        w.credit = self.acquire(w, HOPS, 0)?;
        let outcome = (0..HOPS).try_for_each(|_| match self.flights.take_walking() {
            Some(flight) => self.complete(w, flight),
            None => Ok(()),
        });
        self.budget.give(std::mem::take(&mut w.credit));
        outcome
    }
}

/// The prefetcher of a process.
pub(crate) type Pointers = Option<Mutex<Pointer>>;
