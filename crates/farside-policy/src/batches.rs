//! How much is done at once: what the pager and its simulation have to agree on.

/// Most pages that one transition handles.
pub const BATCH: usize = 512;

/// Pages evicted together when room is needed.
pub const RECLAIM_BATCH: u64 = 64;

/// Pages on either side that come back with a watched page that is used.
pub const RESCUED_BESIDE: usize = 16;

/// Runs of pages shorter than this are watched only if
/// [`UseForecast`](crate::forecast::UseForecast) says that it pays.
pub const WATCHED_RUN: usize = 8;

/// Victims to ask for when `want` more pages are to fit under a limit of `limit` pages.
pub fn victims(want: u64, limit: u64) -> usize {
    want.max(RECLAIM_BATCH.min(limit / 8)).min(BATCH as u64) as usize
}

/// Frames that are kept free under a limit of `limit` pages, where pages are evicted before room is needed: two batches,
/// but no more than memory can spare.
pub fn kept_free(limit: u64) -> u64 {
    (2 * RECLAIM_BATCH).min(limit / 8)
}

/// Pages to watch at most when so many victims were asked for: more than leave, until the policy
/// watches as many as it wants to.
pub const fn watched(victims: usize) -> usize {
    2 * victims
}

/// Pages to populate at a first touch, the touched one included, when `grown` pages before or
/// behind it have been touched, and `used` pages of at most `limit` are.
pub fn populated(grown: u64, used: u64, limit: u64) -> u64 {
    let free = limit.saturating_sub(used);
    // With plenty of room a small cluster is cheaper than the faults it saves.
    let least = if free > limit / 4 { 16 } else { 1 };
    // Near the limit a batch must not push out what is in use, unless long growth promises that it
    // will be used itself.
    let promised = (grown / 8).min(limit / 64);
    let most = (free / 8).max(promised).clamp(least, BATCH as u64);
    grown.clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_with_the_limit_and_the_need() {
        assert_eq!([256, 512, 100_000].map(|limit| victims(1, limit)), [32, 64, 64]);
        assert_eq!([65, 5_000].map(|want| victims(want, 100_000)), [65, 512]);
        assert_eq!(victims(1, 1), 1);
    }

    #[test]
    fn runs_of_first_touches_grow_while_there_is_room() {
        assert_eq!([0, 100, 10_000].map(|grown| populated(grown, 0, 10_000)), [16, 100, 512]);
        // A quarter is free, and less.
        assert_eq!(populated(1_000, 7_500, 10_000), 312);
        assert_eq!([0, 1_000].map(|grown| populated(grown, 9_900, 10_000)), [1, 125]);
        // Nothing is free, but growth is long: an eighth of it, and of the limit a 64th.
        assert_eq!(populated(4_000, 10_000, 10_000), 156);
    }
}
