//! Belady's MIN: the fewest misses any policy can have (IBM Systems Journal, 1966).
//!
//! A resident page is known by the time of its next use, and that time by the trace's next uses alone.
//! So the resident pages are bits, one for each time; the page to give up is the last of them.

use crate::next_use::NEVER;

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

/// A set of times: a bit for each, a bit for each word of bits, and so on.
struct Times {
    levels: Vec<Vec<u64>>,
}

impl Times {
    fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut bits = len.max(1);
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
            bits = words;
        }
    }

    fn put(&mut self, time: usize) {
        let mut index = time;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            let empty = *word == 0;
            *word |= 1 << (index % 64);
            if !empty {
                return;
            }
            index /= 64;
        }
    }

    /// Takes `time` out; whether it was in.
    fn take(&mut self, time: usize) -> bool {
        let bit = 1 << (time % 64);
        if self.levels[0][time / 64] & bit == 0 {
            return false;
        }
        let mut index = time;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                break;
            }
            index /= 64;
        }
        true
    }

    fn last(&self) -> Option<usize> {
        let mut index = 0;
        for level in self.levels.iter().rev() {
            index = index * 64 + level[index].checked_ilog2()? as usize;
        }
        Some(index)
    }
}
