//! Pages that are to leave, or to come, unless it turns out before that they are not.

use std::collections::VecDeque;

use farside_trace::PageId;
use rustc_hash::FxHashSet;

/// Pages that are to leave, or to come, in this order.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    order: VecDeque<PageId>,
    pages: FxHashSet<PageId>,
}

impl Leaving {
    /// The page is to leave, after those that are to leave already.
    pub fn push(&mut self, page: PageId) {
        if self.pages.insert(page) {
            self.order.push_back(page);
        }
    }

    /// The page stays; whether it was to leave.
    pub fn cancel(&mut self, page: PageId) -> bool {
        self.pages.remove(&page)
    }

    /// The next one.
    pub fn pop(&mut self) -> Option<PageId> {
        while let Some(page) = self.order.pop_front() {
            if self.pages.remove(&page) {
                return Some(page);
            }
        }
        None
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// All stay.
    pub fn clear(&mut self) {
        self.order.clear();
        self.pages.clear();
    }
}
