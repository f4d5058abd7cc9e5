//! Where in the program an allocation comes from: a number that is the same in every run of it.
//!
//! Call stacks are walked with what the compiler leaves for exceptions. The C library must be able to tell
//! without a lock which file an address belongs to (glibc 2.35 and newer), because the caller may hold the
//! allocator's locks while another thread that loads a library waits for them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Callers that are looked at.
const DEPTH: usize = 6;

/// Most frames to walk through, those of this library included.
const MOST_FRAMES: usize = 64;

/// `_URC_NO_REASON` and `_URC_END_OF_STACK` of the unwinder.
const GO_ON: c_int = 0;
const ENOUGH: c_int = 5;

/// `struct dl_find_object`.
#[repr(C)]
#[derive(Default)]
struct Found {
    flags: u64,
    map_start: usize,
    map_end: usize,
    link_map: usize,
    eh_frame: usize,
    reserved: [u64; 7],
}

/// The beginning of `struct link_map`.
#[repr(C)]
struct LinkMap {
    addr: usize,
    name: *const c_char,
}

type FindObject = unsafe extern "C" fn(*const c_void, *mut Found) -> c_int;

static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

#[link(name = "gcc_s")]
unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Finds out what the C library can do. Called at start-up, when no lock is held.
pub fn prepare() {
    // SAFETY: the name is a valid C string.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(find, Ordering::Release);
}

struct Walk {
    find: FindObject,
    /// Start of this library.
    own: usize,
    frames: usize,
    seen: usize,
    hash: u64,
}

/// The place from which the calling thread called into this library; 0 if that cannot be told.
pub fn of_caller() -> u64 {
    let find = FIND_OBJECT.load(Ordering::Acquire);
    if find.is_null() {
        return 0;
    }
    // SAFETY: the symbol of that name has this type.
    let find: FindObject = unsafe { std::mem::transmute(find) };
    let Some(own) = file_of(find, of_caller as fn() -> u64 as usize) else { return 0 };
    let mut walk =
        Walk { find, own: own.map_start, frames: 0, seen: 0, hash: 0xcbf2_9ce4_8422_2325 };
    // SAFETY: `visit` takes the argument for what it is, and both live until the walk is over.
    unsafe { _Unwind_Backtrace(visit, (&raw mut walk).cast()) };
    if walk.seen == 0 { 0 } else { walk.hash.max(1) }
}

unsafe extern "C" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: the argument is the walk of `of_caller`, which is nobody else's.
    let walk = unsafe { &mut *walk.cast::<Walk>() };
    // SAFETY: the unwinder passes a valid context.
    let address = unsafe { _Unwind_GetIP(context) };
    walk.frames += 1;
    let Some(file) = file_of(walk.find, address) else { return ENOUGH };
    if file.map_start != walk.own {
        walk.add(&name_of(&file).to_le_bytes());
        walk.add(&(address - file.map_start).to_le_bytes());
        walk.seen += 1;
    }
    if walk.seen == DEPTH || walk.frames == MOST_FRAMES { ENOUGH } else { GO_ON }
}

impl Walk {
    fn add(&mut self, bytes: &[u8]) {
        self.hash = hash(self.hash, bytes);
    }
}

/// FNV-1a.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn file_of(find: FindObject, address: usize) -> Option<Found> {
    let mut found = Found::default();
    // SAFETY: the function looks the address up without reading there, and fills the structure, which is
    // larger than what it knows of.
    (unsafe { find(address as *const c_void, &mut found) } == 0).then_some(found)
}

/// A number for the name of a loaded file, without its directories.
fn name_of(file: &Found) -> u64 {
    // SAFETY: the link map of a file that code of a live frame belongs to, and so its name, live on.
    let name = unsafe { CStr::from_ptr((*(file.link_map as *const LinkMap)).name) };
    let last = name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    hash(0xcbf2_9ce4_8422_2325, last)
}
