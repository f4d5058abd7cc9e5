//! `fork`: every lock of this library is free, and its data whole, in both processes.
//!
//! Handlers registered first run last before a `fork` and first after it. Ours are registered before
//! the allocator's, so that the locks are taken in their order, the allocator's first, and the pager
//! stands still for the shortest time. Neither the pager nor anything else in these handlers may use
//! the program's allocator, whose locks this thread holds.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use farside_os::descriptor::Room;

use crate::lock::Lock;
use crate::{far, runtime_heap, section, start, sys, thread};

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
