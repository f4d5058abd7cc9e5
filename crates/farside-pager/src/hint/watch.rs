//! What comes of hints, counted by the place in the program that gives them.

use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

use farside_os::memory::{PAGE, reserve};
use farside_os::{OsError, Result};
use farside_wire::hint_board::{Count, HintBoard, PlaceNumber};

use crate::pager::Pager;
use crate::word::State;

/// Counts of hints, and which of them had each page read ahead.
pub struct HintWatch {
    board: HintBoard,
    /// Address of a number for each page; 0 if nobody had it read ahead.
    owners: usize,
    pages: u64,
}

impl HintWatch {
    /// Counts on `board`, for a region of so many pages.
    ///
    /// # Errors
    /// If there is no room for a number for each page.
    pub fn new(board: HintBoard, pages: u64) -> Result<Self> {
        let bytes = usize::try_from(pages).ok().and_then(|pages| pages.checked_mul(2));
        let too_many = OsError { call: "mmap", subject: "owners of pages", errno: libc::ENOMEM };
        let bytes = bytes.ok_or(too_many)?;
        Ok(Self { board, owners: reserve(bytes, PAGE, "owners of pages")?, pages })
    }

    fn owner(&self, page: u64) -> Option<&AtomicU16> {
        // SAFETY: reserved for so many pages, never unmapped, and valid for any content.
        (page < self.pages)
            .then(|| unsafe { &*(self.owners as *const AtomicU16).add(page as usize) })
    }
}

impl Pager {
    /// The number of the place that gives a hint; 0 if hints are not watched.
    pub(crate) fn hint_place(&self, address: usize) -> PlaceNumber {
        self.hint_watch.as_ref().map_or(0, |watch| watch.board.place(address as u64))
    }

    /// Counts what came of a hint.
    pub(crate) fn count_hint(&self, place: PlaceNumber, count: Count, by: u64) {
        if let Some(watch) = &self.hint_watch
            && by > 0
        {
            watch.board.add(place, count, by);
        }
    }

    /// Counts a hint that found something missing, if one of the pages is nowhere here: neither unmapped to see whether it
    /// is used, nor about to leave.
    pub(crate) fn count_missing(&self, place: PlaceNumber, pages: &Range<u64>) {
        if self.hint_watch.is_none() {
            return;
        }
        let is_missing = |page: u64| {
            let word = self.table.load(page);
            match word.state() {
                State::Untouched | State::Zero | State::Far => true,
                State::Busy => word.in_flight(),
                State::Resident | State::Watched | State::Leaving | State::Foreign => false,
            }
        };
        self.count_hint(place, Count::Missing, pages.clone().any(is_missing).into());
    }

    /// Pages were read ahead because of a hint, or, if `place` is 0, for other reasons.
    pub(crate) fn own_ahead(&self, place: PlaceNumber, pages: impl Iterator<Item = u64>) {
        let Some(watch) = &self.hint_watch else { return };
        for page in pages {
            if let Some(owner) = watch.owner(page) {
                owner.store(place, Ordering::Relaxed);
                watch.board.add(place, Count::Ahead, 1);
            }
        }
    }

    /// A page that was read ahead was used, or left unused.
    pub(crate) fn ahead_ended(&self, page: u64, count: Count) {
        let Some(watch) = &self.hint_watch else { return };
        if let Some(owner) = watch.owner(page) {
            watch.board.add(owner.swap(0, Ordering::Relaxed), count, 1);
        }
    }
}
