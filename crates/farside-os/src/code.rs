//! Machine code that came as bytes: memory that it can be run in.

use crate::memory::{self, PAGE};
use crate::{OsError, Result};

const SUBJECT: &str = "memory for code";

/// Memory at a place that is known before what is in it.
#[derive(Debug)]
pub struct Code {
    base: usize,
    len: usize,
}

impl Code {
    /// Reserves `len` bytes.
    ///
    /// # Errors
    /// If there is no room.
    pub fn reserve(len: usize) -> Result<Self> {
        let len = len.max(1).next_multiple_of(PAGE);
        Ok(Self { base: memory::reserve(len, PAGE, SUBJECT)?, len })
    }

    /// Address of the first byte.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Fills it. The first `text` bytes, whole pages, can be run from then on, and no more be written; the rest is data.
    ///
    /// # Errors
    /// `EINVAL` if the parts do not fit, and what the kernel refuses.
    pub fn fill(&mut self, content: &[u8], text: usize) -> Result<()> {
        if content.len() > self.len || text > self.len || !text.is_multiple_of(PAGE) {
            return Err(OsError { call: "fill", subject: SUBJECT, errno: libc::EINVAL });
        }
        // SAFETY: the mapping is ours, writable and long enough.
        unsafe { (self.base as *mut u8).copy_from_nonoverlapping(content.as_ptr(), content.len()) };
        if text == 0 {
            return Ok(());
        }
        memory::protect(self.base, text, libc::PROT_READ | libc::PROT_EXEC, SUBJECT)
    }

    /// Writes a number into the data.
    ///
    /// # Panics
    /// If there is no data at that offset.
    pub fn set(&mut self, offset: usize, number: u64) {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len, "{offset} is beyond the data");
        // SAFETY: it lies within the mapping, is aligned, and is data, which is writable.
        unsafe { ((self.base + offset) as *mut u64).write(number) };
    }

    /// Calls what begins at an offset with two addresses.
    ///
    /// # Safety
    /// A function with two pointers as its arguments begins there. What it does is its own matter: the caller sees to it that
    /// no harm comes of that, as a process of its own that can make no system calls.
    pub unsafe fn call(&self, offset: usize, input: usize, output: usize) {
        // SAFETY: the caller's promise; the offset lies within the mapping.
        let function: extern "C" fn(usize, usize) =
            unsafe { std::mem::transmute(self.base + offset) };
        function(input, output);
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // Failing to unmap costs address space only.
        let _ = memory::unmap(self.base, self.len, SUBJECT);
    }
}
