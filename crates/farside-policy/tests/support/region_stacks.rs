//! The stacks behind the curves of region-specific replacement, as plain vectors.

use farside_policy::replacement::region::{Misses, Order};
use farside_trace::PageId;

pub const ORDERS: [Order; 2] = [Order::Lru, Order::Mru];

/// The stacks of one region, top first, with the misses at the three sizes.
#[derive(Clone, Debug)]
pub struct Stacks {
    pub size: usize,
    pub step: usize,
    pub stacks: [Vec<PageId>; 2],
    pub misses: [Misses; 2],
}

impl Stacks {
    pub fn new(step: usize) -> Self {
        Self { size: 0, step, stacks: Default::default(), misses: Default::default() }
    }

    pub fn cut(&mut self) {
        let most = self.size + self.step;
        self.stacks.iter_mut().for_each(|stack| stack.truncate(most));
    }

    pub fn access(&mut self, page: PageId) {
        for (index, stack) in self.stacks.iter_mut().enumerate() {
            let place = stack.iter().position(|&other| other == page);
            let distance = place.map_or(usize::MAX, |place| place + 1);
            let misses = &mut self.misses[index];
            misses.less += u64::from(distance > self.size.saturating_sub(self.step));
            misses.present += u64::from(distance > self.size);
            misses.more += u64::from(distance > self.size + self.step);
            match (ORDERS[index], place) {
                (Order::Lru, Some(place)) => stack[..=place].rotate_right(1),
                (Order::Lru, None) => stack.insert(0, page),
                (Order::Mru, Some(place)) => stack.swap(0, place),
                (Order::Mru, None) => {
                    stack.push(page);
                    let last = stack.len() - 1;
                    stack.swap(0, last);
                }
            }
        }
        self.cut();
    }

    pub fn holds(&self, page: PageId) -> bool {
        self.stacks.iter().any(|stack| stack.contains(&page))
    }
}
