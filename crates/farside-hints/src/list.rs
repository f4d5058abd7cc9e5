//! Lists of what the program will use.

use std::ffi::c_void;

use crate::view::view;

/// So many places are sent for together.
const SOME: usize = 64;

/// The program will use these values, in whatever order they lie in memory: the rows of a join, the keys of a batch. Sends
/// for what is far, and waits for nothing. Of each value the page where it begins is meant.
pub fn ahead<'a, T: ?Sized + 'a>(values: impl IntoIterator<Item = &'a T>) {
    if !view().has_far() {
        return;
    }
    let mut some = [std::ptr::null(); SOME];
    let mut count = 0;
    for value in values {
        let place = std::ptr::from_ref(value).cast::<c_void>();
        if view().is_served(place as usize, 1, false) {
            continue;
        }
        some[count] = place;
        count += 1;
        if count == SOME {
            send_for(&some);
            count = 0;
        }
    }
    send_for(&some[..count]);
}

fn send_for(places: &[*const c_void]) {
    if !places.is_empty()
        && let Some(foresee) = view().foresee
    {
        foresee(places.as_ptr(), places.len());
    }
}
