//! When each page is referenced next: what perfect knowledge of the future comes to.

use farside_trace::PageId;

use crate::page_map::{NONE, PageMap};

/// Stands for "never again".
pub const NEVER: u32 = NONE;

/// Next uses of a trace that comes bit by bit: four bytes for each reference.
#[derive(Clone, Debug, Default)]
pub struct NextUses {
    last: PageMap,
    next: Vec<u32>,
}

impl NextUses {
    /// Before the first reference.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a reference; false if there are too many, 2^32 - 1.
    pub fn push(&mut self, page: PageId) -> bool {
        let now = self.next.len() as u32;
        if now == NEVER {
            return false;
        }
        let last = std::mem::replace(self.last.entry(page), now);
        if let Some(next) = self.next.get_mut(last as usize) {
            *next = now;
        }
        self.next.push(NEVER);
        true
    }

    /// The next use of each reference taken in.
    pub fn finish(self) -> Vec<u32> {
        self.next
    }
}

/// For each reference of a trace the index of the next one to the same page, or [`NEVER`].
///
/// # Panics
/// If the trace has 2^32 - 1 references or more.
pub fn next_uses(trace: &[PageId]) -> Vec<u32> {
    assert!(trace.len() < NEVER as usize, "a trace of {} references", trace.len());
    let mut seen = PageMap::new();
    let mut next = vec![NEVER; trace.len()];
    for (index, page) in trace.iter().enumerate().rev() {
        next[index] = std::mem::replace(seen.entry(*page), index as u32);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_reference_to_the_same_page_is_found() {
        let trace = [5, 7, 5, 5, 9, 7].map(PageId);
        assert_eq!(next_uses(&trace), [2, 5, 3, NEVER, NEVER, NEVER]);
        let mut bit_by_bit = NextUses::new();
        assert!(trace.iter().all(|page| bit_by_bit.push(*page)));
        assert_eq!(bit_by_bit.finish(), next_uses(&trace));
        assert!(next_uses(&[]).is_empty());
    }
}
