//! `farside_region`: parts of memory with a replacement policy of their own. See `farside.h`.

use std::ffi::{CStr, c_char, c_int, c_void};

use farside_pager::AssignError;

use crate::{hint, sys};

/// Longest name of a policy that is looked at.
const LONGEST: usize = 31;

/// A name, where looking at it fetches nothing.
struct Name {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Name {
    /// What the program's own pointer points to; `None` if that is longer than any name.
    ///
    /// # Safety
    /// `text` is a string.
    unsafe fn copy(text: *const c_char) -> Option<Self> {
        // SAFETY: the caller's string.
        let text = unsafe { CStr::from_ptr(text) }.to_bytes();
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Self { bytes, length: text.len() })
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// Of the C interface: the pages of a range have a replacement policy of their own, or that of the run again.
///
/// # Safety
/// `replacement` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_region(
    address: *const c_void,
    size: usize,
    replacement: *const c_char,
) -> c_int {
    let name = if replacement.is_null() {
        None
    } else {
        // SAFETY: the caller's string. It may be far memory, and is read before the pager is entered.
        match unsafe { Name::copy(replacement) } {
            Some(name) => Some(name),
            None => return fail(libc::EINVAL),
        }
    };
    let name = name.as_ref().map(Name::text);
    let refused = hint::act(|service| service.pager().assign(address as usize, size, name).err());
    match refused {
        None => 0,
        Some(AssignError::TooMany) => fail(libc::ENOSPC),
        Some(AssignError::UnknownPolicy | AssignError::NoPages) => fail(libc::EINVAL),
    }
}

fn fail(errno: c_int) -> c_int {
    sys::set_errno(errno);
    -1
}
