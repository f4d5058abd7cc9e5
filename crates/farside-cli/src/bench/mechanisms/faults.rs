//! What one fault costs, by the way it is delivered and resolved.

use std::io::Result;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use super::super::rawfault::served;
use super::super::uffd::{
    self, FEATURE_MOVE, FEATURE_SIGBUS, FEATURE_WP_ASYNC, FEATURE_WP_UNPOPULATED, MISSING, PAGE,
    PROTECT, Pages, Uffd,
};
use super::batches;

/// What the signal handlers work on: they can be handed nothing else.
static FD: AtomicI32 = AtomicI32::new(-1);
static FROM: AtomicUsize = AtomicUsize::new(0);
static TO: AtomicUsize = AtomicUsize::new(0);

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Runs `work` with a handler installed for `signal`, then restores what was there.
fn with_handler(signal: libc::c_int, handler: Handler, work: impl FnOnce()) -> Result<()> {
    // SAFETY: all zeros is a valid sigaction.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = handler as usize;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    // SAFETY: both are valid; the handlers below make system calls and use atomics only.
    uffd::check(unsafe { libc::sigaction(signal, &new, &mut old) })?;
    work();
    // SAFETY: old was filled in above.
    uffd::check(unsafe { libc::sigaction(signal, &old, std::ptr::null_mut()) })
}

fn faulting_page(info: *mut libc::siginfo_t) -> usize {
    // SAFETY: the kernel passes a valid siginfo with an address for SIGBUS and SIGSEGV.
    unsafe { (*info).si_addr() as usize & !(PAGE - 1) }
}

/// A handler cannot report; without its page the thread would fault for ever.
fn must(result: Result<()>) {
    if result.is_err_and(|e| e.raw_os_error() != Some(libc::EEXIST)) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(70) };
    }
}

extern "C" fn by_copy(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    must(uffd::copy(FD.load(Relaxed), faulting_page(info), FROM.load(Relaxed), 1, false));
}

extern "C" fn by_move(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let page = faulting_page(info);
    let from = FROM.load(Relaxed) + (page - TO.load(Relaxed));
    must(uffd::mv(FD.load(Relaxed), page, from, 1, false));
}

extern "C" fn by_continue(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    must(uffd::resume(FD.load(Relaxed), faulting_page(info), 1, false));
}

extern "C" fn by_mprotect(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let (page, mode) = (faulting_page(info), libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: only pages of the measured mapping fault while this handler is installed.
    must(uffd::check(unsafe { libc::mprotect(page as *mut _, PAGE, mode) }));
}

/// Touches all pages in order; nanoseconds per page.
fn touch(memory: &Pages, write: bool) -> f64 {
    let begin = Instant::now();
    for page in 0..memory.len() {
        if write {
            memory.write(page, 2);
        } else {
            std::hint::black_box(memory.read(page));
        }
    }
    begin.elapsed().as_nanos() as f64 / memory.len() as f64
}

pub(super) fn first_touch(pages: usize) -> Result<f64> {
    Ok(touch(&Pages::anonymous(pages)?, true))
}

fn by_thread(pages: usize, waits: bool) -> Result<f64> {
    let memory = Pages::anonymous(pages)?;
    let source = Pages::anonymous(1)?;
    source.fill(7);
    let uffd = Uffd::new(0)?;
    uffd.register(&memory, MISSING)?;
    let mut ns = 0.0;
    served(uffd.fd(), source.at(0), waits, || ns = touch(&memory, false))?;
    Ok(ns)
}

pub(super) fn polled(pages: usize) -> Result<f64> {
    by_thread(pages, true)
}

pub(super) fn spinning(pages: usize) -> Result<f64> {
    by_thread(pages, false)
}

pub(super) fn sigbus_copy(pages: usize) -> Result<f64> {
    let memory = Pages::anonymous(pages)?;
    let source = Pages::anonymous(1)?;
    source.fill(7);
    let uffd = Uffd::new(FEATURE_SIGBUS)?;
    uffd.register(&memory, MISSING)?;
    FD.store(uffd.fd(), Relaxed);
    FROM.store(source.at(0), Relaxed);
    let mut ns = 0.0;
    with_handler(libc::SIGBUS, by_copy, || ns = touch(&memory, false))?;
    Ok(ns)
}

pub(super) fn sigbus_move(pages: usize) -> Result<f64> {
    let (memory, staging) = (Pages::anonymous(pages)?, Pages::anonymous(pages)?);
    staging.fill(7);
    let uffd = Uffd::new(FEATURE_SIGBUS | FEATURE_MOVE)?;
    uffd.register(&memory, MISSING)?;
    FD.store(uffd.fd(), Relaxed);
    FROM.store(staging.at(0), Relaxed);
    TO.store(memory.at(0), Relaxed);
    let mut ns = 0.0;
    with_handler(libc::SIGBUS, by_move, || ns = touch(&memory, false))?;
    Ok(ns)
}

pub(super) fn sigbus_continue(pages: usize) -> Result<f64> {
    let (_file, memory, uffd) = batches::minor(pages, FEATURE_SIGBUS)?;
    FD.store(uffd.fd(), Relaxed);
    let mut ns = 0.0;
    with_handler(libc::SIGBUS, by_continue, || ns = touch(&memory, false))?;
    Ok(ns)
}

pub(super) fn sigsegv(pages: usize) -> Result<f64> {
    let memory = Pages::forbidden(pages)?;
    let mut ns = 0.0;
    with_handler(libc::SIGSEGV, by_mprotect, || ns = touch(&memory, true))?;
    Ok(ns)
}

pub(super) fn wp_async(pages: usize) -> Result<f64> {
    let memory = Pages::anonymous(pages)?;
    memory.fill(1);
    let uffd = Uffd::new(FEATURE_WP_ASYNC | FEATURE_WP_UNPOPULATED)?;
    uffd.register(&memory, PROTECT)?;
    uffd::protect(uffd.fd(), memory.at(0), pages)?;
    Ok(touch(&memory, true))
}
