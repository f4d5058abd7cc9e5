//! Belady's MIN: the fewest misses any policy can have (IBM Systems Journal, 1966).
//!
//! A resident page is known by the time of its next use, and that time by the trace's next uses alone.
//! So the resident pages are bits, one for each time; the page to give up is the last of them.

use crate::next_use::NEVER;
use crate::times::Times;

/// Whether a page that misses has to be let in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// As in paging: the program cannot go on without it.
    Forced,
    /// A page may be used without being kept, if all others are used sooner.
    Optional,
}

/// Misses of MIN with a memory of `pages` pages; `next` are the trace's
/// [next uses](crate::next_use::next_uses).
pub fn misses(next: &[u32], pages: usize, insertion: Insertion) -> u64 {
    let mut resident = Times::new(next.len());
    // Resident pages that are not used again.
    let mut dead = 0;
    let (mut count, mut misses) = (0, 0);
    for (now, &next) in next.iter().enumerate() {
        if resident.take(now) {
            count -= 1;
        } else {
            misses += 1;
            if pages == 0 {
                continue;
            }
            if count == pages {
                if dead > 0 {
                    dead -= 1;
                } else if let Some(last) = resident.last() {
                    if insertion == Insertion::Optional && next as usize >= last {
                        continue;
                    }
                    resident.take(last);
                }
                count -= 1;
            }
        }
        count += 1;
        if next == NEVER {
            dead += 1;
        } else {
            resident.put(next as usize);
        }
    }
    misses
}
