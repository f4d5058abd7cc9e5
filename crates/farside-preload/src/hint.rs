//! Hints of the program: what is behind `farside_hint` of `farside.h`.

use std::arch::global_asm;
use std::cell::Cell;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use farside_pager::Hint;
use farside_pager::service::Service;

use crate::lock::Lock;
use crate::{far, sys, thread};

/// The version of [`View`] that programs must have been compiled with.
const VERSION: c_int = 2;

/// Flags of a hint.
const MUT: c_uint = 1;
const FLAG_BITS: u32 = 8;

/// `struct farside_view`: what the program sees of the pager's table.
#[repr(C)]
pub struct View {
    base: usize,
    length: usize,
    here: *const u8,
    hint: Option<extern "C" fn(*const c_void, usize, c_long, c_uint)>,
    start: Option<extern "C" fn(*const c_void, usize, c_long, c_uint) -> c_int>,
    arrived: Option<extern "C" fn(*const c_void, usize) -> c_int>,
    foresee: Option<extern "C" fn(*const *const c_void, usize)>,
    done: Option<extern "C" fn(*const c_void, usize)>,
    pin: Option<extern "C" fn(*const c_void, usize) -> c_int>,
    unpin: Option<extern "C" fn(*const c_void, usize)>,
}

/// Most files of a program whose views are filled in at start-up.
const MOST_WAITING: usize = 256;

/// Views of files that are initialised before there is far memory.
static WAITING: Lock<Waiting> = Lock::new(Waiting { views: [0; MOST_WAITING], count: 0 });

/// Addresses of views.
struct Waiting {
    views: [usize; MOST_WAITING],
    count: usize,
}

/// Of the C interface: the program, or a library that is loaded, wants to give hints.
///
/// # Safety
/// `view` is null or points to a view of that version, which stays where it is at least until start-up is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_attach(view: *mut View, version: c_int) {
    if view.is_null() || version != VERSION {
        return;
    }
    if far::is_open() {
        // SAFETY: the caller's view.
        unsafe { fill(view) };
        return;
    }
    let waiting = &mut *WAITING.lock();
    // Hints of a file beyond that are never more than a comparison.
    if let Some(place) = waiting.views.get_mut(waiting.count) {
        *place = view as usize;
        waiting.count += 1;
    }
}

/// There is far memory now: those who have been waiting see it.
pub fn open() {
    let waiting = &mut *WAITING.lock();
    for view in &waiting.views[..std::mem::take(&mut waiting.count)] {
        // SAFETY: who left it promised that it stays until now.
        unsafe { fill(*view as *mut View) };
    }
}

/// # Safety
/// `view` points to a view that can be written.
unsafe fn fill(view: *mut View) {
    let Some(pager) = far::pager() else { return };
    let region = far::region();
    let (base, length, here) = match watched_bytes() {
        Some(bytes) => (0, WATCHED_LENGTH, bytes),
        None => (region.start, region.len(), pager.shown()),
    };
    let filled = View {
        base,
        length,
        here,
        hint: Some(farside_hint_from),
        start: Some(farside_start_from),
        arrived: Some(arrived),
        foresee: Some(farside_foresee_from),
        done: Some(done),
        pin: Some(pin),
        unpin: Some(unpin),
    };
    // SAFETY: the caller's view; nobody else writes to it.
    unsafe { view.write(filled) };
}

/// What a watched program is told that far memory is: all that user space can address, and nothing of it here, so that
/// every hint comes to us.
const WATCHED_LENGTH: usize = 1 << 47;

static WATCHED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Has every hint come here, wherever it points to and whether or not the page is here, for it to be counted. Without
/// room in the address space for so many bytes only those are counted that find something missing.
pub fn watch() {
    let bytes = WATCHED_LENGTH / farside_os::memory::PAGE;
    // SAFETY: a new mapping, at a place that the kernel chooses.
    let shown = unsafe { sys::mmap_anonymous(0, bytes, libc::PROT_READ, libc::MAP_NORESERVE) };
    WATCHED_BYTES.store(shown.unwrap_or(0), Relaxed);
}

fn watched_bytes() -> Option<*const u8> {
    let bytes = WATCHED_BYTES.load(Relaxed);
    (bytes != 0).then_some(bytes as *const u8)
}

// Pass on where they were called from as one more argument.
global_asm!(
    ".globl farside_hint_from",
    ".hidden farside_hint_from",
    ".type farside_hint_from, @function",
    "farside_hint_from:",
    ".cfi_startproc",
    "mov r8, [rsp]",
    "jmp {hint}",
    ".cfi_endproc",
    ".size farside_hint_from, . - farside_hint_from",
    ".globl farside_start_from",
    ".hidden farside_start_from",
    ".type farside_start_from, @function",
    "farside_start_from:",
    ".cfi_startproc",
    "mov r8, [rsp]",
    "jmp {start}",
    ".cfi_endproc",
    ".size farside_start_from, . - farside_start_from",
    ".globl farside_foresee_from",
    ".hidden farside_foresee_from",
    ".type farside_foresee_from, @function",
    "farside_foresee_from:",
    ".cfi_startproc",
    "mov rdx, [rsp]",
    "jmp {foresee}",
    ".cfi_endproc",
    ".size farside_foresee_from, . - farside_foresee_from",
    hint = sym hint,
    start = sym start,
    foresee = sym foresee,
);

unsafe extern "C" {
    safe fn farside_hint_from(address: *const c_void, size: usize, ahead: c_long, flags: c_uint);
    safe fn farside_start_from(
        address: *const c_void,
        size: usize,
        ahead: c_long,
        flags: c_uint,
    ) -> c_int;
    safe fn farside_foresee_from(addresses: *const *const c_void, count: usize);
}

/// Of a list of addresses, those that one call of the pager is about.
const SOME: usize = 64;

/// The program will use a list of places that are not here.
extern "C" fn foresee(addresses: *const *const c_void, count: usize, given_at: usize) {
    for first in (0..count).step_by(SOME) {
        // The list may be far memory, and must not be looked at by who has the pager's locks in hand.
        let some: [usize; SOME] = std::array::from_fn(|i| match first + i < count {
            // SAFETY: the caller's list is that long.
            true => unsafe { addresses.add(first + i).read() as usize },
            false => 0,
        });
        act(move |service| service.foresee(&some[..SOME.min(count - first)], given_at));
    }
}

/// The program will not use a range again soon.
extern "C" fn done(address: *const c_void, size: usize) {
    act(|service| service.pager().done(address as usize, size));
}

/// A range is to stay here.
extern "C" fn pin(address: *const c_void, size: usize) -> c_int {
    if act(|service| service.pin(address as usize, size)) {
        return 0;
    }
    sys::set_errno(libc::ENOMEM);
    -1
}

/// A range need not stay here any more.
extern "C" fn unpin(address: *const c_void, size: usize) {
    act(|service| service.pager().unpin(address as usize, size));
}

/// What the calling thread does while what it needs is on its way.
#[derive(Copy, Clone)]
struct Hook {
    call: extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

thread_local! {
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
}

/// Of the C interface: whenever this thread would wait for what a hint is about, `call` is called instead, again and
/// again, to do something else. Null: it waits.
#[unsafe(no_mangle)]
pub extern "C" fn farside_wait_with(
    call: Option<extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) {
    HOOK.set(call.map(|call| Hook { call, argument }));
}

/// A page is not here, or is not writable.
extern "C" fn hint(
    address: *const c_void,
    size: usize,
    ahead: c_long,
    flags: c_uint,
    given_at: usize,
) {
    let hint = hint_of(address, size, ahead, flags, given_at);
    match HOOK.get() {
        None => act(|service| service.hint(&hint)),
        Some(Hook { call, argument }) => {
            if act(|service| service.start(&hint)) {
                // The task may go on in another thread, which has a hook of its own.
                while act(|service| service.is_awaited(&hint)) {
                    call(argument);
                }
            }
        }
    }
}

/// A task needs a page that is not here, or is not writable; whether it has to wait.
extern "C" fn start(
    address: *const c_void,
    size: usize,
    ahead: c_long,
    flags: c_uint,
    given_at: usize,
) -> c_int {
    let hint = hint_of(address, size, ahead, flags, given_at);
    act(|service| service.start(&hint)).into()
}

/// Whether a task need not wait any more.
extern "C" fn arrived(address: *const c_void, size: usize) -> c_int {
    let hint = Hint { address: address as usize, size, ..Hint::default() };
    (!act(|service| service.is_awaited(&hint))).into()
}

fn hint_of(
    address: *const c_void,
    size: usize,
    ahead: c_long,
    flags: c_uint,
    given_at: usize,
) -> Hint {
    Hint {
        address: address as usize,
        size,
        write: flags & MUT != 0,
        ahead,
        priority: (flags >> FLAG_BITS).min(u32::from(u8::MAX)) as u8,
        given_at,
    }
}

/// Acts as a part of the runtime; not in a signal handler that came while this thread was in it.
pub fn act<R: Default>(act: impl FnOnce(&Service) -> R) -> R {
    match far::service() {
        Some(service) if !thread::in_runtime() => thread::as_runtime(|| act(service)),
        _ => R::default(),
    }
}
