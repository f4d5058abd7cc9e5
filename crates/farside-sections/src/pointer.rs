//! Remote pointers.

/// The section's number is above the place in it.
pub const ID_SHIFT: u32 = 56;

/// Most sections of a process: number 0 stands for memory that is no section's.
pub const MOST_SECTIONS: usize = 255;

/// A place in a section: the section's number in the top 8 bits, the offset below.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemotePtr(pub u64);

impl RemotePtr {
    /// The pointer to `offset` of section `id`.
    pub fn new(id: u8, offset: u64) -> Self {
        Self(u64::from(id) << ID_SHIFT | offset)
    }

    /// The section's number.
    pub fn id(self) -> u8 {
        (self.0 >> ID_SHIFT) as u8
    }

    /// The offset in the section.
    pub fn offset(self) -> u64 {
        self.0 & ((1 << ID_SHIFT) - 1)
    }
}
