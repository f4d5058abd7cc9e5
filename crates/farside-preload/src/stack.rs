//! Where a thread of the program has its stack while it is inside the runtime.
//!
//! Programs that switch between stacks of their own allocate these, so that they are far memory. A thread that used
//! such a stack with the pager's locks in hand would wait for a handler which waits for these locks. So inside the
//! runtime a thread runs on a local stack, and the pages of its own one that are used from there are kept here.

use std::arch::global_asm;
use std::ffi::c_void;

use farside_pager::service::Service;

use crate::lock::Lock;
use crate::{far, sys};

/// Length of a local stack, in bytes.
const LENGTH: usize = 256 << 10;

/// What is used of the caller's stack: so many bytes below the place where it is left, and above.
const BELOW: usize = 512;
const ABOVE: usize = 3072;

/// Local stacks that nobody uses now; a thread that finds none makes one.
const MOST_IDLE: usize = 64;

struct Idle {
    tops: [usize; MOST_IDLE],
    count: usize,
}

static IDLE: Lock<Idle> = Lock::new(Idle { tops: [0; MOST_IDLE], count: 0 });

fn take() -> Option<usize> {
    let idle = &mut *IDLE.lock();
    if idle.count > 0 {
        idle.count -= 1;
        return Some(idle.tops[idle.count]);
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, at a place that the kernel chooses.
    let start = unsafe {
        sys::mmap_anonymous(0, LENGTH, protection, libc::MAP_STACK | libc::MAP_NORESERVE)
    };
    start.ok().map(|start| start + LENGTH)
}

fn give(top: usize) {
    let idle = &mut *IDLE.lock();
    if let Some(place) = idle.tops.get_mut(idle.count) {
        *place = top;
        idle.count += 1;
    } else {
        // A stack that cannot be unmapped stays mapped, and harms nobody.
        // SAFETY: it was mapped by `take`, and nobody uses it.
        let _ = unsafe { sys::munmap(top - LENGTH, LENGTH) };
    }
}

/// Runs `f` on a local stack, if the caller's is far memory.
#[inline]
pub fn on_local<R>(f: impl FnOnce() -> R) -> R {
    let mark = 0u8;
    let here = std::ptr::from_ref(std::hint::black_box(&mark)) as usize;
    match far::service() {
        Some(service) if far::contains(here) => on_another(service, f),
        _ => f(),
    }
}

struct Call<F, R> {
    service: &'static Service,
    f: Option<F>,
    result: Option<R>,
}

#[cold]
fn on_another<F: FnOnce() -> R, R>(service: &'static Service, f: F) -> R {
    let Some(top) = take() else { return f() };
    let mut call = Call { service, f: Some(f), result: None };
    // SAFETY: the stack is nobody else's, and `call` is what `run` takes it for.
    unsafe { farside_call_on(top, run::<F, R>, (&raw mut call).cast()) };
    give(top);
    match call.result {
        Some(result) => result,
        // What runs here ends the process if it panics.
        None => std::process::abort(),
    }
}

/// What is called on the local stack.
extern "C" fn run<F: FnOnce() -> R, R>(call: *mut c_void) {
    let from = call as usize - BELOW;
    // SAFETY: `on_another` hands over its own, which nobody uses meanwhile. No lock is held yet.
    let call = unsafe { &mut *call.cast::<Call<F, R>>() };
    let service = call.service;
    let kept = service.hold(from, BELOW + ABOVE);
    call.result = call.f.take().map(|f| f());
    service.pager().let_go(from, BELOW + ABOVE, kept);
}

// Callers are told apart by walking through all of this, so that it says where it leaves the other stack.
global_asm!(
    ".pushsection .text.farside_call_on,\"ax\",@progbits",
    ".hidden farside_call_on",
    ".globl farside_call_on",
    ".type farside_call_on,@function",
    "farside_call_on:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, rdi",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size farside_call_on, .-farside_call_on",
    ".popsection",
);

unsafe extern "C" {
    /// Calls `function(argument)` with another stack, `top` being its end.
    ///
    /// # Safety
    /// `top` is the aligned end of a stack that nobody uses, and the function may be called.
    fn farside_call_on(top: usize, function: extern "C" fn(*mut c_void), argument: *mut c_void);
}
