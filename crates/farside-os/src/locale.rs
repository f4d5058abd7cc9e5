//! The C library's notion of language and letters.

/// A locale that stands for the one of the whole process, as `locale.h` has it.
const GLOBAL: libc::locale_t = -1isize as libc::locale_t;

/// The tables of letters that each new thread looks up, as `langinfo.h` numbers them: classes, upper and lower case.
const LETTERS: [libc::nl_item; 3] = [0, 1, 3];

/// Reads what the C library reads when a thread starts, before anything of the thread itself runs. A program that has
/// chosen a locale has it in memory of its own, which may be far.
pub fn read_as_new_threads_do() {
    // SAFETY: a thread may use the locale of the process, and then again its own; names of items are only looked up, in
    // tables that live as long as that locale is in use.
    unsafe {
        let own = libc::uselocale(GLOBAL);
        for item in LETTERS {
            std::hint::black_box(libc::nl_langinfo(item));
        }
        libc::uselocale(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_locale_stays_the_own() {
        // SAFETY: makes and uses a locale of this thread.
        unsafe {
            let own = libc::newlocale(libc::LC_ALL_MASK, c"C".as_ptr(), std::ptr::null_mut());
            libc::uselocale(own);
            read_as_new_threads_do();
            assert_eq!(libc::uselocale(GLOBAL), own);
            libc::freelocale(own);
        }
    }
}
