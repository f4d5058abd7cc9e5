//! Slots in order of time, of which some are live, and the number of live ones behind any of them.
//!
//! The live slots are bits, of which a block fills a line of a processor's cache. Blocks are counted, groups of blocks,
//! and spans of groups. The number behind a slot is what is left of its block, of its group and of its span, and the
//! spans behind: each is a sum over a run of numbers of one length, of which those that are not behind count as nothing.
//! Nothing is jumped over, so that a processor adds many at once and never goes a wrong way. The whole takes a fraction
//! of a byte a slot.

use multiversion::multiversion;

/// Bits in a word.
const WORD: usize = u64::BITS as usize;

/// Words in a block.
const WORDS: usize = 8;

/// Slots in a block.
const BLOCK: usize = WORDS * WORD;

/// Counts that make one count of the level above.
const FAN: usize = 64;

/// Slots in a group of blocks.
const GROUP: usize = FAN * BLOCK;

/// Slots in a span of groups.
const SPAN: usize = FAN * GROUP;

/// Slots that are renewed together.
const TOGETHER: usize = 64;

/// In place of a slot: there is none.
pub const NO_SLOT: u32 = u32::MAX;

/// By the place of a word in its block: what is behind it.
static WORDS_BEHIND: [[u64; WORDS]; WORDS] = {
    let mut behind = [[0; WORDS]; WORDS];
    let mut pair = 0;
    while pair < WORDS * WORDS {
        let (own, word) = (pair / WORDS, pair % WORDS);
        behind[own][word] = if word > own { u64::MAX } else { 0 };
        pair += 1;
    }
    behind
};

/// The place of each count, in numbers as wide as those that blocks are counted in.
static PLACES: [u16; FAN] = {
    let mut places = [0; FAN];
    let mut place = 0;
    while place < FAN {
        places[place] = place as u16;
        place += 1;
    }
    places
};

/// The same, in numbers as wide as those that groups are counted in.
static WIDE_PLACES: [u32; FAN] = {
    let mut places = [0; FAN];
    let mut place = 0;
    while place < FAN {
        places[place] = place as u32;
        place += 1;
    }
    places
};

/// A line of a processor's cache, full of live slots.
#[derive(Copy, Clone, Debug, Default)]
#[repr(align(64))]
struct Block([u64; WORDS]);

/// Live slots in each of the blocks of a group, or of the groups of a span.
#[derive(Copy, Clone, Debug)]
#[repr(align(64))]
struct Counts<T>([T; FAN]);

/// A sequence of slots, dead or live.
#[derive(Clone, Debug, Default)]
pub struct OrderedSlots {
    bits: Vec<Block>,
    /// By group. A group has at most 32,768, so that all that is in it can be counted in 16 bits.
    blocks: Vec<Counts<u16>>,
    /// By span.
    groups: Vec<Counts<u32>>,
    spans: Vec<u32>,
}

impl OrderedSlots {
    /// Room for `slots` slots, all of them dead.
    pub fn new(slots: usize) -> Self {
        let slots = slots.max(1);
        Self {
            bits: vec![Block::default(); slots.div_ceil(BLOCK)],
            blocks: vec![Counts([0; FAN]); slots.div_ceil(GROUP)],
            groups: vec![Counts([0; FAN]); slots.div_ceil(SPAN)],
            spans: vec![0; slots.div_ceil(SPAN)],
        }
    }

    /// The first `live` of at least `slots` slots are live, the others dead.
    pub fn with_live(live: usize, slots: usize) -> Self {
        let mut new = Self::new(slots.max(live));
        (0..live).for_each(|slot| new.revive(slot));
        new
    }

    /// Number of slots there is room for.
    pub fn len(&self) -> usize {
        self.bits.len() * BLOCK
    }

    /// Whether there is room for none.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Makes `slot` live; it was dead.
    #[inline]
    pub fn revive(&mut self, slot: usize) {
        self.bits[slot / BLOCK].0[slot / WORD % WORDS] |= 1 << (slot % WORD);
        self.blocks[slot / GROUP].0[slot / BLOCK % FAN] += 1;
        self.groups[slot / SPAN].0[slot / GROUP % FAN] += 1;
        self.spans[slot / SPAN] += 1;
    }

    /// Makes `slot` dead; it was live.
    #[inline]
    pub fn kill(&mut self, slot: usize) {
        self.bits[slot / BLOCK].0[slot / WORD % WORDS] &= !(1 << (slot % WORD));
        self.blocks[slot / GROUP].0[slot / BLOCK % FAN] -= 1;
        self.groups[slot / SPAN].0[slot / GROUP % FAN] -= 1;
        self.spans[slot / SPAN] -= 1;
    }

    /// Live slots behind `slot`.
    pub fn live_behind(&self, slot: usize) -> usize {
        live_behind(self, slot)
    }

    /// Makes slots from `next` on live, one for each of `before`, which dies when its turn comes; [`NO_SLOT`] has none
    /// that dies. All slots from `next` on are dead before. To `behind` is added how many live slots each of those that die has behind it just then.
    ///
    /// # Panics
    /// If there is no room for as many slots.
    pub fn renew(&mut self, before: &[u32], next: usize, behind: &mut Vec<u32>) {
        renew(self, before, next, behind);
    }

    #[inline(always)]
    fn count_behind(&self, slot: usize) -> usize {
        let block = &self.bits[slot / BLOCK].0;
        let (own, bit) = (slot / WORD % WORDS, slot % WORD);
        // Two steps, since a shift by 64 is none.
        let left = (block[own] & (u64::MAX << bit << 1)).count_ones();
        let whole = block.iter().zip(&WORDS_BEHIND[own]);
        let whole: u32 = whole.map(|(word, behind)| (word & behind).count_ones()).sum();
        let own = (slot / BLOCK % FAN) as u16;
        let in_group = self.blocks[slot / GROUP].0.iter().zip(&PLACES);
        let in_group: u16 = in_group.map(|(live, i)| if *i > own { *live } else { 0 }).sum();
        let own = (slot / GROUP % FAN) as u32;
        let in_span = self.groups[slot / SPAN].0.iter().zip(&WIDE_PLACES);
        let in_span: u32 = in_span.map(|(live, i)| if *i > own { *live } else { 0 }).sum();
        let spans: u32 = self.spans[slot / SPAN + 1..].iter().sum();
        (left + whole + u32::from(in_group) + in_span + spans) as usize
    }

    /// [`Self::renew`] for at most [`TOGETHER`] slots.
    ///
    /// All are counted as things were at first, so that nothing that is read was written just before. Of those behind an
    /// old slot as many have died as are in `before` earlier than it and are behind it, and as many have become live as
    /// are earlier and, if it became live here itself, behind it.
    #[inline(always)]
    fn renew_together(&mut self, before: &[u32], next: usize, behind: &mut Vec<u32>) {
        // One more, so that what is no slot is behind none.
        let mut keys = [0_u32; TOGETHER];
        let mut live = [0_u32; TOGETHER];
        for ((key, live), old) in keys.iter_mut().zip(&mut live).zip(before) {
            *key = old.wrapping_add(1);
            *live = if *old == NO_SLOT { 0 } else { self.count_behind(*old as usize) as u32 };
        }
        for turn in (0..before.len()).filter(|turn| before[*turn] != NO_SLOT) {
            let (key, now) = (keys[turn], turn as u32);
            let died = keys.iter().zip(&WIDE_PLACES);
            let died: u32 =
                died.map(|(other, i)| u32::from(*i < now) & u32::from(*other > key)).sum();
            let renewed = now - (key as usize).saturating_sub(next) as u32;
            behind.push(live[turn] + renewed - died);
        }
        for (slot, old) in (next..).zip(before) {
            self.revive(slot);
            if *old != NO_SLOT {
                self.kill(*old as usize);
            }
        }
    }

    /// The number that each live slot would have if the dead ones were taken out.
    pub fn ranks(&self) -> impl Fn(usize) -> usize + '_ {
        let mut before = Vec::with_capacity(self.blocks.len() * FAN);
        let mut sum = 0;
        for count in self.blocks.iter().flat_map(|counts| &counts.0) {
            before.push(sum);
            sum += usize::from(*count);
        }
        move |slot| {
            let (block, word) = (&self.bits[slot / BLOCK].0, slot / WORD % WORDS);
            let whole: u32 = block[..word].iter().map(|word| word.count_ones()).sum();
            let part = (block[word] & ((1 << (slot % WORD)) - 1)).count_ones();
            before[slot / BLOCK] + (whole + part) as usize
        }
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+sse4.2+popcnt",
))]
fn live_behind(order: &OrderedSlots, slot: usize) -> usize {
    order.count_behind(slot)
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+sse4.2+popcnt",
))]
fn renew(order: &mut OrderedSlots, before: &[u32], next: usize, behind: &mut Vec<u32>) {
    assert!(next + before.len() <= order.len(), "no room for {} more slots", before.len());
    for (next, together) in (next..).step_by(TOGETHER).zip(before.chunks(TOGETHER)) {
        order.renew_together(together, next, behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn live_slots_are_counted(
            slots in prop_oneof![1..200_000_usize, 1..3 * SPAN],
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
            let step = (slots / 50).max(1);
            for slot in (0..slots).step_by(step) {
                let behind = live[slot + 1..].iter().filter(|live| **live).count();
                prop_assert_eq!(ordered.live_behind(slot), behind);
                let before = live[..slot].iter().filter(|live| **live).count();
                prop_assert_eq!(ranks(slot), before);
            }
        }

        #[test]
        fn renewed_slots_are_counted_like_single_ones(
            live in 1..2_000_usize,
            olds in prop::collection::vec(any::<prop::sample::Index>(), 1..300),
        ) {
            let mut single = OrderedSlots::with_live(live, live + olds.len());
            let mut batch = single.clone();
            let (mut last, mut before) = ((0..live as u32).collect::<Vec<_>>(), Vec::new());
            let mut expected = Vec::new();
            for (slot, old) in (live..).zip(&olds) {
                // The place after the last one is that of a slot that replaces none.
                let old = old.index(last.len() + 1);
                if old == last.len() {
                    last.push(slot as u32);
                    before.push(NO_SLOT);
                } else {
                    let old = std::mem::replace(&mut last[old], slot as u32);
                    expected.push(single.live_behind(old as usize) as u32);
                    single.kill(old as usize);
                    before.push(old);
                }
                single.revive(slot);
            }
            let mut behind = Vec::new();
            batch.renew(&before, live, &mut behind);
            prop_assert_eq!(behind, expected);
            for slot in 0..live + olds.len() {
                prop_assert_eq!(batch.live_behind(slot), single.live_behind(slot));
            }
        }
    }

    #[test]
    #[should_panic(expected = "no room for 1 more slots")]
    fn slots_are_not_renewed_beyond_the_end() {
        let mut order = OrderedSlots::new(1);
        let last = order.len();
        order.renew(&[NO_SLOT], last, &mut Vec::new());
    }
}
