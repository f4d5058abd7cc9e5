//! `sigaction`, `signal` and their like, and `pthread_cancel`: whether functions of the program may run on a thread while
//! that is in the runtime. Only then does it have to keep signals off, for two system calls each time.

use std::ffi::{CStr, c_int};
use std::mem::transmute;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use libc::{pthread_t, sighandler_t};

use crate::mmap::c_result;
use crate::{next, thread};

/// Whether the program ever had a handler, or ended a thread from another.
static HANDLED: AtomicBool = AtomicBool::new(false);

/// Whether a signal may run something of the program's.
#[inline]
pub fn may_run_handlers() -> bool {
    HANDLED.load(Acquire)
}

/// From now on signals may run something of the program's.
fn expect_handlers() {
    if HANDLED.load(Relaxed) {
        return;
    }
    if thread::in_runtime() {
        HANDLED.store(true, Release);
        return;
    }
    // Whoever is in the runtime now does not keep signals off.
    thread::close_runtime();
    HANDLED.store(true, Release);
    thread::open_runtime();
}

fn is_handler(handler: sighandler_t) -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN, libc::SIG_ERR, SIG_HOLD].contains(&handler)
}

/// Of `sigset`: the signal is blocked, rather than handled.
const SIG_HOLD: sighandler_t = 2;

unsafe extern "C" {
    fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
}

/// Looks up what is called in place of these functions: a signal handler, which may call them, cannot do that.
pub fn find() {
    for (name, known) in [
        (c"signal", &LIBC_SIGNAL),
        (c"sysv_signal", &LIBC_SYSV_SIGNAL),
        (c"sigset", &LIBC_SIGSET),
        (c"pthread_cancel", &LIBC_CANCEL),
    ] {
        next::find(name, known);
    }
}

type Signal = unsafe extern "C" fn(c_int, sighandler_t) -> sighandler_t;

/// Installs a handler by the C library's function of that name.
fn install(name: &CStr, known: &AtomicUsize, signal: c_int, handler: sighandler_t) -> sighandler_t {
    if is_handler(handler) {
        expect_handlers();
    }
    match next::find(name, known) {
        0 => c_result(Err(libc::ENOSYS)) as sighandler_t,
        // SAFETY: the symbol of this name has this type; the program asked for it.
        function => unsafe { transmute::<usize, Signal>(function)(signal, handler) },
    }
}

/// `sigaction`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller passes none, or one that can be read.
    if unsafe { new.as_ref() }.is_some_and(|new| is_handler(new.sa_sigaction)) {
        expect_handlers();
    }
    // SAFETY: the caller's contract is the same.
    unsafe { __sigaction(signal, new, old) }
}

static LIBC_SIGNAL: AtomicUsize = AtomicUsize::new(0);

/// `signal`.
#[unsafe(no_mangle)]
pub extern "C" fn signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    install(c"signal", &LIBC_SIGNAL, number, handler)
}

/// `bsd_signal`.
#[unsafe(no_mangle)]
pub extern "C" fn bsd_signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    signal(number, handler)
}

/// `ssignal`.
#[unsafe(no_mangle)]
pub extern "C" fn ssignal(number: c_int, handler: sighandler_t) -> sighandler_t {
    signal(number, handler)
}

static LIBC_SYSV_SIGNAL: AtomicUsize = AtomicUsize::new(0);

/// `sysv_signal`.
#[unsafe(no_mangle)]
pub extern "C" fn sysv_signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    install(c"sysv_signal", &LIBC_SYSV_SIGNAL, number, handler)
}

/// What `signal` is in programs that ask for no more than a standard.
#[unsafe(no_mangle)]
pub extern "C" fn __sysv_signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    sysv_signal(number, handler)
}

static LIBC_SIGSET: AtomicUsize = AtomicUsize::new(0);

/// `sigset`.
#[unsafe(no_mangle)]
pub extern "C" fn sigset(number: c_int, handler: sighandler_t) -> sighandler_t {
    install(c"sigset", &LIBC_SIGSET, number, handler)
}

type Cancel = unsafe extern "C" fn(pthread_t) -> c_int;

static LIBC_CANCEL: AtomicUsize = AtomicUsize::new(0);

/// `pthread_cancel`, which is a signal to the C library's own handler.
#[unsafe(no_mangle)]
pub extern "C" fn pthread_cancel(thread: pthread_t) -> c_int {
    expect_handlers();
    match next::find(c"pthread_cancel", &LIBC_CANCEL) {
        0 => libc::ENOSYS,
        // SAFETY: the symbol of this name has this type; the program asked for it.
        function => unsafe { transmute::<usize, Cancel>(function)(thread) },
    }
}
