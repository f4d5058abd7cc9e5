//! Hints: what the program is about to use.

use std::ffi::{c_long, c_uint, c_void};

use crate::view::view;

const WRITE: c_uint = 1;
const FLAG_BITS: u32 = 8;

/// What a program is about to use, and how.
///
/// ```
/// # let mut counts = vec![0u32; 5000];
/// use farside_hints::Hint;
///
/// Hint::of(&counts[7]).written().give();
/// counts[7] += 1;
/// ```
#[derive(Copy, Clone, Debug)]
#[must_use = "a hint has to be given"]
pub struct Hint {
    pub(crate) address: usize,
    pub(crate) size: usize,
    write: bool,
    ahead: isize,
    priority: u8,
}

impl Hint {
    /// All bytes of a value.
    #[inline]
    pub fn of<T: ?Sized>(what: &T) -> Self {
        Self::at(std::ptr::from_ref(what).cast::<u8>(), size_of_val(what))
    }

    /// So many bytes from a place on, which need not be valid: it is not looked at.
    #[inline]
    pub fn at<T>(place: *const T, bytes: usize) -> Self {
        Self { address: place as usize, size: bytes, write: false, ahead: 0, priority: 0 }
    }

    /// They will be written: pages come writable, and no fault follows at the first write.
    #[inline]
    pub fn written(self) -> Self {
        Self { write: true, ..self }
    }

    /// So many pages behind will be used next; if negative, before.
    #[inline]
    pub fn ahead(self, pages: isize) -> Self {
        Self { ahead: pages, ..self }
    }

    /// What comes is evicted before what came with lower priorities, from 0 to 7; for policies that know priorities, as
    /// `--replacement priority`.
    #[inline]
    pub fn priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// Fetches what is missing.
    #[inline]
    pub fn give(self) {
        if !self.is_served() {
            self.fetch();
        }
    }

    /// It will not be used again soon: the pages that lie in it as a whole leave before others.
    pub fn done(self) {
        if view().contains(self.address)
            && let Some(done) = view().done
        {
            done(self.place(), self.size);
        }
    }

    #[inline]
    pub(crate) fn is_served(self) -> bool {
        view().is_served(self.address, self.size, self.write)
    }

    #[cold]
    fn fetch(self) {
        if let Some(hint) = view().hint {
            hint(self.place(), self.size, self.ahead as c_long, self.flags());
        }
    }

    /// Sends for what is missing, without waiting for it; whether there is something to wait for.
    pub(crate) fn start(self) -> bool {
        !self.is_served()
            && view().start.is_some_and(|start| {
                start(self.place(), self.size, self.ahead as c_long, self.flags()) != 0
            })
    }

    /// Whether what was sent for is here.
    pub(crate) fn has_arrived(self) -> bool {
        self.is_served()
            || view().arrived.is_none_or(|arrived| arrived(self.place(), self.size) != 0)
    }

    pub(crate) fn place(self) -> *const c_void {
        self.address as *const c_void
    }

    fn flags(self) -> c_uint {
        let write = if self.write { WRITE } else { 0 };
        write | c_uint::from(self.priority) << FLAG_BITS
    }
}

/// The program is about to use a value: `Hint::of(what).give()`.
#[inline]
pub fn hint<T: ?Sized>(what: &T) {
    Hint::of(what).give();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_farside_everything_is_here() {
        let values = vec![7u64; 5000];
        let all = Hint::of(&values[..]);
        assert_eq!(
            (all.size, all.is_served(), all.start(), all.has_arrived()),
            (40_000, true, false, true)
        );
        all.written().ahead(-9).priority(7).give();
        all.done();
        for bytes in [0, 1, usize::MAX] {
            Hint::at(std::ptr::null::<u8>(), bytes).give();
            Hint::at(usize::MAX as *const u8, bytes).written().give();
        }
    }

    #[test]
    fn flags_are_those_of_the_header() {
        assert_eq!(hint_of(0).written().priority(3).flags(), 0x301);
        assert_eq!(hint_of(0).flags(), 0);
    }

    fn hint_of(value: u8) -> Hint {
        Hint::of(&value)
    }
}
