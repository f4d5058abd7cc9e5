//! The one place that knows the pager: where the far region is, and how to reach it.

use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

pub use farside_pager::Pager;
use farside_pager::service::Service;

use crate::thread;

static SERVICE: AtomicPtr<Service> = AtomicPtr::new(std::ptr::null_mut());
static BASE: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Makes the far region of a started service the place where the program's memory comes from.
pub fn open(service: &'static Service) {
    BASE.store(service.pager().base(), Relaxed);
    LEN.store(service.pager().len(), Relaxed);
    SERVICE.store(std::ptr::from_ref(service).cast_mut(), Release);
}

/// The threads behind the pager, when there is one.
pub fn service() -> Option<&'static Service> {
    // SAFETY: the pointer is null or came from a reference that lives for ever.
    unsafe { SERVICE.load(Acquire).as_ref() }
}

/// Whether `addr` lies in the far region; never, before there is one.
#[inline(always)]
pub fn contains(addr: usize) -> bool {
    addr.wrapping_sub(BASE.load(Relaxed)) < LEN.load(Relaxed)
}

/// Start and end of the far region; empty before there is one.
pub fn region() -> std::ops::Range<usize> {
    let base = BASE.load(Relaxed);
    base..base + LEN.load(Relaxed)
}

/// Whether there is far memory.
#[inline]
pub fn is_open() -> bool {
    LEN.load(Relaxed) != 0
}

/// The pager, when there is one.
#[inline]
pub fn pager() -> Option<&'static Pager> {
    service().map(Service::pager)
}

/// Fewest bytes of an allocation or mapping that the replacement policy is told of.
pub const LARGE: usize = 1 << 20;

/// The program has so much memory for a single purpose: the replacement policy is told, if it is large and far. Returns
/// the address.
#[inline]
pub fn note_large(pointer: *mut c_void, size: usize) -> *mut c_void {
    if size >= LARGE {
        tell_of_large(pointer as usize, size);
    }
    pointer
}

#[cold]
fn tell_of_large(addr: usize, size: usize) {
    if contains(addr)
        && let Some(pager) = pager()
    {
        let tell = || pager.begin_region(addr, size);
        if thread::in_runtime() { tell() } else { thread::as_runtime(tell) }
    }
}

/// The pager, when there is one and the calling thread is the program's: the runtime's own requests
/// go to the kernel.
#[inline]
pub fn for_program() -> Option<&'static Pager> {
    if thread::in_runtime() { None } else { pager() }
}

/// Of the C interface: bytes of the program's far memory that may be resident now, `SIZE_MAX` if that is not limited; 0 if
/// it does not run under Farside.
#[unsafe(no_mangle)]
pub extern "C" fn farside_local_limit() -> usize {
    let Some(service) = service() else { return 0 };
    service.pager().limit_bytes().map_or(usize::MAX, |bytes| bytes as usize)
}

/// Whether `addr` is far memory: of the C interface, for programs that want to know.
#[unsafe(no_mangle)]
pub extern "C" fn farside_is_far(addr: *const std::ffi::c_void) -> bool {
    contains(addr as usize)
}
