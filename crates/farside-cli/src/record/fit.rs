//! Microsets that fit into the local memory of a recorded run.

use farside_os::memory::PAGE;
use farside_pager::settings::{LEAST_LIMIT, Limit, MICROSET};

/// Smallest microset that is chosen: with less, recording takes far longer.
const LEAST_MICROSET: usize = 16;

/// Pages that are certainly local under a limit: a percentage begins with the least that works.
pub fn local_pages(limit: Limit) -> u64 {
    match limit {
        Limit::Bytes(bytes) => bytes / PAGE as u64,
        limit if limit.is_none() => u64::MAX,
        Limit::PercentOfTouched(_) => LEAST_LIMIT / PAGE as u64,
    }
}

/// Whether the pages of a microset are still local when the next one has been used.
pub fn fits(microset: usize, pages: u64) -> bool {
    (microset as u64).saturating_mul(2) <= pages
}

/// The microset to record in with so many local pages: 1,024 where that fits, else a power of two that
/// fits four times.
pub fn largest(pages: u64) -> usize {
    if fits(MICROSET, pages) {
        return MICROSET;
    }
    (1 << (pages / 4).max(1).ilog2()).max(LEAST_MICROSET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microsets_leave_room_for_the_next_ones() {
        let found = [1 << 30, 2048, 2047, 1024, 1023, 256, 1].map(largest);
        assert_eq!(found, [1024, 1024, 256, 256, 128, 64, 16]);
        let of = |percent| local_pages(Limit::PercentOfTouched(percent));
        assert_eq!((largest(of(20.0)), largest(of(100.0))), (64, 1024));
        assert!(fits(128, of(20.0)) && !fits(129, of(20.0)));
        assert!(fits(usize::MAX, of(100.0)));
    }
}
