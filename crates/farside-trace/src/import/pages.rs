//! Accesses by address become accesses by page.

use super::Touch;
use crate::{Access, PageId};

/// Largest access that can be real; no instruction moves as much.
const MAX_SIZE: u64 = 1 << 20;

/// The pages that one touch falls into and that are still to be given out.
#[derive(Default)]
pub(super) struct Span {
    access: Option<Access>,
    last: u64,
}

impl Span {
    /// The pages of `touch`, each of which counts as accessed.
    ///
    /// # Errors
    /// Why there can be no such access.
    pub fn new(touch: &Touch, page_shift: u32) -> Result<Self, &'static str> {
        if touch.size > MAX_SIZE {
            return Err("an access of more than 1 MiB");
        }
        let end = touch.address.checked_add(touch.size.max(1) - 1);
        let end = end.ok_or("an access beyond the end of the address space")?;
        let &Touch { write, thread, weight, .. } = touch;
        let page = PageId(touch.address >> page_shift);
        Ok(Self { access: Some(Access { page, write, thread, weight }), last: end >> page_shift })
    }

    pub fn next(&mut self) -> Option<Access> {
        let access = self.access?;
        let page = access.page.0;
        self.access =
            (page < self.last).then(|| Access { page: PageId(page.wrapping_add(1)), ..access });
        Some(access)
    }
}

/// Makes one record of consecutive accesses of one thread to one page.
#[derive(Default)]
pub(super) struct Merger {
    pending: Option<Access>,
}

impl Merger {
    /// Takes the next access; the record before it, if that is complete now.
    pub fn push(&mut self, access: Access) -> Option<Access> {
        if let Some(pending) = &mut self.pending
            && (pending.page, pending.thread) == (access.page, access.thread)
            && let Some(weight) = pending.weight.checked_add(access.weight)
        {
            pending.weight = weight;
            pending.write |= access.write;
            return None;
        }
        self.pending.replace(access)
    }

    /// The last record.
    pub fn take(&mut self) -> Option<Access> {
        self.pending.take()
    }
}
