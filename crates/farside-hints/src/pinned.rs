//! What stays here.

use std::marker::PhantomData;

use crate::hint::Hint;
use crate::view::view;

/// Keeps a value here as long as it lives.
#[derive(Debug)]
pub struct Pinned<'a> {
    hint: Hint,
    value: PhantomData<&'a ()>,
}

/// More than half of the local memory would be pinned.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl std::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "more than half of the local memory would be pinned; pin less, or raise --local",
        )
    }
}

impl std::error::Error for NoRoom {}

impl<'a> Pinned<'a> {
    /// Brings all pages of a value here, to stay.
    ///
    /// # Errors
    /// [`NoRoom`]; then nothing is done.
    pub fn new<T: ?Sized>(value: &'a T) -> Result<Self, NoRoom> {
        let hint = Hint::of(value);
        let pinned = match view().pin {
            Some(pin) if view().contains(hint.address) => pin(hint.place(), hint.size) == 0,
            _ => true,
        };
        pinned.then_some(Self { hint, value: PhantomData }).ok_or(NoRoom)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        if let Some(unpin) = view().unpin
            && view().contains(self.hint.address)
        {
            unpin(self.hint.place(), self.hint.size);
        }
    }
}
