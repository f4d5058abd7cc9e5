//! The allocator's arenas: which thread allocates from which, and how far arenas get their extents.
//!
//! A far arena's extents come from the far region by hooks; its metadata, free lists and the threads'
//! caches do not, so that freeing an object touches none of its pages. The arena with index 0 keeps
//! the allocator's defaults, which end in the local range.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU32};

use tikv_jemalloc_sys as je;

use crate::far;
use crate::fork;
use crate::mmap::SPACE;
use crate::space::Kind;
use crate::sys::PAGE;
use crate::thread::{self, READY, RUNTIME, UNBOUND};

/// Settings of the allocator. One automatic arena, which stays local; large objects begin at page
/// borders, so that they can be moved and zeroed by the page; freed extents are given up after a
/// second, because until then their dead content would be paged out like live content.
macro_rules! conf {
    () => {
        c"narenas:1,percpu_arena:disabled,oversize_threshold:0,dss:disabled,retain:true,\
          cache_oblivious:false,zero_realloc:free,background_thread:false,metadata_thp:disabled,\
          dirty_decay_ms:1000,muzzy_decay_ms:0"
    };
}

/// Read by the allocator when it starts.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static _rjem_malloc_conf: ConfPointer = ConfPointer(conf!().as_ptr());

/// Read by the allocator after the environment and the configuration file, which thus cannot undo it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static _rjem_malloc_conf_2_conf_harder: ConfPointer = ConfPointer(conf!().as_ptr());

/// A `const char *` that may be shared.
#[repr(transparent)]
pub struct ConfPointer(*const c_char);

// SAFETY: it points to a constant.
unsafe impl Sync for ConfPointer {}

/// Extents of at least this many bytes go back to the pager instead of being retained.
const RELEASE_FROM: usize = 64 << 20;

/// Most far arenas there can be.
const MOST_ARENAS: usize = 64;
/// Far arenas per processor, as many as the allocator itself would make.
const ARENAS_PER_CPU: usize = 4;

/// Start-up has not decided yet: everything is local, and no thread is bound for good.
pub const UNDECIDED: u8 = 0;
/// The program runs without far memory.
pub const LOCAL: u8 = 1;
/// Program threads allocate far memory.
pub const FAR: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);
/// Index of each far arena in the allocator; 0 where none was made yet.
static ARENAS: [AtomicU32; MOST_ARENAS] = [const { AtomicU32::new(0) }; MOST_ARENAS];
static ARENA_COUNT: AtomicU32 = AtomicU32::new(1);
static NEXT_ARENA: AtomicU32 = AtomicU32::new(0);

/// Decides what the program's threads get from now on: [`LOCAL`] or [`FAR`].
pub fn decide(mode: u8) {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    ARENA_COUNT.store((cpus * ARENAS_PER_CPU).min(MOST_ARENAS) as u32, Relaxed);
    MODE.store(mode, Release);
}

/// Gives an unbound thread its arena, as far as start-up got. A thread that cannot be bound stays on
/// the local arena and tries again with its next allocation.
#[cold]
pub fn bind() {
    fork::register();
    if thread::state() != UNBOUND {
        return;
    }
    match MODE.load(Acquire) {
        LOCAL => thread::set_state(READY),
        FAR => {
            thread::set_state(RUNTIME);
            let bound = next_arena().is_some_and(|arena| write_ctl(c"thread.arena", arena));
            thread::set_state(if bound { READY } else { UNBOUND });
        }
        _ => {}
    }
}

/// The far arena for the next thread, made if it does not exist yet.
fn next_arena() -> Option<c_uint> {
    let slot = NEXT_ARENA.fetch_add(1, Relaxed) % ARENA_COUNT.load(Relaxed);
    let slot = &ARENAS[slot as usize];
    match slot.load(Acquire) {
        0 => {
            let made = create_arena()?;
            // Two threads may make one for the same slot: the second arena then stays unused.
            Some(slot.compare_exchange(0, made, Release, Acquire).map_or_else(|won| won, |_| made))
        }
        arena => Some(arena),
    }
}

/// Has the allocator register what it does at a `fork`, which it does when it is first used.
pub fn begin() {
    // SAFETY: a block that nobody else knows.
    unsafe { je::free(je::malloc(1)) };
}

/// What `experimental.arenas_create_ext` takes.
#[repr(C)]
struct ArenaConfig {
    hooks: *const Hooks,
    metadata_use_hooks: bool,
}

fn create_arena() -> Option<c_uint> {
    let config = ArenaConfig { hooks: &HOOKS, metadata_use_hooks: false };
    let mut arena: c_uint = 0;
    let mut len = size_of::<c_uint>();
    // SAFETY: all pointers are to live values of the types that this control takes.
    let error = unsafe {
        je::mallctl(
            c"experimental.arenas_create_ext".as_ptr(),
            (&raw mut arena).cast(),
            &mut len,
            (&raw const config).cast_mut().cast(),
            size_of::<ArenaConfig>(),
        )
    };
    (error == 0).then_some(arena)
}

fn write_ctl(name: &CStr, mut value: c_uint) -> bool {
    // SAFETY: all pointers are to live values; the controls used take an unsigned number.
    unsafe {
        je::mallctl(
            name.as_ptr(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            (&raw mut value).cast(),
            size_of::<c_uint>(),
        ) == 0
    }
}

/// Gives up the content of all free extents, in all arenas.
pub fn purge_all() {
    // 4096 is the allocator's name for "all arenas".
    // SAFETY: this control takes no values.
    unsafe {
        je::mallctl(
            c"arena.4096.purge".as_ptr(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            0,
        );
    }
}

/// The allocator's `extent_hooks_t`; its booleans are C's, one byte wide.
#[repr(C)]
struct Hooks {
    alloc: unsafe extern "C" fn(
        *const Hooks,
        *mut c_void,
        usize,
        usize,
        *mut bool,
        *mut bool,
        c_uint,
    ) -> *mut c_void,
    dalloc: unsafe extern "C" fn(*const Hooks, *mut c_void, usize, bool, c_uint) -> bool,
    destroy: Option<unsafe extern "C" fn()>,
    commit: Option<unsafe extern "C" fn()>,
    decommit: Option<unsafe extern "C" fn()>,
    purge_lazy: Option<unsafe extern "C" fn()>,
    purge_forced:
        unsafe extern "C" fn(*const Hooks, *mut c_void, usize, usize, usize, c_uint) -> bool,
    split:
        unsafe extern "C" fn(*const Hooks, *mut c_void, usize, usize, usize, bool, c_uint) -> bool,
    merge: unsafe extern "C" fn(
        *const Hooks,
        *mut c_void,
        usize,
        *mut c_void,
        usize,
        bool,
        c_uint,
    ) -> bool,
}

static HOOKS: Hooks = Hooks {
    alloc: extent_alloc,
    dalloc: extent_dalloc,
    destroy: None,
    commit: None,
    decommit: None,
    purge_lazy: None,
    purge_forced: extent_purge,
    split: extent_split,
    merge: extent_merge,
};

/// Hands address space of the far region to an arena.
unsafe extern "C" fn extent_alloc(
    _hooks: *const Hooks,
    at: *mut c_void,
    size: usize,
    align: usize,
    zero: *mut bool,
    commit: *mut bool,
    _arena: c_uint,
) -> *mut c_void {
    let Some(pager) = far::pager().filter(|_| at.is_null()) else { return std::ptr::null_mut() };
    let start = thread::as_runtime(|| {
        let start = pager.reserve(size, align.max(PAGE))?;
        SPACE.lock().insert(start..start + size, Kind::Heap);
        Some(start)
    });
    let Some(start) = start else { return std::ptr::null_mut() };
    // SAFETY: the allocator passes two valid flags.
    unsafe {
        *zero = true;
        *commit = true;
    }
    start as *mut c_void
}

/// Takes an extent back (false) or declines, so that the arena retains it (true).
unsafe extern "C" fn extent_dalloc(
    _hooks: *const Hooks,
    addr: *mut c_void,
    size: usize,
    _committed: bool,
    _arena: c_uint,
) -> bool {
    let Some(pager) = far::pager().filter(|_| size >= RELEASE_FROM) else { return true };
    let start = addr as usize;
    thread::as_runtime(|| {
        SPACE.lock().remove(start..start + size);
        pager.release(start, size);
    });
    false
}

/// Drops the content of a part of an extent; it reads as zeros afterwards.
unsafe extern "C" fn extent_purge(
    _hooks: *const Hooks,
    addr: *mut c_void,
    _size: usize,
    offset: usize,
    len: usize,
    _arena: c_uint,
) -> bool {
    let Some(pager) = far::pager() else { return true };
    thread::as_runtime(|| pager.discard(addr as usize + offset, len));
    false
}

/// Extents are address ranges: they split anywhere.
unsafe extern "C" fn extent_split(
    _hooks: *const Hooks,
    _addr: *mut c_void,
    _size: usize,
    _size_a: usize,
    _size_b: usize,
    _committed: bool,
    _arena: c_uint,
) -> bool {
    false
}

/// Extents are address ranges: neighbours merge.
unsafe extern "C" fn extent_merge(
    _hooks: *const Hooks,
    _addr_a: *mut c_void,
    _size_a: usize,
    _addr_b: *mut c_void,
    _size_b: usize,
    _committed: bool,
    _arena: c_uint,
) -> bool {
    false
}

/// Bytes the allocator says it can use at `pointer`, which it owns.
///
/// # Safety
/// `pointer` is a live allocation of the allocator.
pub unsafe fn usable_size(pointer: *const c_void) -> usize {
    // SAFETY: the caller's contract.
    unsafe { je::malloc_usable_size(pointer) }
}
