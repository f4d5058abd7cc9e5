//! A tape for a run: what the program may do, and mostly does not, so that all is tried that a tape can order.

use std::os::fd::AsFd;

use farside_pager::Replay;
use farside_wire::tape_image::{Action, Builder, Image, Pace, Region};

use crate::random::Random;

/// Seeds from here on follow a tape.
pub const ON_TAPE: u64 = 1 << 63;

/// Where the program allocates from, as far as the pager is told.
const SITE: u64 = 7;

/// Threads that the program is told to have, by the kernel's id.
const THREADS: [u32; 3] = [10, 11, 12];

/// Allocations that are on the tape, and pages of each.
const REGIONS: u64 = 8;
const PAGES: u64 = 40;

/// The thread that faults on a page.
pub fn thread_of(page: u64) -> u32 {
    THREADS[page as usize / 16 % THREADS.len()]
}

/// A tape of stretches that are used, one after the other, fetched and given up again, in whatever order.
pub fn drawn(seed: u64) -> Replay {
    let r = &mut Random::new(!seed);
    let mut builder = Builder::default();
    for nth in 0..REGIONS {
        let first = nth * PAGES;
        builder.region(Region { site: SITE, nth: nth as u32, first, count: PAGES });
    }
    for number in 0..r.between(1, THREADS.len() as u64) {
        builder.thread(number as u32);
        for _ in 0..r.between(1, 60) {
            let action = r.pick(&[Action::Touch, Action::Fetch, Action::Fetch, Action::Evict]);
            let first = r.below(REGIONS * PAGES);
            let count = r.between(1, 20).min(REGIONS * PAGES - first);
            (first..first + count).for_each(|page| builder.push(action, page));
        }
    }
    let pace = Pace { batch: r.pick(&[1, 4, 16]), lookahead: r.pick(&[0, 4, 16, 64]) };
    let image = builder.finish(pace).expect("there is memory for a tape");
    let image = Image::open(image.as_fd()).expect("it is an image");
    let processors = if is_moved(seed) { 16 } else { 1 };
    Replay::new(image, || SITE, || THREADS.to_vec(), processors)
}

/// Whether the node moves the pages of this run.
pub fn is_moved(seed: u64) -> bool {
    seed >= ON_TAPE && seed.is_multiple_of(2)
}

/// After how many operations the threads of this run wait for one another, if they do.
pub fn meets_after(seed: u64) -> Option<u64> {
    (seed >= ON_TAPE && (seed >> 4) % 8 > 5).then(|| 1 + (seed >> 7) % 4)
}
