//! Where the pointers around a place lead to, and which of these places to look at next.

use super::link::Link;
use super::window::Window;
use super::{Identify, Walk};

/// A place that a pointer leads to.
#[derive(Copy, Clone, Debug)]
pub(super) struct Next {
    pub walk: Walk,
    /// Where the pointer lies, which link it makes, and as what the link's origin was reached.
    pub location: u64,
    pub link: u8,
    pub from_context: u8,
}

/// Places that the pointers of one window lead to.
#[derive(Debug)]
pub(super) struct Nexts {
    pub items: [Next; Self::MOST],
    pub len: usize,
}

impl Default for Nexts {
    fn default() -> Self {
        let walk = Walk::default();
        Self { items: [Next { walk, location: 0, link: 0, from_context: 0 }; Self::MOST], len: 0 }
    }
}

impl Nexts {
    const MOST: usize = 24;

    /// Adds where the pointer at a place leads that has some likelihood, if there is one.
    pub fn add(
        &mut self,
        identify: &dyn Identify,
        window: &Window,
        walk: &Walk,
        (number, link): (u8, Link),
        (location, rate, from_context): (u64, u16, u8),
    ) {
        let confidence = ((u32::from(walk.confidence) * u32::from(rate)) >> 16) as u16;
        let is_known = |next: &Next| next.location == location;
        if self.len == Self::MOST || self.items[..self.len].iter().any(is_known) {
            return;
        }
        let Some(target) = window.word(location).and_then(|word| identify.target(location, word))
        else {
            return;
        };
        let entry = target.wrapping_add_signed(link.behind);
        let from = location;
        let context = link.context();
        let walk = Walk { entry, context, from, confidence, array: 0, ..*walk };
        self.items[self.len] = Next { walk, location, link: number, from_context };
        self.len += 1;
    }
}

/// Places to look at, of which the likeliest is the next.
#[derive(Default)]
pub(super) struct Todo {
    walks: [Option<Walk>; 8],
}

impl Todo {
    /// Adds a place; if there are too many, the least likely is left out.
    pub fn push(&mut self, walk: Walk) {
        let confidence = |walk: &Option<Walk>| walk.map_or(0, |walk| walk.confidence);
        let least = self.walks.iter_mut().min_by_key(|walk| confidence(walk));
        if let Some(least) = least.filter(|least| confidence(least) < walk.confidence) {
            *least = Some(walk);
        }
    }

    pub fn pop(&mut self) -> Option<Walk> {
        let confidence = |walk: &Option<Walk>| walk.map_or(0, |walk| walk.confidence);
        self.walks.iter_mut().max_by_key(|walk| confidence(walk))?.take()
    }
}
