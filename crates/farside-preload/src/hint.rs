//! Hints of the program: what is behind `farside_hint` of `farside.h`.

use std::cell::Cell;
use std::ffi::{c_int, c_long, c_uint, c_void};

use farside_pager::Hint;
use farside_pager::service::Service;

use crate::lock::Lock;
use crate::{far, sys, thread};

/// The version of [`View`] that programs must have been compiled with.
const VERSION: c_int = 1;

/// Flags of a hint.
const MUT: c_uint = 1;
const FLAG_BITS: u32 = 8;

/// `struct farside_view`: what the program sees of the pager's table.
#[repr(C)]
pub struct View {
    base: usize,
    length: usize,
    words: *const u64,
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
    let filled = View {
        base: region.start,
        length: region.len(),
        words: pager.words(),
        hint: Some(hint),
        start: Some(start),
        arrived: Some(arrived),
        foresee: Some(foresee),
        done: Some(done),
        pin: Some(pin),
        unpin: Some(unpin),
    };
    // SAFETY: the caller's view; nobody else writes to it.
    unsafe { view.write(filled) };
}

/// Of a list of addresses, those that one call of the pager is about.
const SOME: usize = 64;

/// The program will use a list of places that are not here.
extern "C" fn foresee(addresses: *const *const c_void, count: usize) {
    for first in (0..count).step_by(SOME) {
        // The list may be far memory, and must not be looked at by who has the pager's locks in hand.
        let some: [usize; SOME] = std::array::from_fn(|i| match first + i < count {
            // SAFETY: the caller's list is that long.
            true => unsafe { addresses.add(first + i).read() as usize },
            false => 0,
        });
        act(move |service| service.foresee(&some[..SOME.min(count - first)]));
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
extern "C" fn hint(address: *const c_void, size: usize, ahead: c_long, flags: c_uint) {
    let hint = hint_of(address, size, ahead, flags);
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
extern "C" fn start(address: *const c_void, size: usize, ahead: c_long, flags: c_uint) -> c_int {
    let hint = hint_of(address, size, ahead, flags);
    act(|service| service.start(&hint)).into()
}

/// Whether a task need not wait any more.
extern "C" fn arrived(address: *const c_void, size: usize) -> c_int {
    let hint = Hint { address: address as usize, size, ..Hint::default() };
    (!act(|service| service.is_awaited(&hint))).into()
}

fn hint_of(address: *const c_void, size: usize, ahead: c_long, flags: c_uint) -> Hint {
    Hint {
        address: address as usize,
        size,
        write: flags & MUT != 0,
        ahead,
        priority: (flags >> FLAG_BITS).min(u32::from(u8::MAX)) as u8,
    }
}

/// Acts as a part of the runtime; not in a signal handler that came while this thread was in it.
fn act<R: Default>(act: impl FnOnce(&Service) -> R) -> R {
    match far::service() {
        Some(service) if !thread::in_runtime() => thread::as_runtime(|| act(service)),
        _ => R::default(),
    }
}
