//! Moving frames on kernels that cannot (before Linux 6.8): their content is copied instead.
//!
//! A page is write-protected, copied to where it is to be, and dropped where it was. Whoever writes to
//! it meanwhile waits, as for a page that has been moved. What a real move refuses goes unnoticed,
//! though: a page that the kernel holds for direct input or output. What a device writes to it after
//! the copy is lost.

use std::result::Result;

use crate::memory::PAGE;
use crate::space::AddressSpace;
use crate::userfault::Partial;
use crate::{OsError, memory};

/// Bytes copied at once, through the stack.
const CHUNK: usize = 8 * PAGE;

/// Makes the content of present pages at `src` appear at absent pages at `dst`, and the pages at `src`
/// absent. Fails like a real move: what is behind the part that is done stays where it was.
pub fn move_frames(
    space: &impl AddressSpace,
    copy: impl Fn(usize, &[u8]) -> Result<(), Partial>,
    dst: usize,
    src: usize,
    len: usize,
) -> Result<(), Partial> {
    move_in_parts(space, &copy, dst, src, len, CHUNK)
}

/// Moves `step` bytes at a time.
fn move_in_parts(
    space: &impl AddressSpace,
    copy: &impl Fn(usize, &[u8]) -> Result<(), Partial>,
    dst: usize,
    src: usize,
    len: usize,
    step: usize,
) -> Result<(), Partial> {
    for done in (0..len).step_by(step) {
        move_part(space, copy, dst + done, src + done, step.min(len - done))
            .map_err(|partial| Partial { done: done + partial.done, ..partial })?;
    }
    Ok(())
}

fn move_part(
    space: &impl AddressSpace,
    copy: &impl Fn(usize, &[u8]) -> Result<(), Partial>,
    dst: usize,
    src: usize,
    len: usize,
) -> Result<(), Partial> {
    let nothing = |error: OsError| Partial { done: 0, errno: error.errno };
    // Reading an absent page would wait for the thread that serves it, which is this one.
    if !memory::is_present(src, len, "pages to be moved").map_err(nothing)? {
        return Err(Partial { done: 0, errno: libc::ENOENT });
    }
    match space.forbid_writes(src, len) {
        // Before Linux 6.3 that is also said of pages in more than one mapping.
        Err(error) if error.errno == libc::ENOENT && len > PAGE => {
            return move_in_parts(space, copy, dst, src, len, PAGE);
        }
        // Memory that is not registered is the caller's alone.
        Err(error) if error.errno != libc::ENOENT => return Err(nothing(error)),
        _ => {}
    }
    let mut buffer = [0; CHUNK];
    let content = &mut buffer[..len];
    let copied =
        space.read_protected(src, content).map_err(nothing).and_then(|()| copy(dst, content));
    let (done, result) = match copied {
        Ok(()) => (len, Ok(())),
        Err(partial) => (partial.done, Err(partial)),
    };
    if done > 0 {
        space.drop_pages(&[(src, done)]).map_err(nothing)?;
    }
    if done < len {
        // A page that stays protected is written again with the right that its next fault asks for.
        let _ = space.allow_writes(src + done, len - done);
    }
    result
}
