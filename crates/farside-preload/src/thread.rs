//! What the calling thread is: the program's or the runtime's.

use std::ffi::{c_int, c_void};

use crate::lock::Gate;
use crate::{runtime_heap, signals, stack, sys};

/// The thread has not allocated yet: its first allocation decides where its memory comes from.
pub const UNBOUND: u8 = 0;
/// A program thread that is bound to an arena, or a thread of a program that runs without far memory.
pub const READY: u8 = 1;
/// A thread of the runtime, or a program thread inside it: it must not be given far memory.
pub const RUNTIME: u8 = 2;

// The state lies in the thread's static block at a fixed offset, so that reading it is two
// instructions. Rust's own thread locals would call the dynamic linker for each access, and may
// allocate.
#[cfg(target_arch = "x86_64")]
mod cell {
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss.farside_thread_state,\"awT\",@nobits",
        ".hidden farside_thread_state",
        ".globl farside_thread_state",
        ".type farside_thread_state,@object",
        ".size farside_thread_state,1",
        "farside_thread_state:",
        ".zero 1",
        ".popsection",
    );

    #[inline(always)]
    pub fn get() -> u8 {
        let state: u32;
        // SAFETY: reads one byte of the calling thread's static block.
        unsafe {
            asm!(
                "mov {offset}, qword ptr [rip + farside_thread_state@GOTTPOFF]",
                "movzx {state:e}, byte ptr fs:[{offset}]",
                offset = out(reg) _,
                state = out(reg) state,
                options(nostack, preserves_flags, readonly),
            );
        }
        state as u8
    }

    #[inline(always)]
    pub fn set(state: u8) {
        // SAFETY: writes one byte of the calling thread's static block.
        unsafe {
            asm!(
                "mov {offset}, qword ptr [rip + farside_thread_state@GOTTPOFF]",
                "mov byte ptr fs:[{offset}], {state}",
                offset = out(reg) _,
                state = in(reg_byte) state,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod cell {
    use std::cell::Cell;

    thread_local!(static STATE: Cell<u8> = const { Cell::new(super::UNBOUND) });

    #[inline(always)]
    pub fn get() -> u8 {
        STATE.get()
    }

    #[inline(always)]
    pub fn set(state: u8) {
        STATE.set(state);
    }
}

pub use cell::{get as state, set as set_state};

/// Whether the calling thread is one of the runtime's or inside the runtime.
#[inline]
pub fn in_runtime() -> bool {
    state() == RUNTIME
}

/// Closed while the process forks: nobody is in the pager then, and none of its locks is held.
static GATE: Gate = Gate::new();

/// Runs `f` as a part of the runtime: it gets local memory, `errno` stays as it was, no fork happens
/// meanwhile, and no signal handler of the program runs, because a handler that maps memory would wait
/// for a lock its own thread holds. Not to be nested.
pub fn as_runtime<R>(f: impl FnOnce() -> R) -> R {
    let saved_signals = enter_runtime();
    let result = in_runtime_state(|| stack::on_local(f));
    GATE.leave();
    if let Some(signals) = saved_signals {
        sys::set_signal_mask(signals);
    }
    result
}

/// Goes through the gate; returns the signals that were blocked before, if there can be handlers.
fn enter_runtime() -> Option<sys::KernelSignals> {
    if !signals::may_run_handlers() {
        GATE.enter();
        if !signals::may_run_handlers() {
            return None;
        }
        // The first one was installed meanwhile.
        GATE.leave();
    }
    let signals = sys::set_signal_mask(!0);
    GATE.enter();
    Some(signals)
}

/// Runs `f` with local memory and puts `errno` back.
pub fn in_runtime_state<R>(f: impl FnOnce() -> R) -> R {
    let saved_errno = sys::errno();
    let saved_state = state();
    set_state(RUNTIME);
    let result = f();
    set_state(saved_state);
    sys::set_errno(saved_errno);
    result
}

/// Waits until no thread is in [`as_runtime`] and keeps others out, for a fork by this thread.
pub fn close_runtime() {
    GATE.close();
}

/// Ends what [`close_runtime`] began, in the parent and in the child.
pub fn open_runtime() {
    GATE.open();
}

/// Makes the calling thread one of the runtime's.
pub fn join_runtime() {
    set_state(RUNTIME);
}

type StartRoutine = extern "C" fn(*mut c_void) -> *mut c_void;

struct Start {
    routine: StartRoutine,
    argument: *mut c_void,
}

extern "C" fn run_runtime_thread(start: *mut c_void) -> *mut c_void {
    set_state(RUNTIME);
    // SAFETY: `__wrap_pthread_create` handed over a `Start` on the runtime heap, for this thread
    // alone.
    let Start { routine, argument } = unsafe {
        let start = start.cast::<Start>();
        let copy = start.read();
        runtime_heap::free(start.cast());
        copy
    };
    routine(argument)
}

unsafe extern "C" {
    fn __real_pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        routine: StartRoutine,
        argument: *mut c_void,
    ) -> c_int;
}

/// Stands for `pthread_create` in everything linked into this library: a thread made here is a thread
/// of the runtime before it runs its first instruction, and so is all that the C library allocates
/// for it. Its stack is new: one that the C library kept from a thread of the program's would bring
/// that thread's far memory with it, at a time when nobody may be able to fetch it.
///
/// # Safety
/// As `pthread_create`, without a stack in the attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: StartRoutine,
    argument: *mut c_void,
) -> c_int {
    let start = runtime_heap::allocate(size_of::<Start>(), align_of::<Start>()).cast::<Start>();
    if start.is_null() {
        return libc::EAGAIN;
    }
    // SAFETY: `start` is a fresh block of the right size; the rest is the caller's.
    let result = unsafe {
        start.write(Start { routine, argument });
        in_runtime_state(|| create_on_new_stack(thread, attributes, start))
    };
    if result != 0 {
        // SAFETY: no thread came to be that could own the block.
        unsafe { runtime_heap::free(start.cast()) };
    }
    result
}

/// Stack of a thread whose creator asks for none in particular, in bytes.
const STACK: usize = 256 << 10;

/// # Safety
/// As [`__wrap_pthread_create`].
unsafe fn create_on_new_stack(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: *mut Start,
) -> c_int {
    let mut size = STACK;
    // SAFETY: the attributes are the caller's, or a fresh set of our own; the stack is a new mapping,
    // which stays for ever, as the runtime's threads do.
    unsafe {
        if !attributes.is_null() {
            libc::pthread_attr_getstacksize(attributes, &mut size);
        }
        let size = size.next_multiple_of(sys::PAGE);
        let Ok(guard) = sys::mmap_anonymous(0, size + sys::PAGE, libc::PROT_NONE, libc::MAP_STACK)
        else {
            return libc::EAGAIN;
        };
        let stack = guard + sys::PAGE;
        let mut own = std::mem::zeroed::<libc::pthread_attr_t>();
        let mut error = sys::mprotect(stack, size, libc::PROT_READ | libc::PROT_WRITE).err();
        error = error.or_else(|| failure(libc::pthread_attr_init(&mut own)));
        error = error
            .or_else(|| failure(libc::pthread_attr_setstack(&mut own, stack as *mut c_void, size)));
        error = error.or_else(|| {
            failure(__real_pthread_create(thread, &own, run_runtime_thread, start.cast()))
        });
        libc::pthread_attr_destroy(&mut own);
        if error.is_some() {
            let _ = sys::munmap(guard, size + sys::PAGE);
        }
        error.unwrap_or(0)
    }
}

fn failure(result: c_int) -> Option<c_int> {
    (result != 0).then_some(result)
}
