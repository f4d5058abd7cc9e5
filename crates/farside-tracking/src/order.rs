//! Slots in order of time, of which some are live, and the number of live ones behind any of them.
//!
//! The live slots are bits. Blocks of bits are counted, blocks of counts are summed, and so on up to a
//! short list. The number behind a slot is what is left of its block, of that block's group, and so on:
//! a handful of sums over short runs of numbers, which processors do many of at once. The whole takes a
//! fraction of a byte a slot and stays in the nearest cache.

/// Bits in a block.
const BLOCK: usize = 512;

/// Words of bits in a block.
const WORDS: usize = BLOCK / 64;

/// Counts that make one count of the level above.
const FAN: usize = 64;

/// A sequence of slots, dead or live.
#[derive(Clone, Debug, Default)]
pub struct OrderedSlots {
    bits: Vec<u64>,
    /// Live slots by block, then by group of [`FAN`] blocks, and so on to at most [`FAN`] counts.
    levels: Vec<Vec<u32>>,
}

impl OrderedSlots {
    /// Room for `slots` slots, all of them dead.
    pub fn new(slots: usize) -> Self {
        let blocks = slots.div_ceil(BLOCK).max(1);
        let mut levels = vec![vec![0; blocks]];
        let mut counts = blocks;
        while counts > FAN {
            counts = counts.div_ceil(FAN);
            levels.push(vec![0; counts]);
        }
        Self { bits: vec![0; blocks * WORDS], levels }
    }

    /// Number of slots there is room for.
    pub fn len(&self) -> usize {
        self.bits.len() * 64
    }

    /// Whether there is room for none.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Makes `slot` live; it was dead.
    #[inline]
    pub fn revive(&mut self, slot: usize) {
        self.bits[slot / 64] |= 1 << (slot % 64);
        let mut index = slot / BLOCK;
        for level in &mut self.levels {
            level[index] += 1;
            index /= FAN;
        }
    }

    /// Makes `slot` dead; it was live.
    #[inline]
    pub fn kill(&mut self, slot: usize) {
        self.bits[slot / 64] &= !(1 << (slot % 64));
        let mut index = slot / BLOCK;
        for level in &mut self.levels {
            level[index] -= 1;
            index /= FAN;
        }
    }

    /// Live slots behind `slot`, up to `end`, behind which all are dead.
    #[inline]
    pub fn live_behind(&self, slot: usize, end: usize) -> usize {
        let word = slot / 64;
        // Two steps, since a shift by 64 is none.
        let mut live = (self.bits[word] >> (slot % 64) >> 1).count_ones();
        let mut index = slot / BLOCK;
        for word in &self.bits[word + 1..(index + 1) * WORDS] {
            live += word.count_ones();
        }
        let mut last = end / BLOCK;
        for level in &self.levels {
            if index >= last {
                break;
            }
            // To the end of this group, and no further than there are live slots.
            let group = (index / FAN + 1) * FAN;
            let to = group.min(last + 1).min(level.len());
            live += level[index + 1..to].iter().sum::<u32>();
            index /= FAN;
            last /= FAN;
        }
        live as usize
    }

    /// The number that each live slot would have if the dead ones were taken out.
    pub fn ranks(&self) -> impl Fn(usize) -> usize + '_ {
        let mut before = Vec::with_capacity(self.levels[0].len());
        let mut sum = 0;
        for count in &self.levels[0] {
            before.push(sum);
            sum += *count as usize;
        }
        move |slot| {
            let (block, word) = (slot / BLOCK, slot / 64);
            let words = self.bits[block * WORDS..word].iter();
            let whole: u32 = words.map(|word| word.count_ones()).sum();
            let part = (self.bits[word] & ((1 << (slot % 64)) - 1)).count_ones();
            before[block] + (whole + part) as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn live_slots_are_counted(
            slots in 1..200_000_usize,
            changes in prop::collection::vec(any::<prop::sample::Index>(), 1..300),
        ) {
            let mut ordered = OrderedSlots::new(slots);
            let mut live = vec![false; slots];
            for change in changes {
                let slot = change.index(slots);
                live[slot] = !live[slot];
                if live[slot] { ordered.revive(slot) } else { ordered.kill(slot) }
            }
            let ranks = ordered.ranks();
            let last = live.iter().rposition(|live| *live).unwrap_or(0);
            let step = (slots / 50).max(1);
            for slot in (0..slots).step_by(step) {
                let behind = live[slot + 1..].iter().filter(|live| **live).count();
                prop_assert_eq!(ordered.live_behind(slot, last), behind);
                prop_assert_eq!(ordered.live_behind(slot, slots - 1), behind);
                let before = live[..slot].iter().filter(|live| **live).count();
                prop_assert_eq!(ranks(slot), before);
            }
        }
    }
}
