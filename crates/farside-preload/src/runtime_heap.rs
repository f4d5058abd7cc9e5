//! The runtime's own heap: local, small, and independent of the program's allocator, so that it works
//! while the allocator's locks are held (in its hooks, and across `fork`).

use std::alloc::{GlobalAlloc, Layout};

use crate::local;
use crate::lock::Lock;
use crate::sys::{self, PAGE};

/// Size classes: two per power of two, from 32 bytes on.
const CLASSES: usize = 64;
/// Smallest block, in bytes.
const LEAST: usize = 32;
/// The range is made accessible in steps of this many bytes.
const COMMIT_STEP: usize = 1 << 20;
/// Free blocks of at least this many bytes give their memory back to the kernel.
const RETURN_FROM: usize = 1 << 20;
/// Bytes before each pointer handed out.
const HEADER: usize = size_of::<Header>();

/// What lies right before a pointer handed out.
#[derive(Copy, Clone)]
#[repr(C)]
struct Header {
    /// Bytes from the start of the block to the pointer.
    offset: usize,
    class: usize,
}

struct Heap {
    /// First free block of each class; each free block starts with the address of the next.
    free: [usize; CLASSES],
    /// First address never handed out.
    next: usize,
    /// First address not accessible yet.
    committed: usize,
    end: usize,
}

static HEAP: Lock<Heap> = Lock::new(Heap { free: [0; CLASSES], next: 0, committed: 0, end: 0 });

/// Bytes in a block of `class`, including its header.
fn class_size(class: usize) -> usize {
    (LEAST << (class / 2)) + (class % 2) * (LEAST << (class / 2)) / 2
}

/// The least class whose blocks hold `size` bytes.
fn class_of(size: usize) -> Option<usize> {
    let power = size.max(LEAST).checked_next_power_of_two()?;
    let class = 2 * (power / LEAST).trailing_zeros() as usize;
    let class = if class > 0 && class_size(class - 1) >= size { class - 1 } else { class };
    (class < CLASSES).then_some(class)
}

/// A block that was taken.
#[derive(Copy, Clone)]
struct Block {
    start: usize,
    class: usize,
    /// It was never written: all zero.
    is_fresh: bool,
}

impl Heap {
    fn take(&mut self, class: usize) -> Option<Block> {
        let start = self.free[class];
        if start != 0 {
            // SAFETY: a free block starts with the address of the next one.
            self.free[class] = unsafe { *(start as *const usize) };
            return Some(Block { start, class, is_fresh: false });
        }
        if self.end == 0 {
            let (start, len) = local::runtime_part();
            (self.next, self.committed, self.end) = (start, start, start + len);
        }
        let block = self.next;
        let after = block.checked_add(class_size(class)).filter(|after| *after <= self.end)?;
        if after > self.committed {
            let to = after.next_multiple_of(COMMIT_STEP).min(self.end);
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the range from `committed` on is reserved for this heap and unused.
            unsafe { sys::mprotect(self.committed, to - self.committed, prot) }.ok()?;
            self.committed = to;
        }
        self.next = after;
        Some(Block { start: block, class, is_fresh: true })
    }

    fn put(&mut self, block: usize, class: usize) {
        let size = class_size(class);
        if size >= RETURN_FROM {
            let keep = block + size_of::<usize>();
            let from = keep.next_multiple_of(PAGE);
            let to = (block + size) & !(PAGE - 1);
            // SAFETY: the block is free; its first word, which is needed, lies before `from`.
            // Failure only means that the memory stays in use.
            let _ = unsafe { sys::madvise(from, to - from, libc::MADV_DONTNEED) };
        }
        // SAFETY: the block is free and holds at least one word.
        unsafe { *(block as *mut usize) = self.free[class] };
        self.free[class] = block;
    }
}

/// `size` bytes aligned to `align`, a power of two; null when there is no memory.
pub fn allocate(size: usize, align: usize) -> *mut u8 {
    take(size, align).map_or(std::ptr::null_mut(), |block| hand_out(block, align))
}

/// The same, all zero. What was never written is that already, and is not written now: large tables take memory only
/// where they are used.
pub fn allocate_zeroed(size: usize, align: usize) -> *mut u8 {
    let Some(block) = take(size, align) else { return std::ptr::null_mut() };
    let pointer = hand_out(block, align);
    if !block.is_fresh {
        // SAFETY: `size` bytes from there on are the caller's to be.
        unsafe { clear(pointer, size) };
    }
    pointer
}

fn take(size: usize, align: usize) -> Option<Block> {
    let extra = if align > HEADER { align } else { 0 };
    let wanted = size.checked_add(HEADER).and_then(|n| n.checked_add(extra));
    let class = wanted.and_then(class_of)?;
    HEAP.lock().take(class)
}

/// The aligned address in a block that has room for it.
fn hand_out(block: Block, align: usize) -> *mut u8 {
    let pointer = (block.start + HEADER).next_multiple_of(align.max(HEADER));
    let header = Header { offset: pointer - block.start, class: block.class };
    // SAFETY: the block reaches from its start over header and alignment.
    unsafe { ((pointer - HEADER) as *mut Header).write(header) };
    pointer as *mut u8
}

/// Fills memory of this heap with zeros; of much of it whole pages are given back to the kernel instead.
///
/// # Safety
/// `size` bytes from `pointer` on belong to the caller and to nobody else.
unsafe fn clear(pointer: *mut u8, size: usize) {
    let start = pointer as usize;
    let (from, to) = (start.next_multiple_of(PAGE), (start + size) & !(PAGE - 1));
    // SAFETY: the pages lie within the caller's bytes, and are private and of no file.
    let is_given_back = size >= RETURN_FROM
        && unsafe { sys::madvise(from, to - from, libc::MADV_DONTNEED) }.is_ok();
    let (first, last) = if is_given_back { (from - start, to - start) } else { (size, size) };
    // SAFETY: both parts lie within the caller's bytes.
    unsafe {
        pointer.write_bytes(0, first);
        pointer.add(last).write_bytes(0, size - last);
    }
}

/// Frees what [`allocate`] returned.
///
/// # Safety
/// `pointer` came from [`allocate`] and is not used any more.
pub unsafe fn free(pointer: *mut u8) {
    // SAFETY: `allocate` wrote the header there.
    let header = unsafe { pointer.sub(HEADER).cast::<Header>().read() };
    HEAP.lock().put(pointer as usize - header.offset, header.class);
}

/// Bytes from `pointer` to the end of its block.
///
/// # Safety
/// `pointer` came from [`allocate`].
pub unsafe fn usable_size(pointer: *const u8) -> usize {
    // SAFETY: `allocate` wrote the header there.
    let header = unsafe { pointer.sub(HEADER).cast::<Header>().read() };
    class_size(header.class) - header.offset
}

/// Resizes what [`allocate`] returned; null, with the old block untouched, when there is no memory.
///
/// # Safety
/// `pointer` came from [`allocate`] with at most `align`; it is not used afterwards unless null is
/// returned.
pub unsafe fn reallocate(pointer: *mut u8, size: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's contract covers all three uses of the old block, and the two blocks are
    // distinct.
    unsafe {
        let usable = usable_size(pointer);
        if size <= usable && size >= usable / 4 {
            return pointer;
        }
        let new = allocate(size, align);
        if !new.is_null() {
            new.copy_from_nonoverlapping(pointer, usable.min(size));
            free(pointer);
        }
        new
    }
}

/// Keeps other threads out until [`after_fork`].
pub fn before_fork() {
    HEAP.hold_for_fork();
}

/// Ends what [`before_fork`] began, in the parent and in the child.
pub fn after_fork() {
    // SAFETY: called by the thread that forked.
    unsafe { HEAP.release_after_fork() };
}

/// The allocator behind Rust's own collections in this library.
struct RuntimeAllocator;

// SAFETY: blocks are disjoint, aligned as asked, and stay valid until freed.
unsafe impl GlobalAlloc for RuntimeAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocate(layout.size(), layout.align())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocate_zeroed(layout.size(), layout.align())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _layout: Layout) {
        // SAFETY: the caller got it from `alloc`.
        unsafe { free(pointer) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller got it from `alloc` with this layout.
        unsafe { reallocate(pointer, size, layout.align()) }
    }
}

#[global_allocator]
static ALLOCATOR: RuntimeAllocator = RuntimeAllocator;
