//! `fork`: every lock of this library is free, and its data whole, in both processes.
//!
//! Handlers registered first run last before a `fork` and first after it. Ours are registered before
//! the allocator's, so that the locks are taken in their order, the allocator's first, and the pager
//! stands still for the shortest time. Neither the pager nor anything else in these handlers may use
//! the program's allocator, whose locks this thread holds.
//!
//! Before the allocator's locks comes that of the C library's list of streams, which `fork` takes after all
//! handlers, and for its own allocator's sake before that one's: a thread that flushes all streams has it
//! while it waits for a stream whose thread wants memory.

use std::ffi::CStr;
use std::mem::transmute;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use farside_os::descriptor::Room;

use crate::lock::Lock;
use crate::{far, next, runtime_heap, section, start, sys, thread};

static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Registers the handlers, once. To be called before the allocator is used for the first time.
pub fn register() {
    if REGISTERED.load(Relaxed) || REGISTERED.swap(true, Relaxed) {
        return;
    }
    // SAFETY: the handlers are functions of a library that is never unloaded.
    let error = unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
    if error != 0 {
        sys::complain(&["farside: no memory to prepare for fork\n"]);
    }
}

/// A function of the C library without arguments, if it has it.
struct Known {
    name: &'static CStr,
    at: AtomicUsize,
}

impl Known {
    const fn new(name: &'static CStr) -> Self {
        Self { name, at: AtomicUsize::new(0) }
    }

    fn is_there(&self) -> bool {
        next::find(self.name, &self.at) != 0
    }

    fn call(&self) {
        let at = self.at.load(Relaxed);
        if at != 0 {
            // SAFETY: the symbols of these names take no arguments and return nothing.
            unsafe { transmute::<usize, unsafe extern "C" fn()>(at)() };
        }
    }
}

/// What guards the list of all streams: a lock that a thread may take several times.
static LOCK_STREAMS: Known = Known::new(c"_IO_list_lock");
static UNLOCK_STREAMS: Known = Known::new(c"_IO_list_unlock");
static RESET_STREAMS: Known = Known::new(c"_IO_list_resetlock");

/// Registers the handlers that run before the allocator's, which have to be registered by now.
pub fn register_streams() {
    let all = [&LOCK_STREAMS, &UNLOCK_STREAMS, &RESET_STREAMS];
    if !all.iter().all(|function| function.is_there()) {
        return;
    }
    // SAFETY: the handlers are functions of a library that is never unloaded.
    let error = unsafe {
        libc::pthread_atfork(Some(lock_streams), Some(unlock_streams), Some(reset_streams))
    };
    if error != 0 {
        sys::complain(&["farside: no memory to prepare for fork\n"]);
    }
}

unsafe extern "C" fn lock_streams() {
    LOCK_STREAMS.call();
}

unsafe extern "C" fn unlock_streams() {
    UNLOCK_STREAMS.call();
}

/// `fork` has done so if it knew of other threads.
unsafe extern "C" fn reset_streams() {
    RESET_STREAMS.call();
}

/// The forking thread's blocked signals: a handler that ran meanwhile would wait at the closed gate
/// for its own thread.
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Room for the descriptors of a fork, while it is under way.
static ROOM: Lock<Option<Room>> = Lock::new(None);

unsafe extern "C" fn prepare() {
    let signals = sys::set_signal_mask(!0);
    thread::close_runtime();
    SIGNALS.store(signals, Relaxed);
    if let Some(service) = far::service() {
        thread::in_runtime_state(|| {
            *ROOM.lock() = Some(Room::make());
            section::before_fork();
            service.before_fork();
        });
    }
    runtime_heap::before_fork();
}

unsafe extern "C" fn in_parent() {
    runtime_heap::after_fork();
    if let Some(service) = far::service() {
        thread::in_runtime_state(|| {
            service.after_fork_in_parent();
            *ROOM.lock() = None;
        });
    }
    release();
}

unsafe extern "C" fn in_child() {
    runtime_heap::after_fork();
    if let Some(service) = far::service() {
        thread::in_runtime_state(|| {
            start::go_on_in_child(service);
            if let Some(room) = ROOM.lock().take() {
                room.give_up_in_child();
            }
        });
    }
    release();
}

/// Gives back what [`prepare`] took.
fn release() {
    let signals = SIGNALS.load(Relaxed);
    thread::open_runtime();
    sys::set_signal_mask(signals);
}
