//! What the program sees of a section.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use crate::pointer::RemotePtr;
use crate::section::Section;

/// `struct farside_section` of `farside/section.h`: how the program finds a line that is here.
#[repr(C)]
#[derive(Copy, Clone, Debug)]
pub struct View {
    /// Of each slot, the line that is in it; see [`UNPROVEN`](crate::lines::UNPROVEN).
    tags: *const AtomicU32,
    /// Of each slot, its state.
    states: *const AtomicU16,
    /// Of each slot, which blocks of it were written; null if lines are short.
    written: *const AtomicU64,
    /// Where the slots are.
    data: usize,
    /// Where to look for lines that may be anywhere.
    places: *const AtomicU32,
    /// The pointer to the section's offset 0.
    base: u64,
    /// See `Geometry::magic`.
    magic: u64,
    sets: u32,
    ways: u32,
    slots: u32,
    place_count: u32,
    shift: u8,
    block_shift: u8,
    slot_bits: u8,
    /// 0: in a set; 1: anywhere.
    full: u8,
    /// The section's number; 0 of what is plain memory.
    pub id: u32,
    /// Whether several threads use it.
    shared: u32,
    unused: u32,
}

impl Section {
    /// What the program sees of it, which stays true as long as it is open.
    pub fn view(&self, shared: bool) -> View {
        let index = self.index.as_ref();
        View {
            tags: self.lines.tags.as_ptr(),
            states: self.lines.states.as_ptr(),
            written: self.lines.written.map_or(std::ptr::null(), <[AtomicU64]>::as_ptr),
            data: self.lines.data,
            places: index.map_or(std::ptr::null(), |index| index.places.as_ptr()),
            base: RemotePtr::new(self.id, 0).0,
            magic: self.geometry.magic(),
            sets: self.geometry.sets,
            ways: self.geometry.ways,
            slots: self.lines.tags.len() as u32,
            place_count: index.map_or(0, |index| index.places.len() as u32),
            shift: self.geometry.shift as u8,
            block_shift: self.geometry.block_shift as u8,
            slot_bits: index.map_or(0, |index| index.slot_bits as u8),
            full: u8::from(self.geometry.full),
            id: self.id.into(),
            shared: shared.into(),
            unused: 0,
        }
    }
}
