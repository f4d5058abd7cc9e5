//! When each page is referenced next: what perfect knowledge of the future comes to.

use farside_trace::PageId;

use crate::page_map::{NONE, PageMap};

/// Stands for "never again".
pub const NEVER: u32 = NONE;

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
        assert!(next_uses(&[]).is_empty());
    }
}
