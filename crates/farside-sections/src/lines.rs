//! The local memory of a section: its slots, and what is known of each.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use farside_os::Result;
use farside_os::memory::{self, PAGE, reserve};

use crate::shape::Geometry;

/// Slots beside those of the structure, for lines of sets of which all are pinned.
pub const EXTRA: u32 = 64;

/// Tag of a slot whose line may not be used now.
pub const NONE: u32 = u32::MAX;

/// Bit of a tag: whether the line was used lately is not known; its next use comes here.
pub const UNPROVEN: u32 = 1 << 31;

/// Lines have smaller numbers.
pub const MOST_LINES: u64 = (UNPROVEN - 1) as u64;

/// A slot's state: two bits for what is in it.
pub const STATE: u16 = 3;
/// Nothing.
pub const EMPTY: u16 = 0;
/// Somebody moves what is in it.
pub const BUSY: u16 = 1;
/// A line that can be used.
pub const READY: u16 = 2;
/// The line was written since it was stored.
pub const DIRTY: u16 = 1 << 2;
/// The program will not use the line soon.
pub const SOON: u16 = 1 << 3;
/// The line was fetched ahead, and not used yet.
pub const AHEAD: u16 = 1 << 4;
/// The rest counts pins.
pub const PIN: u16 = 1 << 6;
/// All bits of the number of pins.
pub const PINS: u16 = !(PIN - 1);
/// No line is pinned more often; the other half is for those who only try.
pub const MOST_PINS: u16 = 512;

/// Slots in memory of their own, which never is far memory. Programs look at them while they change.
pub struct Lines {
    pub tags: &'static [AtomicU32],
    pub states: &'static [AtomicU16],
    /// By bits, which blocks were written; only if lines are long.
    pub written: Option<&'static [AtomicU64]>,
    pub data: usize,
    shift: u32,
}

/// Memory for `count` values that may be all zeros.
///
/// # Safety
/// `T` is a type of atomic integers.
unsafe fn array<T>(count: usize, subject: &'static str) -> Result<&'static [T]> {
    let addr = reserve((count * size_of::<T>()).next_multiple_of(PAGE), PAGE, subject)?;
    // SAFETY: a fresh zeroed mapping of that length, unmapped only with its owner.
    Ok(unsafe { std::slice::from_raw_parts(addr as *const T, count) })
}

fn free<T>(array: &'static [T]) {
    let len = size_of_val(array).next_multiple_of(PAGE);
    // What cannot be unmapped stays mapped, and harms nobody.
    let _ = memory::unmap(array.as_ptr() as usize, len, "a section");
}

impl Lines {
    pub fn new(geometry: &Geometry) -> Result<Self> {
        let count = (geometry.slots() + EXTRA) as usize;
        let shift = geometry.shift;
        let len = count << shift;
        let data = reserve(len.next_multiple_of(PAGE), 2 << 20, "lines of a section")?;
        // Smaller pages are slower, not wrong.
        let _ = memory::advise(data, len / PAGE * PAGE, libc::MADV_HUGEPAGE, "lines of a section");
        // SAFETY: these are atomic integers.
        let (tags, states) = unsafe {
            (array::<AtomicU32>(count, "tags of a section")?, array(count, "states of a section")?)
        };
        let written = match geometry.has_blocks() {
            // SAFETY: as above.
            true => Some(unsafe { array(count, "written blocks of a section")? }),
            false => None,
        };
        tags.iter().for_each(|tag| tag.store(NONE, Relaxed));
        Ok(Self { tags, states, written, data, shift })
    }

    /// Bytes that describe the slots, but for the extra ones.
    pub fn metadata(&self) -> u64 {
        let each = 4 + 2 + if self.written.is_some() { 8 } else { 0 };
        (self.tags.len() - EXTRA as usize) as u64 * each
    }

    /// Address of a slot.
    pub fn address(&self, slot: u32) -> usize {
        self.data + ((slot as usize) << self.shift)
    }

    /// Has the processor load what is known of a slot.
    pub fn expect_state(&self, slot: u32) {
        memory::prefetch(&self.tags[slot as usize]);
        memory::prefetch(&self.states[slot as usize]);
    }

    /// Has it load the first bytes of a slot: it goes on by itself with longer ones.
    pub fn expect_bytes(&self, slot: u32) {
        memory::prefetch_at(self.address(slot));
        memory::prefetch_at(self.address(slot) + 64);
    }

    /// Bytes of a slot.
    ///
    /// # Safety
    /// The slot is busy on behalf of the caller, or nobody uses the section.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes(&self, slot: u32) -> &mut [u8] {
        // SAFETY: the memory is there as long as the section; the caller vouches for exclusiveness.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot) as *mut u8, 1 << self.shift) }
    }

    /// The slot that an address is in.
    pub fn slot_at(&self, addr: usize) -> Option<u32> {
        let slot = addr.checked_sub(self.data)? >> self.shift;
        (slot < self.tags.len()).then_some(slot as u32)
    }

    /// The line in a slot, as long as it is ready.
    pub fn line(&self, slot: u32) -> u32 {
        self.tags[slot as usize].load(Acquire) & !UNPROVEN
    }

    pub fn state(&self, slot: u32) -> u16 {
        self.states[slot as usize].load(Acquire)
    }

    /// Whether a slot holds a line that nobody moves.
    pub fn holds(&self, slot: u32, line: u32) -> bool {
        self.line(slot) == line && self.state(slot) & STATE == READY
    }

    /// Whether nothing is known of a use of the line in a slot since it was fetched ahead, or looked at.
    pub fn is_unproven(&self, slot: u32) -> bool {
        self.tags[slot as usize].load(Relaxed) & UNPROVEN != 0
    }

    /// From now on the next use of a slot's line comes here.
    pub fn doubt(&self, slot: u32) {
        self.tags[slot as usize].fetch_or(UNPROVEN, Relaxed);
    }

    /// The line in a slot was used; returns the state before, if that was not known. Needs no lock.
    pub fn prove(&self, slot: u32, line: u32) -> Option<u16> {
        let tag = &self.tags[slot as usize];
        tag.compare_exchange(line | UNPROVEN, line, AcqRel, Relaxed).ok()?;
        Some(self.states[slot as usize].fetch_and(!(AHEAD | SOON), AcqRel))
    }

    /// Takes a slot whose line is ready and not pinned; returns the state before.
    pub fn claim(&self, slot: u32) -> Option<u16> {
        let free = |state: u16| state & (STATE | PINS) == READY;
        let busy = |state: u16| free(state).then_some(state & !STATE | BUSY);
        self.states[slot as usize].fetch_update(AcqRel, Acquire, busy).ok()
    }

    /// Ends a slot's being busy; who tries to pin it meanwhile is not disturbed.
    pub fn set_state(&self, slot: u32, state: u16) {
        let put = |old: u16| Some(old & PINS | state);
        // The closure always returns a value.
        let _ = self.states[slot as usize].fetch_update(AcqRel, Acquire, put);
    }

    /// Sets the tag of a busy slot.
    pub fn set_tag(&self, slot: u32, tag: u32) {
        self.tags[slot as usize].store(tag, Release);
    }

    /// Pins a slot whose line is ready, as the lock's holder sees it; false if it is pinned too often.
    pub fn pin(&self, slot: u32) -> bool {
        let more = |state: u16| (state >> PIN.trailing_zeros() < MOST_PINS).then_some(state + PIN);
        self.states[slot as usize].fetch_update(AcqRel, Acquire, more).is_ok()
    }

    /// Ends a pin; false if there is none.
    pub fn unpin(&self, slot: u32) -> bool {
        let less = |state: u16| state.checked_sub(PIN);
        self.states[slot as usize].fetch_update(AcqRel, Acquire, less).is_ok()
    }

    pub fn is_pinned(&self, slot: u32) -> bool {
        self.state(slot) & PINS != 0
    }

    /// Whether a slot holds a line that is pinned.
    pub fn holds_pinned(&self, slot: u32) -> bool {
        let state = self.state(slot);
        state & STATE == READY && state & PINS != 0
    }

    /// Gives the memory of the first `len` bytes of slots, which are empty, back to the kernel.
    pub fn give_back(&self, len: usize) {
        // What the kernel keeps is used again when lines come here again, and harms nobody before.
        let _ = memory::drop_range(self.data, len, "lines of a section");
    }

    /// Which blocks of a line with state `state` were written; forgets it.
    pub fn take_written(&self, slot: u32, state: u16) -> u64 {
        let blocks = self.written.map(|written| written[slot as usize].swap(0, AcqRel));
        if state & DIRTY == 0 { 0 } else { blocks.unwrap_or(u64::MAX) }
    }

    /// Says again which blocks were written.
    pub fn put_written(&self, slot: u32, blocks: u64) {
        if let Some(written) = self.written {
            written[slot as usize].fetch_or(blocks, AcqRel);
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        free(self.tags);
        free(self.states);
        if let Some(written) = self.written {
            free(written);
        }
        let len = (self.tags.len() << self.shift).next_multiple_of(PAGE);
        let _ = memory::unmap(self.data, len, "lines of a section");
    }
}
