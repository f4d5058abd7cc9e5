//! What is remembered of pages that were accessed soon after others.

use std::fmt::Debug;

use farside_trace::PageId;

use super::known::SLOT_BITS;
use crate::replacement::Slot;

/// An edge to the page at a slot, with a weight: how often that page was found near, less how often not. A weight of zero
/// means that there is no edge.
pub(super) trait Edge: Copy + Debug + Default {
    /// Greatest weight there is room for.
    const MOST_WEIGHT: u16;

    /// An edge to `page`, which is at `slot`; the weight is at most [`Self::MOST_WEIGHT`].
    fn new(slot: Slot, page: PageId, weight: u16) -> Self;

    /// Where the page is or was.
    fn slot(self) -> Slot;

    /// Whether it leads to `page`, if that is at its slot now. A few of the pages that may come to be there in place of the
    /// one that is meant are taken for it.
    fn is_to(self, page: PageId) -> bool;

    /// The weight.
    fn weight(self) -> u16;

    /// The same edge with another weight.
    fn with_weight(self, weight: u16) -> Self;
}

/// An edge with weights as large as need be, in 8 bytes; one of 65,536 pages is taken for another.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Wide {
    slot: u32,
    tag: u16,
    weight: u16,
}

impl Edge for Wide {
    const MOST_WEIGHT: u16 = u16::MAX;

    fn new(slot: Slot, page: PageId, weight: u16) -> Self {
        Self { slot: slot.0, tag: folded(page, u16::BITS) as u16, weight }
    }

    fn slot(self) -> Slot {
        Slot(self.slot)
    }

    fn is_to(self, page: PageId) -> bool {
        u32::from(self.tag) == folded(page, u16::BITS)
    }

    fn weight(self) -> u16 {
        self.weight
    }

    fn with_weight(self, weight: u16) -> Self {
        Self { weight, ..self }
    }
}

/// Bits of a weight in a [`Packed`] edge.
const WEIGHT_BITS: u32 = 3;

/// Bits that tell the page that is meant from others.
const TAG_BITS: u32 = u32::BITS - SLOT_BITS - WEIGHT_BITS;

/// Where the weight is.
const WEIGHT_FROM: u32 = SLOT_BITS + TAG_BITS;

/// An edge with small weights, in 4 bytes; one of 128 pages is taken for another.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Packed(u32);

impl Edge for Packed {
    const MOST_WEIGHT: u16 = (1 << WEIGHT_BITS) - 1;

    fn new(slot: Slot, page: PageId, weight: u16) -> Self {
        debug_assert!(weight <= Self::MOST_WEIGHT);
        Self(slot.0 | folded(page, TAG_BITS) << SLOT_BITS | u32::from(weight) << WEIGHT_FROM)
    }

    fn slot(self) -> Slot {
        Slot(self.0 & ((1 << SLOT_BITS) - 1))
    }

    fn is_to(self, page: PageId) -> bool {
        (self.0 >> SLOT_BITS) & ((1 << TAG_BITS) - 1) == folded(page, TAG_BITS)
    }

    fn weight(self) -> u16 {
        (self.0 >> WEIGHT_FROM) as u16
    }

    fn with_weight(self, weight: u16) -> Self {
        Self(self.0 & ((1 << WEIGHT_FROM) - 1) | u32::from(weight) << WEIGHT_FROM)
    }
}

/// The number of a page in so few bits. Pages that take one another's slots are often a power of two apart, so that all of its
/// bits count.
fn folded(page: PageId, bits: u32) -> u32 {
    let low = page.0 as u32;
    let high = (page.0 >> 32) as u32;
    (low ^ high).wrapping_mul(0x9E37_79B9) >> (u32::BITS - bits)
}

/// Sorts by descending weight; equals keep their order.
pub(super) fn sort_by_weight(edges: &mut [impl Edge]) {
    for end in 1..edges.len() {
        let mut index = end;
        while index > 0 && edges[index - 1].weight() < edges[index].weight() {
            edges.swap(index - 1, index);
            index -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_what_it_was_made_of<E: Edge>(slot: u32, page: u64, weights: [u16; 2]) {
        let weights = weights.map(|weight| weight % (E::MOST_WEIGHT.saturating_add(1)).max(1));
        let edge = E::new(Slot(slot), PageId(page), weights[0]);
        let other = edge.with_weight(weights[1]);
        for (edge, weight) in [(edge, weights[0]), (other, weights[1])] {
            assert_eq!((edge.slot(), edge.weight()), (Slot(slot), weight));
            assert!(edge.is_to(PageId(page)));
        }
        let others = (1..=4096).filter(|far| edge.is_to(PageId(page ^ far << 12))).count();
        assert!(others < 4096 / 16, "{others} of 4096 others are taken for {page}");
        assert_eq!(E::default().weight(), 0);
    }

    proptest! {
        #[test]
        fn edges_are_what_they_were_made_of(
            slot in 0..(1_u32 << SLOT_BITS) - 1,
            page in 0..1_u64 << 37,
            weights in any::<[u16; 2]>(),
        ) {
            is_what_it_was_made_of::<Packed>(slot, page, weights);
            is_what_it_was_made_of::<Wide>(slot, page, weights);
        }
    }
}
