//! How often a section of some shape would miss, from a sample of the accesses to it (Mira, section 3.4; SHARDS).
//!
//! A run writes down all accesses to some units of a section, which are the same distance apart. Numbered by that
//! distance, they are a section with as many times fewer slots, which sees as many times fewer misses. Lines that
//! share a set of a section are in the sample all or none, so that they meet there as they would.

use std::collections::HashSet;

use crate::lines::Lines;
use crate::trace::BLOCK;

/// How a section places its lines.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ways {
    /// In one slot.
    Direct,
    /// In so many slots.
    Set(u32),
    /// Anywhere.
    Full,
}

impl Ways {
    /// From the number of lines in a set: 1 is direct, 0 is all.
    pub fn of(ways: u32) -> Self {
        match ways {
            0 => Self::Full,
            1 => Self::Direct,
            ways => Self::Set(ways),
        }
    }
}

/// What a section would have done, of all accesses and not only of those in the sample.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Lines that were looked for.
    pub lookups: f64,
    /// Lines that were not there.
    pub misses: f64,
    /// Of these, lines that a loop holds, and sends for before it comes to them.
    pub held: f64,
    /// Lines that had been written when they left.
    pub stored: f64,
}

/// A sample of the accesses to a section.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    unit: u64,
    rate: u64,
    /// Numbers of blocks as they are in the section, until all are known.
    accesses: Vec<SampledAccess>,
    /// Accesses to the same block as the one before, which find it in any section.
    repeats: u64,
    /// How many units there are accesses to.
    units: u64,
    is_numbered: bool,
    first: Option<u64>,
    last: u64,
}

/// Block, the logarithm of how many there are, and whether they were written: there are many of these.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct SampledAccess(u64);

impl SampledAccess {
    const BLOCK_BIT: u32 = 8;

    fn new(block: u64, blocks: u8, written: bool) -> Self {
        Self(block << Self::BLOCK_BIT | u64::from(blocks & 0x3f) << 1 | u64::from(written))
    }

    fn block(self) -> u64 {
        self.0 >> Self::BLOCK_BIT
    }

    fn blocks(self) -> u8 {
        (self.0 >> 1 & 0x3f) as u8
    }

    fn written(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether both come to the same block, and no other.
    fn repeats(self, other: Self) -> bool {
        self.0 | 1 == other.0 | 1 && self.blocks() == 0
    }
}

impl Sampled {
    /// No access yet, of a section of which one of `rate` units of so many bytes is looked at.
    pub fn new(unit: u64, rate: u64) -> Self {
        Self { unit: unit.max(BLOCK), rate: rate.max(1), ..Self::default() }
    }

    /// An access at a time, in nanoseconds.
    pub fn add(&mut self, block: u64, blocks: u8, written: bool, time: u64) {
        let access = SampledAccess::new(block, blocks, written);
        match self.accesses.last_mut() {
            Some(before) if before.repeats(access) => {
                before.0 |= access.0;
                self.repeats += 1;
            }
            _ => self.accesses.push(access),
        }
        self.first.get_or_insert(time);
        self.last = time;
    }

    /// Numbers units anew; no more may be added.
    pub fn number(&mut self) {
        let blocks = self.unit / BLOCK;
        let (mut units, mut before) = (HashSet::new(), None);
        for access in &mut self.accesses {
            let unit = access.block() / blocks / self.rate;
            let block = unit * blocks + access.block() % blocks;
            *access = SampledAccess::new(block, access.blocks(), access.written());
            if before.replace(unit) != Some(unit) {
                units.insert(unit);
            }
        }
        self.units = units.len() as u64;
        self.is_numbered = true;
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// Bytes that all accesses of the program, and not only those in the sample, come to.
    pub fn footprint(&self) -> u64 {
        self.units * self.unit * self.rate
    }

    /// When it was first and last used, in seconds from the start.
    pub fn lifetime(&self) -> Option<(f64, f64)> {
        self.first.map(|first| (first as f64 * 1e-9, self.last as f64 * 1e-9))
    }

    /// The share of the accesses that loops make which hold a line, from 0 to 1.
    pub fn held(&self) -> f64 {
        let held = self.accesses.iter().filter(|it| it.blocks() > 0).count();
        held as f64 / (self.accesses.len() as u64 + self.repeats).max(1) as f64
    }

    /// The largest line that can be told about, in bytes.
    pub fn largest_line(&self) -> u64 {
        self.unit
    }

    /// What a section of `capacity` bytes in such lines would do.
    pub fn simulate(&self, line: u64, ways: Ways, capacity: u64) -> Counts {
        self.lines(line).simulate(ways, capacity)
    }

    /// The lines that are looked for if they have so many bytes, in order: what is looked up by itself comes to one block.
    pub fn lines(&self, line: u64) -> Lines {
        debug_assert!(self.is_numbered && line.is_power_of_two() && line <= self.unit);
        let mut lines = Lines::new(line, self.rate, self.repeats);
        let shift = (line / BLOCK).ilog2();
        for access in &self.accesses {
            let last = access.block() + (1 << access.blocks()) - 1;
            let is_held = access.blocks() > 0;
            lines.add(access.block() >> shift, last >> shift, is_held, access.written());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All blocks, one after another, several times.
    fn rounds(blocks: u64, rounds: u64) -> Sampled {
        let mut sampled = Sampled::new(4096, 1);
        for time in 0..blocks * rounds {
            sampled.add(time % blocks, 0, time % 2 == 0, time);
        }
        sampled.number();
        sampled
    }

    #[test]
    fn small_sections_with_long_lines_look_no_better_than_they_are() {
        let mut sampled = Sampled::new(4096, 16);
        let mut state = 1_u64;
        for time in 0..50_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Anywhere in 4 MiB, of which one unit of 16 is in the sample.
            sampled.add((state >> 33) % 64 * 16 * 64 + (state >> 20) % 64, 0, false, time);
        }
        sampled.number();
        for (capacity, missed) in [(128 << 10, 0.97), (512 << 10, 0.875), (1 << 20, 0.75)] {
            for ways in [Ways::Direct, Ways::Set(2), Ways::Set(16), Ways::Full] {
                let counts = sampled.simulate(4096, ways, capacity);
                let share = counts.misses / counts.lookups;
                assert!((share - missed).abs() < 0.03, "{capacity} {ways:?}: {share}");
            }
        }
    }

    #[test]
    fn what_fits_is_missed_once() {
        let sampled = rounds(64, 3);
        for ways in [Ways::Direct, Ways::Set(2), Ways::Set(16), Ways::Full] {
            let counts = sampled.simulate(64, ways, 64 * 64);
            assert_eq!(
                (counts.lookups, counts.misses, counts.stored),
                (192.0, 64.0, 0.0),
                "{ways:?}"
            );
            // What was used longest ago leaves, so that all are missed.
            let counts = sampled.simulate(64, ways, 32 * 64);
            assert_eq!(counts.misses, 192.0, "{ways:?}");
        }
        // Longer lines hold the next ones, too.
        assert_eq!(sampled.simulate(256, Ways::Direct, 1024).misses, 48.0);
        assert_eq!(sampled.footprint(), 4096);
    }

    #[test]
    fn what_comes_again_at_once_is_looked_up_and_found() {
        let mut sampled = Sampled::new(4096, 4);
        for (time, (block, written)) in
            [(0, false), (0, true), (0, false), (256, false), (256, false)].into_iter().enumerate()
        {
            sampled.add(block, 0, written, time as u64);
        }
        sampled.number();
        for ways in [Ways::Direct, Ways::Set(2), Ways::Full] {
            let counts = sampled.simulate(64, ways, 16 << 10);
            assert_eq!((counts.lookups, counts.misses), (20.0, 8.0), "{ways:?}");
            // In a single slot the second line takes the place of the first, which was written.
            let counts = sampled.simulate(4096, Ways::Set(1), 4096);
            assert_eq!((counts.lookups, counts.misses, counts.stored), (20.0, 8.0, 4.0));
        }
    }

    #[test]
    fn lines_in_the_way_of_one_another_need_a_set() {
        let mut sampled = Sampled::new(4096, 1);
        (0..100).for_each(|turn| sampled.add(turn % 2 * 64, 0, true, turn));
        sampled.number();
        assert_eq!(sampled.simulate(64, Ways::Direct, 64 * 64).misses, 100.0);
        assert_eq!(sampled.simulate(64, Ways::Set(2), 64 * 64).misses, 2.0);
        assert_eq!(sampled.simulate(64, Ways::Direct, 64 * 64).stored, 99.0);
    }

    #[test]
    fn arrays_that_are_used_side_by_side_are_in_the_way_of_one_another_in_a_sample_too() {
        // Two of 1 MiB, word by word; one of 16 units is looked at.
        let mut sampled = Sampled::new(4096, 16);
        for word in 0..1 << 14 {
            for array in 0..2 {
                let block = array * (1 << 14) + word;
                if block / 64 % 16 == 4 {
                    (0..8).for_each(|_| sampled.add(block, 0, false, 0));
                }
            }
        }
        sampled.number();
        // All that loops come to is two lines, and both have the same slot.
        let direct = sampled.simulate(4096, Ways::Direct, 64 << 10);
        assert!(direct.misses > 60.0 * 512.0, "{direct:?}");
        assert_eq!(sampled.simulate(4096, Ways::Set(2), 64 << 10).misses, 512.0);
    }

    #[test]
    fn an_access_to_a_whole_line_comes_to_all_shorter_ones() {
        let mut sampled = Sampled::new(4096, 4);
        sampled.add(64, 6, false, 10);
        sampled.number();
        assert_eq!(sampled.simulate(4096, Ways::Direct, 1 << 20).misses, 4.0);
        assert_eq!(sampled.simulate(512, Ways::Direct, 1 << 20).misses, 32.0);
        assert_eq!(sampled.lifetime(), Some((1e-8, 1e-8)));
    }

    proptest! {
        #[test]
        fn a_set_of_all_is_anywhere(
            blocks in prop::collection::vec(0..200_u64, 1..400),
            slots in 1..64_u64,
        ) {
            let mut sampled = Sampled::new(4096, 1);
            blocks.iter().for_each(|block| sampled.add(*block, 0, false, 0));
            sampled.number();
            let set = sampled.simulate(64, Ways::Set(slots as u32), slots * 64);
            let full = sampled.simulate(64, Ways::Full, slots * 64);
            prop_assert_eq!(set.misses, full.misses);
            let more = sampled.simulate(64, Ways::Full, 2 * slots * 64);
            prop_assert!(more.misses <= full.misses);
        }

        #[test]
        fn a_sample_tells_about_all(seed in 1..1000_u64) {
            // Uses at random of 4096 units; one of 8 is looked at.
            let (mut state, mut all, mut some) = (seed, Sampled::new(4096, 1), Sampled::new(4096, 8));
            for time in 0..60_000 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let unit = (state >> 33) % 4096;
                all.add(unit * 64, 0, false, time);
                if unit % 8 == 2 {
                    some.add(unit * 64, 0, false, time);
                }
            }
            all.number();
            some.number();
            for ways in [Ways::Set(2), Ways::Full] {
                let exact = all.simulate(4096, ways, 2048 * 4096).misses;
                let told = some.simulate(4096, ways, 2048 * 4096).misses;
                prop_assert!((exact - told).abs() < 0.1 * exact, "{ways:?}: {exact}, {told}");
            }
        }
    }
}
