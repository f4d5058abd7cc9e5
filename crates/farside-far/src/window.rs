//! The embedded node's memory as the program sees it: parts of pages are copied without asking the kernel, as a network
//! adapter reads and writes the memory of another machine without asking anybody there.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use farside_os::Result;
use farside_os::memory::{self, PAGE};
use farside_wire::pool::{Block, DATA_BYTES, UNIT};

/// Pages of the node's memory.
const PAGES: usize = DATA_BYTES as usize / PAGE;

/// Bytes of a bit for each of them.
const NOTES_BYTES: usize = PAGES / 8;

/// Bytes that the processor loads at once.
const CACHE_LINE: usize = 64;

/// Most bytes that it is told of: it goes on by itself with longer ones.
const EXPECTED: usize = 4 * CACHE_LINE;

/// The node's memory, and what of it there is.
///
/// Only pages that were written by system calls, which say if there is no room, are touched: a page that the node has no
/// memory for would end the program.
pub(crate) struct Window {
    data: usize,
    notes: usize,
}

impl Window {
    /// Maps the node's memory.
    pub fn open(data: BorrowedFd<'_>) -> Result<Self> {
        let notes = memory::reserve(NOTES_BYTES, PAGE, "notes about far memory")?;
        let data =
            memory::map_shared(data, DATA_BYTES as usize, "far memory").inspect_err(|_| {
                // What cannot be unmapped stays mapped, and harms nobody.
                let _ = memory::unmap(notes, NOTES_BYTES, "notes about far memory");
            })?;
        let window = Self { data, notes };
        // A dump of the program's memory would be as long as the window.
        memory::advise(data, DATA_BYTES as usize, libc::MADV_DONTDUMP, "far memory")?;
        Ok(window)
    }

    /// The bits of 64 pages, and the one of the page at `offset`.
    fn note(&self, offset: u64) -> (&AtomicU64, u64) {
        let page = offset as usize / PAGE;
        assert!(page < PAGES, "byte {offset} beyond far memory");
        // SAFETY: there is a bit for each page, checked above, and they stay mapped as long as `self`.
        let word = unsafe { &*(self.notes as *const AtomicU64).add(page / 64) };
        (word, 1 << (page % 64))
    }

    /// Whether the page at `offset` is there for certain.
    pub fn has(&self, offset: u64) -> bool {
        let (word, bit) = self.note(offset);
        word.load(Ordering::Acquire) & bit != 0
    }

    /// Bytes at `offset` were written in another way: the page is there.
    pub fn wrote(&self, offset: u64) {
        let (word, bit) = self.note(offset);
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Release);
        }
    }

    /// Blocks were taken for new pages: what was there may be given back to the machine by now.
    pub fn forget(&self, first: Block, run: u32) {
        for at in 0..u64::from(run * first.units) * UNIT as u64 / PAGE as u64 {
            let (word, bit) = self.note(first.offset() + at * PAGE as u64);
            word.fetch_and(!bit, Ordering::Release);
        }
    }

    /// Where the bytes at `offset` are, which lie in one page, if that is there.
    fn place(&self, offset: u64, len: usize) -> Option<usize> {
        assert!(offset as usize % PAGE + len <= PAGE, "{len} bytes at {offset} of a page");
        self.has(offset).then(|| self.data + offset as usize)
    }

    /// Bytes at `offset` will be used in a moment: has the processor load them, if they are few.
    pub fn expect(&self, offset: u64, len: usize) {
        let first = self.data + offset as usize;
        (first..first + len.min(EXPECTED)).step_by(CACHE_LINE).for_each(memory::prefetch_at);
    }

    /// Copies bytes of one page; false if nobody knows whether it is there.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let Some(from) = self.place(offset, into.len()) else { return false };
        // SAFETY: the bytes lie within the mapping and are there, both checked; nobody has a reference to them, and the
        // callers of the store see to it that nobody writes them meanwhile.
        unsafe {
            std::ptr::copy_nonoverlapping(from as *const u8, into.as_mut_ptr(), into.len());
        }
        true
    }

    /// Stores bytes of one page; false if nobody knows whether it is there.
    pub fn write(&self, offset: u64, from: &[u8]) -> bool {
        let Some(into) = self.place(offset, from.len()) else { return false };
        // SAFETY: as above; and nobody reads them meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), into as *mut u8, from.len()) };
        true
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // What cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.data, DATA_BYTES as usize, "far memory");
        let _ = memory::unmap(self.notes, NOTES_BYTES, "notes about far memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn only_what_is_there_is_touched() {
        let data = memory::anonymous_file(c"data", DATA_BYTES).unwrap();
        let window = Window::open(data.as_fd()).unwrap();
        let block = Block { unit: 4 * 63, units: 4 };
        let (offset, mut read) = (block.offset() + 100, [0; 8]);
        let is_there = |read: &mut [u8; 8]| {
            [window.has(offset), window.read(offset, read), window.write(offset, &[7; 8])]
        };
        window.expect(offset, 1 << 20);
        assert_eq!(is_there(&mut read), [false; 3]);

        memory::write_at(data.as_fd(), offset, &[5; 8], "data").unwrap();
        window.wrote(offset);
        assert_eq!(is_there(&mut read), [true; 3]);
        assert_eq!(read, [5; 8]);
        memory::read_at(data.as_fd(), offset, &mut read, "data").unwrap();
        assert_eq!(read, [7; 8]);
        // Neither the page before it nor that behind it.
        assert!(!window.has(block.offset() - 1) && !window.has(block.offset() + PAGE as u64));

        window.wrote(offset + PAGE as u64);
        window.forget(block, 1);
        assert_eq!(is_there(&mut read), [false; 3]);
        assert!(window.has(offset + PAGE as u64));
    }
}
