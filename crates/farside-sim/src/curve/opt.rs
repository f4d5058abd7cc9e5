//! The exact curve of Belady's MIN in one pass.

use super::Distances;
use crate::next_use::NEVER;

/// Numbers in a block, of which the greatest is known.
const FAN: usize = 16;

/// Stack distances of MIN.
///
/// MIN gives up the page that is used last, whatever the size of memory, so its memories form a stack
/// (Mattson and others, 1970). A page that comes to the top pushes the one that was there down; on its
/// way down to the place that became free it is exchanged for each page it meets that is used later. Those
/// pages are found by a tree of maxima (compare Bilardi, Ekanadham and Pattnaik, 2011). Pages are known by
/// the time of their next use.
#[derive(Debug)]
pub struct OptDistances {
    stack: Maxima,
    /// By time: where in the stack the page used then is.
    places: Vec<u32>,
}

impl OptDistances {
    /// The distances of a trace with the given [next uses](crate::next_use::next_uses).
    pub fn of(next: &[u32]) -> Distances {
        let pages = next.iter().filter(|next| **next == NEVER).count();
        let mut stack = Self { stack: Maxima::new(pages), places: vec![NEVER; next.len()] };
        let mut distances = Distances::default();
        let mut known = 0;
        for (now, &next) in next.iter().enumerate() {
            match stack.places[now] {
                NEVER => {
                    distances.add_cold();
                    stack.bring_up(known, next);
                    known += 1;
                }
                place => {
                    distances.add(place as usize + 1);
                    stack.bring_up(place as usize, next);
                }
            }
        }
        distances
    }

    /// Brings the page at `place` to the top; its next use is at `next`.
    fn bring_up(&mut self, place: usize, next: u32) {
        let mut carried = self.put(0, next);
        if place == 0 {
            return;
        }
        let mut from = 1;
        while let Some(found) = self.stack.first_above(carried, from, place) {
            carried = self.put(found, carried);
            from = found + 1;
        }
        self.put(place, carried);
    }

    /// Puts the page that is used at `time` in `place`; returns what was there.
    fn put(&mut self, place: usize, time: u32) -> u32 {
        if let Some(at) = self.places.get_mut(time as usize) {
            *at = place as u32;
        }
        self.stack.replace(place, time)
    }
}

/// A list of numbers with the maxima of its blocks, of blocks of these, and so on.
#[derive(Debug)]
struct Maxima {
    levels: Vec<Vec<u32>>,
}

impl Maxima {
    /// `len` zeros.
    fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut blocks = len;
        loop {
            let numbers = blocks.max(1).next_multiple_of(FAN);
            levels.push(vec![0; numbers]);
            blocks = numbers / FAN;
            if blocks == 1 {
                return Self { levels };
            }
        }
    }

    fn replace(&mut self, index: usize, value: u32) -> u32 {
        let old = std::mem::replace(&mut self.levels[0][index], value);
        let mut block = index / FAN;
        for depth in 1..self.levels.len() {
            let below = &self.levels[depth - 1][block * FAN..][..FAN];
            let most = below.iter().copied().max().unwrap_or(0);
            if std::mem::replace(&mut self.levels[depth][block], most) == most {
                break;
            }
            block /= FAN;
        }
        old
    }

    /// The first place from `from` on and before `end` with a number above `value`.
    fn first_above(&self, value: u32, from: usize, end: usize) -> Option<usize> {
        let (mut depth, mut index) = (0, from);
        // Upwards, to the right of what was searched, until a block has one.
        loop {
            let level = self.levels.get(depth)?;
            if index >= level.len() || index << (depth as u32 * FAN.ilog2()) >= end {
                return None;
            }
            let block_end = (index / FAN + 1) * FAN;
            if let Some(at) = level[index..block_end].iter().position(|other| *other > value) {
                index += at;
                break;
            }
            index = block_end / FAN;
            depth += 1;
        }
        for level in self.levels[..depth].iter().rev() {
            let block = &level[index * FAN..][..FAN];
            index = index * FAN + block.iter().position(|other| *other > value)?;
        }
        (index < end).then_some(index)
    }
}
