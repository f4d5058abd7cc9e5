//! What is assumed: section 5 of the paper, and what it leaves open.

/// Entries of the translation buffer in front of the hardware.
pub const TLB_ENTRIES: usize = 64;

/// Cycles of work for each data access: about three instructions, one a cycle as in section 6.2.
pub const CYCLES_PER_ACCESS: f64 = 3.0;

/// Cycles that a page fault takes (section 5).
pub const CYCLES_PER_FAULT: f64 = 1e6;

/// Entries of the page access buffer where it is not varied. The paper has 2,048 for a few hundred
/// megabytes; these are as many for a tenth of that.
pub const BUFFER: usize = 256;

/// Entries of the buffer that the paper chooses.
pub const PAPER_BUFFER: usize = 2048;

/// Sizes of the buffer where it is varied (section 6.4).
pub const BUFFERS: [usize; 9] = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768];

/// Entries in a set of the buffer, which the paper does not state.
pub const WAYS: usize = 4;

/// Sizes of memory, in hundredths of the footprint.
pub const SHARES: [usize; 8] = [20, 30, 40, 50, 60, 70, 80, 90];

/// The size of memory where the buffer is varied.
pub const SHARE: usize = 70;

/// Cycles of a program's own work.
pub fn work(accesses: u64) -> f64 {
    CYCLES_PER_ACCESS * accesses as f64
}

/// The projected time of section 5, in cycles.
pub fn projected(accesses: u64, faults: u64) -> f64 {
    work(accesses) + CYCLES_PER_FAULT * faults as f64
}
