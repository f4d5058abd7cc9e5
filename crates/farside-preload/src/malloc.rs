//! The malloc family.
//!
//! Who serves a new allocation depends on the calling thread (see [`thread`]); who owns an existing
//! one, on its address alone. The functions that the loader uses for its records also look at where they
//! are called from (see [`loader`]).

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::AtomicUsize;

use tikv_jemalloc_sys as je;

use crate::sys::{self, PAGE};
use crate::thread::{self, READY};
use crate::{far, heap, loader, local, next, runtime_heap};

/// Least bytes of any allocation: every pointer is aligned to as much, as the ABI promises.
const LEAST: usize = 16;
/// A growing object of at least this many bytes moves by pages, without being fetched.
const RELOCATE_FROM: usize = 256 << 10;
/// A zeroed object of at least this many bytes is zeroed by dropping its pages.
const DISCARD_FROM: usize = 1 << 20;

unsafe extern "C" {
    fn __libc_free(pointer: *mut c_void);
    fn __libc_realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
}

/// Whose allocation a pointer is.
enum Owner {
    /// The allocator's, in far or local memory.
    Heap,
    /// The runtime's.
    Runtime,
    /// The C library's, or nobody's.
    Libc,
}

#[inline(always)]
fn owner(pointer: *const c_void) -> Owner {
    let addr = pointer as usize;
    if far::contains(addr) {
        Owner::Heap
    } else if !local::contains(addr) {
        Owner::Libc
    } else if local::is_runtime(addr) {
        Owner::Runtime
    } else {
        Owner::Heap
    }
}

fn out_of_memory() -> *mut c_void {
    sys::set_errno(libc::ENOMEM);
    null_mut()
}

/// Whether the calling thread allocates from the allocator; else, from the runtime heap.
#[inline(always)]
fn uses_heap() -> bool {
    thread::state() == READY || uses_heap_slowly()
}

#[cold]
fn uses_heap_slowly() -> bool {
    if thread::in_runtime() {
        return false;
    }
    heap::bind();
    true
}

#[cold]
fn runtime_allocate(size: usize, align: usize) -> *mut c_void {
    let pointer = on_runtime_heap(|| runtime_heap::allocate(size, align));
    if pointer.is_null() { out_of_memory() } else { pointer.cast() }
}

/// Runs `f`, which uses the runtime heap. A signal handler of the program must not run meanwhile: one that
/// forks would wait for the heap's lock, which its own thread holds.
fn on_runtime_heap<R>(f: impl FnOnce() -> R) -> R {
    if thread::in_runtime() { f() } else { thread::as_runtime(f) }
}

/// Defines a function of the C library that passes its arguments on, and behind them the address that it
/// will return to.
macro_rules! with_caller {
    ($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),*) => $to:ident, $x86:literal, $arm:literal) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> *mut c_void {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(concat!("mov ", $x86, ", qword ptr [rsp]"), "jmp {}", sym $to);
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(concat!("mov ", $arm, ", x30"), "b {}", sym $to);
        }
    };
}

with_caller!(
    /// `malloc`.
    fn malloc(_size: usize) => malloc_for, "rsi", "x1"
);

with_caller!(
    /// `calloc`.
    fn calloc(_count: usize, _size: usize) => calloc_for, "rdx", "x2"
);

with_caller!(
    /// `realloc`.
    ///
    /// # Safety
    /// As in C.
    fn realloc(_pointer: *mut c_void, _size: usize) => realloc_for, "rdx", "x2"
);

extern "C" fn malloc_for(size: usize, caller: usize) -> *mut c_void {
    if uses_heap() && !loader::asks(caller, size) {
        // SAFETY: any size may be asked for.
        far::note_large(unsafe { je::malloc(size.max(LEAST)) }, size)
    } else {
        runtime_allocate(size, LEAST)
    }
}

extern "C" fn calloc_for(count: usize, size: usize, caller: usize) -> *mut c_void {
    let Some(total) = count.checked_mul(size) else { return out_of_memory() };
    if !uses_heap() || loader::asks(caller, total) {
        let pointer = runtime_allocate(total, LEAST);
        if !pointer.is_null() {
            // SAFETY: the block has at least `total` bytes.
            unsafe { pointer.write_bytes(0, total) };
        }
        return pointer;
    }
    if total >= DISCARD_FROM && far::is_open() {
        return allocate_zero_pages(total);
    }
    // SAFETY: any size may be asked for.
    unsafe { je::calloc(1, total.max(LEAST)) }
}

/// `total` bytes, a large size, of zeros. Recycled memory is not overwritten, which would fetch it
/// first, but dropped.
fn allocate_zero_pages(total: usize) -> *mut c_void {
    // SAFETY: any size may be asked for; the block has at least `total` bytes and, when it is far,
    // consists of whole pages of its own.
    unsafe {
        let pointer = far::note_large(je::malloc(total), total);
        if pointer.is_null() {
            return pointer;
        }
        let pages = heap::usable_size(pointer);
        let whole = (pointer as usize | pages).is_multiple_of(PAGE);
        match far::pager().filter(|_| whole && far::contains(pointer as usize)) {
            Some(pager) => thread::as_runtime(|| pager.discard(pointer as usize, pages)),
            None => pointer.write_bytes(0, total),
        }
        pointer
    }
}

/// `free`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(pointer: *mut c_void) {
    // SAFETY: the pointer goes back to whom it came from, by its address.
    unsafe {
        match owner(pointer) {
            Owner::Heap => je::free(pointer),
            Owner::Runtime => on_runtime_heap(|| runtime_heap::free(pointer.cast())),
            Owner::Libc if pointer.is_null() => {}
            Owner::Libc => __libc_free(pointer),
        }
    }
}

/// `cfree`, which old programs still call.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfree(pointer: *mut c_void) {
    // SAFETY: the caller's contract.
    unsafe { free(pointer) }
}

/// `free_sized` of C23.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_sized(pointer: *mut c_void, _size: usize) {
    // SAFETY: the caller's contract.
    unsafe { free(pointer) }
}

/// `free_aligned_sized` of C23.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_aligned_sized(pointer: *mut c_void, _align: usize, _size: usize) {
    // SAFETY: the caller's contract.
    unsafe { free(pointer) }
}

unsafe extern "C" fn realloc_for(pointer: *mut c_void, size: usize, caller: usize) -> *mut c_void {
    if pointer.is_null() {
        return malloc_for(size, caller);
    }
    // SAFETY: the pointer goes to whom it came from, by its address.
    unsafe {
        match owner(pointer) {
            Owner::Libc => __libc_realloc(pointer, size),
            _ if size == 0 => {
                free(pointer);
                null_mut()
            }
            Owner::Heap if uses_heap() => {
                if size >= RELOCATE_FROM && far::contains(pointer as usize) {
                    resize_large(pointer, size)
                } else {
                    je::realloc(pointer, size.max(LEAST))
                }
            }
            Owner::Heap => change_owner(pointer, heap::usable_size(pointer), size, caller),
            Owner::Runtime => {
                change_owner(pointer, runtime_heap::usable_size(pointer.cast()), size, caller)
            }
        }
    }
}

/// Moves an allocation of `usable` bytes to wherever this caller allocates on this thread.
///
/// # Safety
/// `pointer` is a live allocation with so many bytes, and is not used afterwards unless null is
/// returned.
unsafe fn change_owner(
    pointer: *mut c_void,
    usable: usize,
    size: usize,
    caller: usize,
) -> *mut c_void {
    let new = malloc_for(size, caller);
    if !new.is_null() {
        // SAFETY: both blocks have as many bytes, and they are distinct.
        unsafe {
            new.copy_from_nonoverlapping(pointer, usable.min(size));
            free(pointer);
        }
    }
    new
}

/// Resizes an object in far memory to `size` bytes, a large size. One that must move has its pages
/// moved: they are not fetched for it.
///
/// # Safety
/// As `realloc`, for a far pointer of the allocator's.
unsafe fn resize_large(pointer: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's contract; the new block is at least as large as the old one, and both
    // consist of whole pages of their own when their ends are page borders.
    unsafe {
        let old = heap::usable_size(pointer);
        let whole = (pointer as usize | old).is_multiple_of(PAGE);
        if size <= old || old < RELOCATE_FROM || !whole {
            return far::note_large(je::realloc(pointer, size), size);
        }
        if je::xallocx(pointer, size, 0, 0) >= size {
            return far::note_large(pointer, size);
        }
        let new = far::note_large(je::malloc(size), size);
        if new.is_null() {
            return new;
        }
        let (from, to) = (pointer as usize, new as usize);
        let movable = far::contains(to) && to.is_multiple_of(PAGE);
        let moved = far::pager().filter(|_| movable).is_some_and(|pager| {
            thread::as_runtime(|| {
                // Old content goes in one step; the move would drop it page by page.
                pager.discard(to, old);
                pager.relocate(from, to, old).is_ok()
            })
        });
        if !moved {
            new.copy_from_nonoverlapping(pointer, old);
        }
        je::free(pointer);
        new
    }
}

/// `reallocarray`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(
    pointer: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's contract.
        Some(total) => unsafe { realloc(pointer, total) },
        None => out_of_memory(),
    }
}

/// `size` bytes aligned to `align`, a power of two; null when there is no memory, without a word in
/// `errno`.
fn allocate_aligned(align: usize, size: usize) -> *mut c_void {
    let align = align.max(LEAST);
    if !uses_heap() {
        return runtime_heap::allocate(size, align).cast();
    }
    let mut pointer = null_mut();
    // SAFETY: the pointer is written to a local variable.
    let error = unsafe { je::posix_memalign(&mut pointer, align, size.max(LEAST)) };
    if error == 0 { far::note_large(pointer, size) } else { null_mut() }
}

/// `posix_memalign`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    align: usize,
    size: usize,
) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let saved = sys::errno();
    let pointer = allocate_aligned(align, size);
    sys::set_errno(saved);
    if pointer.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller passes where to put the pointer.
    unsafe { result.write(pointer) };
    0
}

fn allocate_aligned_or_errno(align: usize, size: usize) -> *mut c_void {
    let pointer = allocate_aligned(align, size);
    if pointer.is_null() { out_of_memory() } else { pointer }
}

/// `aligned_alloc`.
#[unsafe(no_mangle)]
pub extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        sys::set_errno(libc::EINVAL);
        return null_mut();
    }
    allocate_aligned_or_errno(align, size)
}

/// `memalign`: an alignment that is no power of two is raised to one, as the C library does.
#[unsafe(no_mangle)]
pub extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    match align.checked_next_power_of_two() {
        Some(align) => allocate_aligned_or_errno(align, size),
        None => {
            sys::set_errno(libc::EINVAL);
            null_mut()
        }
    }
}

/// `valloc`.
#[unsafe(no_mangle)]
pub extern "C" fn valloc(size: usize) -> *mut c_void {
    allocate_aligned_or_errno(PAGE, size)
}

/// `pvalloc`.
#[unsafe(no_mangle)]
pub extern "C" fn pvalloc(size: usize) -> *mut c_void {
    match sys::page_up(size) {
        Some(size) => allocate_aligned_or_errno(PAGE, size),
        None => out_of_memory(),
    }
}

type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;

/// The C library's `malloc_usable_size`, once looked up.
static LIBC_USABLE_SIZE: AtomicUsize = AtomicUsize::new(0);

/// `malloc_usable_size`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(pointer: *mut c_void) -> usize {
    // SAFETY: the pointer goes to whom it came from, by its address.
    unsafe {
        match owner(pointer) {
            Owner::Heap => heap::usable_size(pointer),
            Owner::Runtime => runtime_heap::usable_size(pointer.cast()),
            Owner::Libc if pointer.is_null() => 0,
            Owner::Libc => libc_usable_size(pointer),
        }
    }
}

/// # Safety
/// `pointer` is a live allocation of the C library's.
unsafe fn libc_usable_size(pointer: *mut c_void) -> usize {
    let function = next::find(c"malloc_usable_size", &LIBC_USABLE_SIZE);
    if function == 0 {
        return 0;
    }
    // SAFETY: the symbol of this name has this type.
    unsafe { std::mem::transmute::<usize, UsableSize>(function)(pointer) }
}
