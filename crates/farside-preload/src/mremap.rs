//! `mremap`.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use crate::far::{self, Pager};
use crate::mmap::{READ_WRITE, SPACE, c_address, inside, unmap_far, whole_pages};
use crate::space::Kind;
use crate::sys::{self, PAGE, page_up};
use crate::thread;

/// Younger than the C library's headers.
const DONTUNMAP: c_int = 4;
const MAYMOVE: c_int = libc::MREMAP_MAYMOVE;
const FIXED: c_int = libc::MREMAP_FIXED;

/// What a program asks `mremap` for; lengths are whole pages.
struct Request {
    old: Range<usize>,
    new_len: usize,
    flags: c_int,
    new_addr: usize,
}

impl Request {
    fn has(&self, flag: c_int) -> bool {
        self.flags & flag != 0
    }

    fn pass(&self) -> Result<usize, c_int> {
        let Self { old, new_len, flags, new_addr } = self;
        // SAFETY: the program asked for it.
        unsafe { sys::mremap(old.start, old.len(), *new_len, *flags, *new_addr) }
    }

    /// The errors the kernel finds before it looks at any mapping.
    fn check(&self) -> Result<(), c_int> {
        let fixed = self.has(FIXED);
        let target = whole_pages(self.new_addr, self.new_len, libc::EINVAL);
        let bad = self.flags & !(MAYMOVE | FIXED | DONTUNMAP) != 0
            || (self.has(FIXED) || self.has(DONTUNMAP)) && !self.has(MAYMOVE)
            || self.has(DONTUNMAP) && self.old.len() != self.new_len
            || self.new_len == 0
            || fixed && target.is_err()
            || fixed && target.is_ok_and(|to| to.start < self.old.end && self.old.start < to.end);
        if bad { Err(libc::EINVAL) } else { Ok(()) }
    }
}

fn remap(
    old: usize,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: usize,
) -> Result<usize, c_int> {
    let pass = || {
        // SAFETY: the program asked for it.
        unsafe { sys::mremap(old, old_len, new_len, flags, new_addr) }
    };
    let Some(pager) = far::for_program() else { return pass() };
    let (Ok(range), Some(new_len)) = (whole_pages(old, old_len, libc::EINVAL), page_up(new_len))
    else {
        return pass();
    };
    let request = Request { old: range, new_len, flags, new_addr };
    let target = new_addr..new_addr.saturating_add(new_len);
    let into_far = request.has(FIXED) && !inside(&target).is_empty();
    if !far::contains(old) && !into_far {
        return pass();
    }
    request.check()?;
    thread::as_runtime(|| {
        if far::contains(old) {
            from_far(pager, &request)
        } else {
            into_region(pager, &request, target)
        }
    })
}

/// The program's mapping that covers all of `old`, as the kernel demands.
fn source(old: &Range<usize>) -> Result<Kind, c_int> {
    match SPACE.lock().at(old.start) {
        Some((area, kind)) if area.end >= old.end && kind != Kind::Heap => Ok(kind),
        _ => Err(libc::EFAULT),
    }
}

fn from_far(pager: &Pager, request: &Request) -> Result<usize, c_int> {
    // The second view of a mapping that length 0 asks for exists only for shared ones.
    if request.old.is_empty() {
        return Err(libc::EINVAL);
    }
    let prot = match source(&request.old)? {
        Kind::Mapped(prot) => prot,
        _ => return move_foreign(pager, request),
    };
    let old = request.old.clone();
    if request.has(FIXED) || request.has(DONTUNMAP) {
        return relocate(pager, request, prot);
    }
    if request.new_len <= old.len() {
        unmap_far(pager, old.start + request.new_len..old.end)?;
        return Ok(old.start);
    }
    if grow(pager, &old, request.new_len, prot) {
        return Ok(old.start);
    }
    if request.has(MAYMOVE) { relocate(pager, request, prot) } else { Err(libc::ENOMEM) }
}

/// Grows a mapping where it is, if the addresses behind it are free.
fn grow(pager: &Pager, old: &Range<usize>, new_len: usize, prot: c_int) -> bool {
    let Some(end) = old.start.checked_add(new_len) else { return false };
    let added = old.end..end;
    if inside(&added) != added
        || !SPACE.lock().is_free(added.clone())
        || !pager.extend(old.start, old.len(), new_len)
    {
        return false;
    }
    if prot != READ_WRITE && pager.protect(added.start, added.len(), prot).is_err() {
        pager.release(added.start, added.len());
        return false;
    }
    SPACE.lock().insert(added, Kind::Mapped(prot));
    far::note_large(old.start as *mut c_void, new_len);
    true
}

/// Moves a far mapping to another place of the program's or of our choice.
fn relocate(pager: &Pager, request: &Request, prot: c_int) -> Result<usize, c_int> {
    let target = match request.has(FIXED) {
        true => request.new_addr..request.new_addr + request.new_len,
        false => {
            let start = pager.reserve(request.new_len, PAGE).ok_or(libc::ENOMEM)?;
            start..start + request.new_len
        }
    };
    if inside(&target) != target {
        return leave_region(pager, request, prot, target);
    }
    if request.has(FIXED) {
        unmap_far(pager, target.clone())?;
        if !pager.claim(target.start, target.len()) {
            return Err(libc::ENOMEM);
        }
    }
    let moved = request.old.len().min(request.new_len);
    if let Err(error) = move_content(pager, request.old.start, target.start, moved, prot) {
        pager.release(target.start, target.len());
        return Err(error);
    }
    if prot != READ_WRITE {
        pager.protect(target.start, target.len(), prot)?;
    }
    SPACE.lock().insert(target.clone(), Kind::Mapped(prot));
    far::note_large(target.start as *mut c_void, target.len());
    finish_source(pager, request)?;
    Ok(target.start)
}

/// Moves `len` bytes of content. The pages are made accessible first: the pager moves content, not
/// protection.
fn move_content(
    pager: &Pager,
    from: usize,
    to: usize,
    len: usize,
    prot: c_int,
) -> Result<(), c_int> {
    if prot == READ_WRITE {
        return pager.relocate(from, to, len);
    }
    pager.protect(from, len, READ_WRITE)?;
    let result = pager.relocate(from, to, len);
    pager.protect(from, len, prot)?;
    result
}

/// After the content moved away: the old mapping goes, or stays and reads as zeros.
fn finish_source(pager: &Pager, request: &Request) -> Result<(), c_int> {
    if request.has(DONTUNMAP) {
        pager.discard(request.old.start, request.old.len());
        return Ok(());
    }
    unmap_far(pager, request.old.clone())
}

/// Moves a far mapping to a fixed place that is not, or not wholly, in the far region: its content is
/// copied into memory of the kernel's own.
fn leave_region(
    pager: &Pager,
    request: &Request,
    prot: c_int,
    target: Range<usize>,
) -> Result<usize, c_int> {
    prepare_target(pager, &target)?;
    // SAFETY: the program gave the target range up, and no other thread may use the source while it
    // is being moved. Both ranges are mapped readable and writable when they are copied.
    unsafe {
        sys::mmap_anonymous(target.start, target.len(), READ_WRITE, libc::MAP_FIXED)?;
        if prot & libc::PROT_READ == 0 {
            pager.protect(request.old.start, request.old.len(), READ_WRITE)?;
        }
        std::ptr::copy_nonoverlapping(
            request.old.start as *const u8,
            target.start as *mut u8,
            request.old.len().min(request.new_len),
        );
        sys::mprotect(target.start, target.len(), prot)?;
    }
    finish_source(pager, request)?;
    Ok(target.start)
}

/// Moves a mapping of the kernel's own to a fixed place in the far region.
fn into_region(pager: &Pager, request: &Request, target: Range<usize>) -> Result<usize, c_int> {
    prepare_target(pager, &target)?;
    request.pass()
}

/// Takes the part of `target` that lies in the far region out of management.
fn prepare_target(pager: &Pager, target: &Range<usize>) -> Result<(), c_int> {
    let far = inside(target);
    if far.is_empty() {
        return Ok(());
    }
    unmap_far(pager, far.clone())?;
    if !pager.claim(far.start, far.len()) {
        return Err(libc::ENOMEM);
    }
    pager.make_foreign(far.start, far.len());
    SPACE.lock().insert(far, Kind::Foreign);
    Ok(())
}

/// Resizes or moves a foreign mapping inside the far region; what it leaves returns to management.
fn move_foreign(pager: &Pager, request: &Request) -> Result<usize, c_int> {
    let old = request.old.clone();
    if request.has(FIXED) {
        let target = request.new_addr..request.new_addr + request.new_len;
        prepare_target(pager, &target)?;
    }
    let moved = request.pass()?;
    let left = if moved == old.start { old.start + request.new_len..old.end } else { old };
    if !left.is_empty() && !request.has(DONTUNMAP) {
        unmap_far(pager, left)?;
    }
    Ok(moved)
}

/// `mremap`. The fifth argument counts only with `MREMAP_FIXED` and is otherwise whatever the caller
/// left in its register.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    old: *mut c_void,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: *mut c_void,
) -> *mut c_void {
    c_address(remap(old as usize, old_len, new_len, flags, new_addr as usize))
}
