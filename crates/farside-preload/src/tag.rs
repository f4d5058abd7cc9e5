//! `farside_tag` and `farside_untag`: which words are pointers. See `farside.h`.

use std::ffi::{c_int, c_void};

use crate::{hint, sys};

/// Of the C interface: the words of a range are pointers.
#[unsafe(no_mangle)]
pub extern "C" fn farside_tag(address: *const c_void, size: usize) -> c_int {
    say(address, size, true)
}

/// Of the C interface: the words of a range are no pointers.
#[unsafe(no_mangle)]
pub extern "C" fn farside_untag(address: *const c_void, size: usize) -> c_int {
    say(address, size, false)
}

fn say(address: *const c_void, size: usize, are: bool) -> c_int {
    let said = |service: &farside_pager::service::Service| {
        service.pager().say_pointers(address as usize, size, are).err()
    };
    match hint::act(said) {
        None => 0,
        Some(error) => {
            sys::set_errno(error.errno);
            -1
        }
    }
}
