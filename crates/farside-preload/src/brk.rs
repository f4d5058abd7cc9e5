//! `brk` and `sbrk`: a heap that grows inside a reserved part of the far region.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::AtomicUsize;

use crate::far::{self, Pager};
use crate::lock::Lock;
use crate::mmap::{READ_WRITE, SPACE, c_result};
use crate::space::Kind;
use crate::sys::{self, PAGE, page_up};
use crate::{next, thread};

/// Most bytes the heap may reach.
const MOST: usize = 64 << 30;
/// It takes at most this share of the far region.
const SHARE: usize = 8;

/// Where the heap is.
pub struct Break {
    start: usize,
    /// The break: first byte behind the heap.
    current: usize,
    limit: usize,
}

/// The program's break; `start` 0 until it is asked for. Signals are blocked while it is locked.
pub static BREAK: Lock<Break> = Lock::new(Break { start: 0, current: 0, limit: 0 });

impl Break {
    /// Reserves the heap's addresses on the first call; false when the region is too full.
    fn ready(&mut self, pager: &Pager) -> bool {
        if self.start != 0 {
            return true;
        }
        let len = MOST.min(far::region().len() / SHARE) & !(PAGE - 1);
        let Some(start) = pager.reserve(len, PAGE) else { return false };
        if pager.protect(start, len, libc::PROT_NONE).is_err() {
            pager.release(start, len);
            return false;
        }
        SPACE.lock().insert(start..start + len, Kind::Mapped(libc::PROT_NONE));
        *self = Self { start, current: start, limit: start + len };
        true
    }

    /// Moves the break; memory between old and new break appears as zeros or is gone.
    fn set(&mut self, pager: &Pager, to: usize) -> Result<(), c_int> {
        if to < self.start || to > self.limit {
            return Err(libc::ENOMEM);
        }
        let pages = |addr: usize| page_up(addr).unwrap_or(self.limit);
        let (old, new) = (pages(self.current), pages(to));
        if new > old {
            change(pager, old..new, READ_WRITE)?;
        } else if new < old {
            pager.discard(new, old - new);
            change(pager, new..old, libc::PROT_NONE)?;
        }
        self.current = to;
        Ok(())
    }
}

fn change(pager: &Pager, range: Range<usize>, prot: c_int) -> Result<(), c_int> {
    pager.protect(range.start, range.len(), prot)?;
    SPACE.lock().insert(range, Kind::Mapped(prot));
    Ok(())
}

/// Runs `f` on the break, if there is far memory for it.
fn with_break<R>(f: impl FnOnce(&Pager, &mut Break) -> R) -> Option<R> {
    let pager = far::for_program()?;
    thread::as_runtime(|| {
        let mut held = BREAK.lock();
        if held.ready(pager) { Some(f(pager, &mut held)) } else { None }
    })
}

unsafe extern "C" {
    fn __sbrk(increment: isize) -> *mut c_void;
}

type Brk = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The C library's `brk`, once looked up.
static LIBC_BRK: AtomicUsize = AtomicUsize::new(0);

fn libc_brk(addr: *mut c_void) -> c_int {
    let function = next::find(c"brk", &LIBC_BRK);
    if function == 0 {
        return c_result(Err(libc::ENOMEM));
    }
    // SAFETY: the symbol of this name has this type; the program asked for the break.
    unsafe { std::mem::transmute::<usize, Brk>(function)(addr) }
}

/// `brk`.
#[unsafe(no_mangle)]
pub extern "C" fn brk(addr: *mut c_void) -> c_int {
    match with_break(|pager, held| held.set(pager, addr as usize)) {
        Some(result) => c_result(result),
        None => libc_brk(addr),
    }
}

/// `sbrk`.
#[unsafe(no_mangle)]
pub extern "C" fn sbrk(increment: isize) -> *mut c_void {
    let moved = with_break(|pager, held| {
        let before = held.current;
        let to = before.checked_add_signed(increment).ok_or(libc::ENOMEM)?;
        held.set(pager, to).map(|()| before)
    });
    match moved {
        Some(Ok(before)) => before as *mut c_void,
        Some(Err(error)) => {
            sys::set_errno(error);
            -1isize as *mut c_void
        }
        // SAFETY: the program asked for it.
        None => unsafe { __sbrk(increment) },
    }
}
