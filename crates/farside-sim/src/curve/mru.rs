//! The exact MRU curve in one pass.

use farside_trace::PageId;

use super::Distances;
use crate::page_map::{NONE, PageMap};

/// MRU stack distances.
///
/// The page that MRU gives up is the one used last, whatever the size of memory. So when a page comes to
/// the top of the stack, the one that was there takes its place, and no other page moves: a reference
/// takes constant time.
#[derive(Clone, Debug, Default)]
pub struct MruDistances {
    /// Depth in the stack, less one.
    depths: PageMap,
    top: Option<PageId>,
    pages: u32,
    distances: Distances,
}

impl MruDistances {
    /// Before the first reference.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a reference to `page`.
    #[inline]
    pub fn reference(&mut self, page: PageId) {
        if self.top == Some(page) {
            return self.distances.add(1);
        }
        let depth = std::mem::replace(self.depths.entry(page), 0);
        let depth = if depth == NONE {
            self.distances.add_cold();
            self.pages += 1;
            self.pages - 1
        } else {
            self.distances.add(depth as usize + 1);
            depth
        };
        if let Some(top) = self.top.replace(page) {
            *self.depths.entry(top) = depth;
        }
    }

    /// What was counted.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// What was counted; what was needed for counting is given back.
    pub fn into_distances(self) -> Distances {
        self.distances
    }
}
