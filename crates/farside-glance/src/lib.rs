//! Memory that is asked for ahead of its use.
//!
//! A processor that comes to a place in memory which no cache has waits for it as long as hundreds of instructions take. Who
//! knows which places come next asks for them, and goes on with what comes before.

/// Asks the processor to have `places[index]` near; where there is no such place nothing happens.
///
/// It returns at once, and nothing can be told from it but the time that the next use takes.
#[inline(always)]
pub fn at<T>(places: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = places.as_ptr().wrapping_add(index);
        // SAFETY: this is a hint to the processor, which neither reads nor writes for the program and does not fault,
        // whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (places, index);
}

#[cfg(test)]
mod tests {
    #[test]
    fn places_that_are_not_there_do_no_harm() {
        let places = [1_u64, 2, 3];
        for index in [0, 2, 3, 1 << 20, usize::MAX / 16, usize::MAX] {
            super::at(&places, index);
            super::at::<u64>(&[], index);
        }
        assert_eq!(places, [1, 2, 3]);
    }
}
