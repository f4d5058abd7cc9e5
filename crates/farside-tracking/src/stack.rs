//! The tracked pages in the order of their last uses.

use farside_trace::PageId;
use rustc_hash::FxHashMap;

use crate::OrderedSlots;

/// Fewest slots: few pages need no compaction.
const LEAST_SLOTS: usize = 1 << 12;

/// An LRU stack (PATH, section 3.1), of which can be told how deep a page lies.
///
/// Each page has a slot, which stands for the time of its last use; its depth is the number of pages in later slots. When
/// the slots are used up, the free ones are taken out. With 4 bytes kept of each page it takes 15 to 30 bytes a page.
#[derive(Clone, Debug)]
pub struct Stack<T> {
    pages: FxHashMap<u32, (u32, T)>,
    order: OrderedSlots,
    next: usize,
}

/// The number of a page, of 16 TiB at most, which is more than a far region has.
fn key(page: PageId) -> u32 {
    page.0 as u32
}

impl<T> Stack<T> {
    /// An empty stack.
    pub fn new() -> Self {
        Self { pages: FxHashMap::default(), order: OrderedSlots::new(LEAST_SLOTS), next: 0 }
    }

    /// How many pages there are.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// What is kept of a page.
    pub fn get_mut(&mut self, page: PageId) -> Option<&mut T> {
        self.pages.get_mut(&key(page)).map(|(_, kept)| kept)
    }

    /// Puts a page on top, with what `change` makes of what is kept of it; it is given how many pages there were from the
    /// top to it, itself included, and what is kept, if it was in the stack.
    pub fn put(&mut self, page: PageId, change: impl FnOnce(Option<(usize, T)>) -> T) {
        if self.next == self.order.len() {
            self.compact();
        }
        let slot = self.next;
        self.next += 1;
        let before = self.pages.remove(&key(page)).map(|(before, kept)| {
            let depth = self.order.live_behind(before as usize) + 1;
            self.order.kill(before as usize);
            (depth, kept)
        });
        self.pages.insert(key(page), (slot as u32, change(before)));
        self.order.revive(slot);
    }

    /// Takes a page out.
    pub fn remove(&mut self, page: PageId) -> Option<T> {
        let (slot, kept) = self.pages.remove(&key(page))?;
        self.order.kill(slot as usize);
        Some(kept)
    }

    /// Takes out all pages but those for which `stays` holds.
    pub fn retain(&mut self, stays: impl Fn(PageId) -> bool) {
        let order = &mut self.order;
        self.pages.retain(|page, (slot, _)| {
            let stays = stays(PageId(u64::from(*page)));
            if !stays {
                order.kill(*slot as usize);
            }
            stays
        });
    }

    /// Numbers the pages anew, with as much room behind them as they take.
    #[cold]
    fn compact(&mut self) {
        let rank = self.order.ranks();
        for (slot, _) in self.pages.values_mut() {
            *slot = rank(*slot as usize) as u32;
        }
        drop(rank);
        self.next = self.pages.len();
        self.order = OrderedSlots::with_live(self.next, (2 * self.next).max(LEAST_SLOTS));
    }
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_list_with_the_latest_first(
            uses in prop::collection::vec((0..60_u64, 0..20_u32), 1..9000),
        ) {
            let (mut stack, mut list) = (Stack::new(), Vec::new());
            for (number, (page, what)) in uses.into_iter().enumerate() {
                let found = list.iter().position(|(known, _)| *known == page);
                match what {
                    0 => {
                        let removed = stack.remove(PageId(page));
                        prop_assert_eq!(removed, found.map(|at| list.remove(at).1));
                    }
                    1 if page < 3 => {
                        stack.retain(|known| known.0 % 7 != page);
                        list.retain(|(known, _)| *known % 7 != page);
                    }
                    _ => {
                        let expected = found.map(|at| (at + 1, list.remove(at).1));
                        let mut seen = None;
                        stack.put(PageId(page), |before| { seen = before; number });
                        prop_assert_eq!(seen, expected);
                        list.insert(0, (page, number));
                    }
                }
                prop_assert_eq!(stack.len(), list.len());
            }
        }
    }
}
