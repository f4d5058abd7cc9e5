//! `mmap`, `munmap`, `mprotect` and `madvise`: each range is divided at the borders of the far region
//! and of the mappings in it, and each part goes to the pager or to the kernel.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use crate::far::{self, Pager};
use crate::lock::Lock;
use crate::space::{Kind, Piece, Space};
use crate::sys::{self, PAGE, page_up};
use crate::thread;

/// What is mapped in the far region. Signals are blocked while it is locked, see
/// [`thread::as_runtime`].
pub static SPACE: Lock<Space> = Lock::new(Space::new());

/// Protection the pager gives to fresh memory.
pub const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Mappings that must be the kernel's own: thread stacks and what grows like one, huge pages, memory
/// locked into place, addresses below 4 GiB.
const LOCAL_FLAGS: c_int = libc::MAP_STACK
    | libc::MAP_GROWSDOWN
    | libc::MAP_HUGETLB
    | libc::MAP_LOCKED
    | libc::MAP_32BIT
    | libc::MAP_SHARED;

/// What a program asks `mmap` for.
#[derive(Copy, Clone)]
struct Request {
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
}

impl Request {
    /// Whether far memory can serve it.
    fn wants_far(&self) -> bool {
        const PRIVATE: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        self.flags & PRIVATE == PRIVATE
            && self.flags & LOCAL_FLAGS == 0
            && self.prot & !READ_WRITE == 0
            && self.len != 0
    }

    fn is_fixed(&self) -> bool {
        self.flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0
    }

    /// Passes the request, or its part in `range`, to the kernel.
    fn pass(&self, range: Range<usize>) -> Result<usize, c_int> {
        let offset = self.offset + (range.start - self.addr) as libc::off_t;
        // SAFETY: the program asked for it.
        unsafe { sys::mmap(range.start, range.len(), self.prot, self.flags, self.fd, offset) }
    }
}

/// A range of whole pages, or the `errno` value for one that is none.
pub fn whole_pages(addr: usize, len: usize, error: c_int) -> Result<Range<usize>, c_int> {
    let end = page_up(len).and_then(|len| addr.checked_add(len)).ok_or(error)?;
    if addr.is_multiple_of(PAGE) { Ok(addr..end) } else { Err(libc::EINVAL) }
}

/// The part of `range` in the far region; empty if there is none.
pub fn inside(range: &Range<usize>) -> Range<usize> {
    let region = far::region();
    let start = range.start.max(region.start).min(range.end);
    start..range.end.min(region.end).max(start)
}

/// The parts of `range` before and after the far region; either may be empty.
fn outside(range: &Range<usize>) -> [Range<usize>; 2] {
    let inside = inside(range);
    if inside.is_empty() {
        return [range.clone(), range.end..range.end];
    }
    [range.start..inside.start, inside.end..range.end]
}

fn map(request: Request) -> Result<usize, c_int> {
    let whole = request.addr..request.addr.wrapping_add(request.len);
    let Some(pager) = far::for_program() else { return pass_whole(&request) };
    if request.is_fixed() {
        let Ok(range) = whole_pages(request.addr, request.len, libc::ENOMEM) else {
            return pass_whole(&request);
        };
        if inside(&range).is_empty() {
            return request.pass(whole);
        }
        return thread::as_runtime(|| map_fixed(pager, &request, range));
    }
    if request.wants_far()
        && let Some(addr) = thread::as_runtime(|| map_far(pager, &request))
    {
        return Ok(addr);
    }
    pass_whole(&request)
}

fn pass_whole(request: &Request) -> Result<usize, c_int> {
    let Request { addr, len, prot, flags, fd, offset } = *request;
    // SAFETY: the program asked for it.
    unsafe { sys::mmap(addr, len, prot, flags, fd, offset) }
}

/// A new far mapping, at the hint if that is free; `None` when the region is used up.
fn map_far(pager: &Pager, request: &Request) -> Option<usize> {
    let len = page_up(request.len)?;
    let start = reserve_at_hint(pager, request.addr, len).or_else(|| pager.reserve(len, PAGE))?;
    if request.prot != READ_WRITE && pager.protect(start, len, request.prot).is_err() {
        pager.release(start, len);
        return None;
    }
    SPACE.lock().insert(start..start + len, Kind::Mapped(request.prot));
    far::note_large(start as *mut c_void, len);
    Some(start)
}

fn reserve_at_hint(pager: &Pager, hint: usize, len: usize) -> Option<usize> {
    let range = hint..hint.checked_add(len)?;
    let usable = hint.is_multiple_of(PAGE)
        && far::contains(hint)
        && inside(&range) == range
        && SPACE.lock().is_free(range);
    (usable && pager.claim(hint, len)).then_some(hint)
}

/// `MAP_FIXED` over a range that lies at least partly in the far region.
fn map_fixed(pager: &Pager, request: &Request, range: Range<usize>) -> Result<usize, c_int> {
    let far = inside(&range);
    let pieces = SPACE.lock().pieces(far.clone());
    let no_replace = request.flags & libc::MAP_FIXED_NOREPLACE != 0;
    if no_replace && pieces.iter().any(|piece| piece.kind.is_some()) {
        return Err(libc::EEXIST);
    }
    if !request.wants_far() {
        return map_foreign(pager, request, far, &pieces);
    }
    for part in outside(&range).into_iter().filter(|part| !part.is_empty()) {
        request.pass(part)?;
    }
    for piece in &pieces {
        make_fresh(pager, piece)?;
        let (start, len) = (piece.range.start, piece.range.len());
        // Fresh and claimed memory is readable and writable already.
        let inherits = matches!(piece.kind, Some(Kind::Mapped(prot)) if prot != READ_WRITE);
        if request.prot != READ_WRITE || inherits {
            pager.protect(start, len, request.prot)?;
        }
    }
    SPACE.lock().insert(far, Kind::Mapped(request.prot));
    Ok(request.addr)
}

/// Turns whatever is in a piece of the region into managed memory that reads as zeros.
fn make_fresh(pager: &Pager, piece: &Piece) -> Result<(), c_int> {
    let (start, len) = (piece.range.start, piece.range.len());
    match piece.kind {
        Some(Kind::Foreign) => pager.adopt(start, len),
        Some(Kind::Mapped(_) | Kind::Heap) => {
            pager.discard(start, len);
            Ok(())
        }
        None if pager.claim(start, len) => Ok(()),
        None => Err(libc::ENOMEM),
    }
}

/// Puts a mapping of the kernel's own into the far region.
fn map_foreign(
    pager: &Pager,
    request: &Request,
    far: Range<usize>,
    pieces: &[Piece],
) -> Result<usize, c_int> {
    for piece in pieces {
        let (start, len) = (piece.range.start, piece.range.len());
        if piece.kind.is_none() && !pager.claim(start, len) {
            return Err(libc::ENOMEM);
        }
        if piece.kind != Some(Kind::Foreign) {
            pager.make_foreign(start, len);
        }
    }
    // The kernel sees the region as mapped, so its own test would refuse.
    let flags = (request.flags & !libc::MAP_FIXED_NOREPLACE) | libc::MAP_FIXED;
    let mapped = pass_whole(&Request { flags, ..*request });
    if mapped.is_ok() {
        SPACE.lock().insert(far, Kind::Foreign);
        return mapped;
    }
    for piece in pieces.iter().filter(|piece| piece.kind != Some(Kind::Foreign)) {
        let (start, len) = (piece.range.start, piece.range.len());
        pager.adopt(start, len)?;
        match piece.kind {
            Some(Kind::Mapped(prot)) if prot != READ_WRITE => pager.protect(start, len, prot)?,
            None => pager.release(start, len),
            _ => {}
        }
    }
    mapped
}

fn unmap(addr: usize, len: usize) -> Result<(), c_int> {
    let pager = far::for_program();
    let range = whole_pages(addr, len, libc::EINVAL);
    let (Some(pager), Ok(range)) = (pager, range) else {
        // SAFETY: the program asked for it.
        return unsafe { sys::munmap(addr, len) };
    };
    if len == 0 {
        return Err(libc::EINVAL);
    }
    for part in outside(&range).into_iter().filter(|part| !part.is_empty()) {
        // SAFETY: the program asked for it.
        unsafe { sys::munmap(part.start, part.len()) }?;
    }
    let far = inside(&range);
    if far.is_empty() {
        return Ok(());
    }
    thread::as_runtime(|| unmap_far(pager, far))
}

/// Gives up all that the program mapped in a part of the far region.
pub fn unmap_far(pager: &Pager, range: Range<usize>) -> Result<(), c_int> {
    let pieces = {
        let mut space = SPACE.lock();
        let pieces = space.pieces(range);
        for piece in pieces.iter().filter(|piece| is_program(piece.kind)) {
            space.remove(piece.range.clone());
        }
        pieces
    };
    // Other threads get these addresses only once they are released.
    for piece in pieces.iter().filter(|piece| is_program(piece.kind)) {
        let (start, len) = (piece.range.start, piece.range.len());
        if piece.kind == Some(Kind::Foreign) {
            pager.adopt(start, len)?;
        }
        pager.release(start, len);
    }
    Ok(())
}

/// Whether a part of the region is the program's to unmap.
fn is_program(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Mapped(_) | Kind::Foreign))
}

fn protect(addr: usize, len: usize, prot: c_int) -> Result<(), c_int> {
    const KNOWN: c_int = READ_WRITE | libc::PROT_EXEC;
    let pager = far::for_program();
    let range = whole_pages(addr, len, libc::ENOMEM);
    let (Some(pager), Ok(range), 0) = (pager, range, prot & !KNOWN) else {
        // SAFETY: the program asked for it.
        return unsafe { sys::mprotect(addr, len, prot) };
    };
    let [before, after] = outside(&range);
    protect_kernel(before, prot)?;
    let far = inside(&range);
    if !far.is_empty() {
        thread::as_runtime(|| protect_far(pager, far, prot))?;
    }
    protect_kernel(after, prot)
}

fn protect_kernel(range: Range<usize>, prot: c_int) -> Result<(), c_int> {
    if range.is_empty() {
        return Ok(());
    }
    // SAFETY: the program asked for it.
    unsafe { sys::mprotect(range.start, range.len(), prot) }
}

fn protect_far(pager: &Pager, range: Range<usize>, prot: c_int) -> Result<(), c_int> {
    let pieces = SPACE.lock().pieces(range);
    for Piece { range, kind } in pieces {
        match kind {
            None => return Err(libc::ENOMEM),
            Some(Kind::Foreign) => protect_kernel(range, prot)?,
            Some(Kind::Heap) => pager.protect(range.start, range.len(), prot)?,
            Some(Kind::Mapped(_)) => {
                pager.protect(range.start, range.len(), prot)?;
                SPACE.lock().insert(range, Kind::Mapped(prot));
            }
        }
    }
    Ok(())
}

fn advise(addr: usize, len: usize, advice: c_int) -> Result<(), c_int> {
    let pager = far::for_program();
    let range = whole_pages(addr, len, libc::EINVAL);
    let (Some(pager), Ok(range)) = (pager, range) else {
        return advise_kernel(addr..addr.wrapping_add(len), advice);
    };
    let [before, after] = outside(&range);
    let far = inside(&range);
    if far.is_empty() {
        return advise_kernel(addr..addr + len, advice);
    }
    // As in the kernel, a hole is reported only after the advice was applied around it.
    let mut result = Ok(());
    if !before.is_empty() {
        result = hole_aside(advise_kernel(before, advice))?;
    }
    result = result.and(hole_aside(thread::as_runtime(|| advise_far(pager, far, advice)))?);
    if !after.is_empty() {
        result = result.and(hole_aside(advise_kernel(after, advice))?);
    }
    result
}

/// Sets "there was a hole" aside: only other errors end the work.
fn hole_aside(result: Result<(), c_int>) -> Result<Result<(), c_int>, c_int> {
    match result {
        Err(error) if error != libc::ENOMEM => Err(error),
        result => Ok(result),
    }
}

fn advise_kernel(range: Range<usize>, advice: c_int) -> Result<(), c_int> {
    // SAFETY: the program asked for it.
    unsafe { sys::madvise(range.start, range.end.wrapping_sub(range.start), advice) }
}

fn advise_far(pager: &Pager, range: Range<usize>, advice: c_int) -> Result<(), c_int> {
    let pieces = SPACE.lock().pieces(range);
    let mut result = Ok(());
    for Piece { range, kind } in pieces {
        match kind {
            None => result = Err(libc::ENOMEM),
            Some(Kind::Foreign) => advise_kernel(range, advice)?,
            Some(Kind::Mapped(_) | Kind::Heap) => advise_managed(pager, range, advice)?,
        }
    }
    result
}

/// `MADV_DONTNEED_LOCKED`, `MADV_POPULATE_READ` and `_WRITE`, `MADV_COLLAPSE`: younger than the C
/// library's headers.
const DONTNEED_LOCKED: c_int = 24;
const POPULATE_READ: c_int = 22;
const POPULATE_WRITE: c_int = 23;
const COLLAPSE: c_int = 25;
/// `MADV_GUARD_INSTALL` and `_REMOVE`: the pager's page table does not know guard pages; programs
/// must cope with kernels that do not either.
const GUARD_INSTALL: c_int = 102;
const GUARD_REMOVE: c_int = 103;

fn advise_managed(pager: &Pager, range: Range<usize>, advice: c_int) -> Result<(), c_int> {
    let (start, len) = (range.start, range.len());
    match advice {
        libc::MADV_DONTNEED | libc::MADV_FREE | DONTNEED_LOCKED => pager.discard(start, len),
        libc::MADV_WILLNEED | POPULATE_READ | POPULATE_WRITE => pager.will_need(start, len),
        libc::MADV_COLD | libc::MADV_PAGEOUT => pager.cold(start, len),
        // Pages of far memory come and go one by one: what concerns their order, their size or
        // sharing them has no counterpart.
        libc::MADV_NORMAL
        | libc::MADV_RANDOM
        | libc::MADV_SEQUENTIAL
        | libc::MADV_HUGEPAGE
        | libc::MADV_NOHUGEPAGE
        | COLLAPSE
        | libc::MADV_MERGEABLE
        | libc::MADV_UNMERGEABLE => {}
        libc::MADV_REMOVE | GUARD_INSTALL | GUARD_REMOVE => return Err(libc::EINVAL),
        _ => return advise_kernel(range, advice),
    }
    Ok(())
}

/// The C convention: -1 and `errno`, or the value.
pub fn c_result(result: Result<(), c_int>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            sys::set_errno(error);
            -1
        }
    }
}

/// The C convention of functions that return an address.
pub fn c_address(result: Result<usize, c_int>) -> *mut c_void {
    match result {
        Ok(addr) => addr as *mut c_void,
        Err(error) => {
            sys::set_errno(error);
            libc::MAP_FAILED
        }
    }
}

/// `mmap`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    c_address(map(Request { addr: addr as usize, len, prot, flags, fd, offset }))
}

/// `mmap64`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off64_t,
) -> *mut c_void {
    c_address(map(Request { addr: addr as usize, len, prot, flags, fd, offset }))
}

/// `munmap`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(addr: *mut c_void, len: usize) -> c_int {
    c_result(unmap(addr as usize, len))
}

/// `mprotect`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    c_result(protect(addr as usize, len, prot))
}

/// `madvise`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    c_result(advise(addr as usize, len, advice))
}

/// `posix_madvise`: returns the error; its `POSIX_MADV_DONTNEED` keeps the content.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    if advice == libc::POSIX_MADV_DONTNEED {
        return 0;
    }
    advise(addr as usize, len, advice).err().unwrap_or(0)
}
