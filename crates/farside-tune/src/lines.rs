//! What sections with lines of one length would do (Mira, section 3.4): the lines that a sample looks for are found out
//! once, and gone through for each structure and capacity.

use std::collections::HashSet;

use farside_sim::curve::LruDistances;
use farside_trace::PageId;

use crate::cache::{Counts, Ways};

/// The lines that a sample looks for, in order.
///
/// One that is looked for several times in a row is there once: any section finds it from the second time on. Of loops that
/// come to many lines one after another, some of these tell about all of them.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    line: u64,
    rate: u64,
    all: Vec<Run>,
    /// How many there are, without those that were looked for just before.
    lines: u64,
    /// How often a line was looked for that had been looked for just before.
    repeats: u64,
}

/// Lines one after another: the number of the first, how many follow it, whether a loop holds them, and whether they are
/// written. There are many of these.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Run(u64);

impl Run {
    const WRITTEN: u64 = 1;
    const HELD: u64 = 2;
    const MORE_BIT: u32 = 2;
    const MORE_BITS: u32 = 16;
    const FIRST_BIT: u32 = Self::MORE_BIT + Self::MORE_BITS;

    fn new(first: u64, more: u64, is_held: bool, is_written: bool) -> Self {
        debug_assert!(more >> Self::MORE_BITS == 0 && first >> (64 - Self::FIRST_BIT) == 0);
        let marks = u64::from(is_held) * Self::HELD + u64::from(is_written) * Self::WRITTEN;
        Self(first << Self::FIRST_BIT | more << Self::MORE_BIT | marks)
    }

    fn first(self) -> u64 {
        self.0 >> Self::FIRST_BIT
    }

    fn more(self) -> u64 {
        self.0 >> Self::MORE_BIT & ((1 << Self::MORE_BITS) - 1)
    }

    fn is_held(self) -> bool {
        self.0 & Self::HELD != 0
    }

    fn is_written(self) -> bool {
        self.0 & Self::WRITTEN != 0
    }

    /// Whether both are the same line alone.
    fn repeats(self, other: Self) -> bool {
        self.first() == other.first() && self.more() == 0 && other.more() == 0
    }

    /// Of its lines one of `1 << thinned`, numbered by how many of these are before it.
    fn thinned(self, thinned: u32) -> std::ops::RangeInclusive<u64> {
        let last = self.first() + self.more();
        (self.first() + (1 << thinned) - 1) >> thinned..=last >> thinned
    }
}

/// Of sets, or slots of a single one, no more than one of so many is left out so that the others can be thinned evenly.
const ROUNDED: u64 = 32;

/// A slot with a line: its number, and in the lowest bit whether it was written. The last used comes first in its set.
type Slot = u64;

/// A slot in which there is no line, and so none that was written.
const EMPTY: Slot = !1;

/// What has been counted in the sample.
#[derive(Copy, Clone, Debug, Default)]
struct Counted {
    misses: u64,
    held: u64,
    stored: u64,
}

impl Lines {
    /// No line yet, of `line` bytes; one of `rate` units is in the sample. `repeats` accesses are not going to be added,
    /// which come to what was looked for just before.
    pub fn new(line: u64, rate: u64, repeats: u64) -> Self {
        Self { line, rate, repeats, ..Self::default() }
    }

    /// Lines are looked for, from the first to the last one.
    pub fn add(&mut self, first: u64, last: u64, is_held: bool, is_written: bool) {
        let run = Run::new(first, last - first, is_held, is_written);
        match self.all.last_mut() {
            // Who holds it counts where it is missed, which is the first time.
            Some(before) if before.repeats(run) => {
                before.0 |= run.0 & Run::WRITTEN;
                self.repeats += 1;
            }
            _ => {
                self.all.push(run);
                self.lines += 1 + run.more();
            }
        }
    }

    /// What a section of `capacity` bytes would do.
    pub fn simulate(&self, ways: Ways, capacity: u64) -> Counts {
        let slots = (capacity / self.line).max(1);
        let in_sets = |ways: u64| {
            let ways = ways.clamp(1, slots);
            match slots / ways / self.rate {
                // Less than a set is one with fewer lines. Two of them are for what is used side by side.
                0 => self.in_sets((slots / self.rate).clamp(ways.min(2), ways), 1),
                sets => self.in_sets(ways, sets),
            }
        };
        match ways {
            Ways::Direct => in_sets(1),
            Ways::Set(ways) => in_sets(u64::from(ways)),
            Ways::Full => self.anywhere(&[capacity])[0],
        }
    }

    /// The same of sections in which a line may be anywhere, for several capacities at once.
    pub fn anywhere(&self, capacities: &[u64]) -> Vec<Counts> {
        let slots = |capacity: &u64| (capacity / self.line / self.rate).max(1);
        let slots: Vec<u64> = capacities.iter().map(slots).collect();
        let thinned = slots.iter().map(|slots| self.thinned(*slots)).min().unwrap_or(0);
        let counted = self.anywhere_of(&slots, thinned);
        counted.into_iter().map(|counted| self.scaled(counted, thinned)).collect()
    }

    fn anywhere_of(&self, slots: &[u64], thinned: u32) -> Vec<Counted> {
        let mut stack = LruDistances::new();
        let mut all = vec![Counted::default(); slots.len()];
        let mut written = HashSet::new();
        for run in &self.all {
            for number in run.thinned(thinned) {
                let distance = stack.reference(PageId(number)).map_or(u64::MAX, |it| it as u64);
                let was_written = written.contains(&number);
                for (counted, slots) in all.iter_mut().zip(slots) {
                    if distance > slots >> thinned {
                        counted.miss(*run, was_written);
                    }
                }
                if run.is_written() {
                    written.insert(number);
                }
            }
        }
        all
    }

    /// How far loops that come to many lines may be thinned out, as a logarithm, if there are so many places where lines
    /// are: as far as two of the lines of a run are left on the average, so that what is used by itself, and may be the same
    /// distance apart, is little beside them.
    fn thinned(&self, places: u64) -> u32 {
        let most = (self.lines / self.all.len().max(1) as u64 / 2).max(1).ilog2();
        let fits = |thinned: &u32| {
            let left = places % (1 << thinned);
            places >> thinned > 0 && left * ROUNDED <= places
        };
        (0..=most).rev().find(fits).unwrap_or(0)
    }

    fn in_sets(&self, ways: u64, sets: u64) -> Counts {
        let thinned = self.thinned(sets);
        self.scaled(self.in_sets_of(ways, sets, thinned), thinned)
    }

    /// Sets whose length is known when this is compiled are looked through several times as fast.
    fn in_sets_of(&self, ways: u64, sets: u64, thinned: u32) -> Counted {
        let sets = (sets >> thinned) as usize;
        match ways {
            1 => self.go_through(&mut vec![[EMPTY; 1]; sets], thinned),
            2 => self.go_through(&mut vec![[EMPTY; 2]; sets], thinned),
            4 => self.go_through(&mut vec![[EMPTY; 4]; sets], thinned),
            8 => self.go_through(&mut vec![[EMPTY; 8]; sets], thinned),
            16 => self.go_through(&mut vec![[EMPTY; 16]; sets], thinned),
            ways => self.go_through(&mut vec![vec![EMPTY; ways as usize]; sets], thinned),
        }
    }

    fn go_through(&self, sets: &mut [impl AsMut<[Slot]>], thinned: u32) -> Counted {
        let mut counted = Counted::default();
        let many = sets.len() as u64;
        for run in &self.all {
            for number in run.thinned(thinned) {
                look_for(number, sets[(number % many) as usize].as_mut(), *run, &mut counted);
            }
        }
        counted
    }

    fn scaled(&self, counted: Counted, thinned: u32) -> Counts {
        let scaled = |count: u64| count as f64 * self.rate as f64;
        Counts {
            lookups: scaled(self.lines + self.repeats),
            misses: scaled(counted.misses << thinned),
            held: scaled(counted.held << thinned),
            stored: scaled(counted.stored << thinned),
        }
    }
}

impl Counted {
    fn miss(&mut self, run: Run, stores: bool) {
        self.misses += 1;
        self.held += u64::from(run.is_held());
        self.stored += u64::from(stores);
    }
}

/// Looks for a line of a run in its set, where it is the one that was used last from now on.
#[inline(always)]
fn look_for(number: u64, set: &mut [Slot], run: Run, counted: &mut Counted) {
    let mut slot = number << 1 | u64::from(run.is_written());
    let place = match set.iter().position(|slot| slot >> 1 == number) {
        Some(place) => {
            slot |= set[place] & 1;
            place
        }
        None => {
            let place = set.len() - 1;
            counted.miss(run, set[place] & 1 == 1);
            place
        }
    };
    for at in (0..place).rev() {
        set[at + 1] = set[at];
    }
    set[0] = slot;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One after another, with nothing put together, in lists.
    fn plainly(lines: &[(u64, u64, bool, bool)], ways: usize, sets: u64) -> Counts {
        let mut all = vec![Vec::<(u64, bool)>::new(); sets as usize];
        let mut counts = Counts::default();
        for (first, last, is_held, is_written) in lines.iter().copied() {
            for number in first..=last {
                let set = &mut all[(number % sets) as usize];
                counts.lookups += 1.0;
                let mut was_written = false;
                match set.iter().position(|(other, _)| *other == number) {
                    Some(place) => was_written = set.remove(place).1,
                    None => {
                        let leaves = if set.len() == ways { set.pop() } else { None };
                        let stores = leaves.is_some_and(|(_, written)| written);
                        counts.misses += 1.0;
                        counts.held += f64::from(u8::from(is_held));
                        counts.stored += f64::from(u8::from(stores));
                    }
                }
                set.insert(0, (number, was_written || is_written));
            }
        }
        counts
    }

    fn of(lines: &[(u64, u64, bool, bool)]) -> Lines {
        let mut told = Lines::new(64, 1, 0);
        for (first, last, held, written) in lines.iter().copied() {
            told.add(first, last, held, written);
        }
        told
    }

    #[test]
    fn some_lines_of_a_loop_tell_about_all_of_them() {
        // Rows of 64 lines, of which some come again, and now and then a line by itself.
        let mut state = 1_u64;
        let mut chance = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut lines = Vec::new();
        for turn in 0..4_000 {
            let row = if turn % 3 == 0 { chance(10) } else { chance(200) };
            lines.push((row * 64, row * 64 + 63, true, turn % 2 == 0));
            if turn % 5 == 0 {
                let line = chance(200 * 64);
                lines.push((line, line, false, true));
            }
        }
        let told = of(&lines);
        for sets in [200, 512, 2048, 4096] {
            for ways in [1, 2, 8] {
                assert!(told.thinned(sets) > 2, "{sets}");
                let counts = told.simulate(Ways::Set(ways), sets * u64::from(ways) * 64);
                let all = plainly(&lines, ways as usize, sets);
                let near = |one: f64, other: f64| (one - other).abs() <= 0.03 * all.lookups;
                assert_eq!(counts.lookups, all.lookups);
                assert!(near(counts.misses, all.misses), "{sets} {ways}: {counts:?}, {all:?}");
                assert!(near(counts.held, all.held), "{sets} {ways}: {counts:?}, {all:?}");
                assert!(near(counts.stored, all.stored), "{sets} {ways}: {counts:?}, {all:?}");
            }
            let (counts, all) = (told.anywhere(&[sets * 64])[0], plainly(&lines, sets as usize, 1));
            let apart = (counts.misses - all.misses).abs();
            assert!(apart <= 0.03 * all.lookups, "{sets}: {counts:?}, {all:?}");
        }
    }

    proptest! {
        #[test]
        fn sets_do_as_lists_do(
            lines in prop::collection::vec((0..40_u64, 0..4_u64, 1..4_usize, any::<bool>(), any::<bool>()), 1..300),
            ways in 1..20_u64,
            sets in 1..9_u64,
        ) {
            // Some are looked for several times in a row.
            let lines: Vec<(u64, u64, bool, bool)> = lines
                .into_iter()
                .flat_map(|(first, more, times, held, written)| {
                    vec![(first, first + more / 2, held, written); times]
                })
                .collect();
            let told = of(&lines);
            prop_assert!(told.all.is_sorted_by(|one, other| !one.repeats(*other)));
            prop_assert_eq!(told.thinned(sets), 0);
            let counts = told.simulate(Ways::Set(ways as u32), ways * sets * 64);
            prop_assert_eq!(counts, plainly(&lines, ways as usize, sets));
            let full = told.simulate(Ways::Full, ways * 64);
            let list = plainly(&lines, ways as usize, 1);
            prop_assert_eq!((full.lookups, full.misses, full.held), (list.lookups, list.misses, list.held));
        }
    }
}
