//! Going through memory from page to page.

use crate::hint::Hint;

const PAGE: usize = 4096;

/// One pass over memory, from one page to the next: as long as it stays in a page, a hint is a comparison.
///
/// ```
/// # let values = vec![1u64; 10_000];
/// let mut sweep = farside_hints::Sweep::ahead(32);
/// let mut sum = 0;
/// for value in &values {
///     sweep.hint(value);
///     sum += value;
/// }
/// # assert_eq!(sum, 10_000);
/// ```
#[derive(Clone, Debug)]
pub struct Sweep {
    ahead: isize,
    write: bool,
    page: usize,
}

impl Sweep {
    /// So many pages are read ahead; if negative, backwards.
    pub fn ahead(pages: isize) -> Self {
        Self { ahead: pages, write: false, page: 0 }
    }

    /// What it comes to will be written.
    #[must_use]
    pub fn written(self) -> Self {
        Self { write: true, ..self }
    }

    /// The program is about to use this value, which lies in one page.
    #[inline]
    pub fn hint<T>(&mut self, what: &T) {
        let place = std::ptr::from_ref(what);
        let page = place as usize / PAGE;
        if page != self.page {
            self.page = page;
            let hint = Hint::at(place, 1).ahead(self.ahead);
            if self.write { hint.written().give() } else { hint.give() }
        }
    }
}
