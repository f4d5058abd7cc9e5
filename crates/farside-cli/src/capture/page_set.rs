//! A set of pages that is asked about every access.

use std::collections::HashMap;

/// Binary logarithm of the pages in a chunk.
const CHUNK_SHIFT: u32 = 15;

const CHUNK_WORDS: usize = 1 << (CHUNK_SHIFT - 6);

/// Chunks whose place is remembered.
const REMEMBERED: usize = 64;

/// Distinct pages, a bit for each in chunks of 128 MiB of address space.
#[derive(Debug)]
pub struct PageSet {
    chunks: Vec<[u64; CHUNK_WORDS]>,
    indices: HashMap<u64, usize>,
    /// Number and index of chunks used lately, by their lowest bits.
    remembered: [(u64, usize); REMEMBERED],
    count: u64,
}

impl Default for PageSet {
    fn default() -> Self {
        let remembered = [(u64::MAX, 0); REMEMBERED];
        Self { chunks: Vec::new(), indices: HashMap::new(), remembered, count: 0 }
    }
}

impl PageSet {
    /// Number of pages in the set.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Adds a page.
    #[inline]
    pub fn insert(&mut self, page: u64) {
        let number = page >> CHUNK_SHIFT;
        let (remembered, index) = self.remembered[number as usize % REMEMBERED];
        let index = if remembered == number { index } else { self.find(number) };
        let bit = page as usize & ((1 << CHUNK_SHIFT) - 1);
        let word = &mut self.chunks[index][bit / 64];
        if *word >> (bit % 64) & 1 == 0 {
            *word |= 1 << (bit % 64);
            self.count += 1;
        }
    }

    #[cold]
    fn find(&mut self, number: u64) -> usize {
        let chunks = &mut self.chunks;
        let index = *self.indices.entry(number).or_insert_with(|| {
            chunks.push([0; CHUNK_WORDS]);
            chunks.len() - 1
        });
        self.remembered[number as usize % REMEMBERED] = (number, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_counts_once() {
        let mut set = PageSet::default();
        // Chunks that share a place among the remembered ones, and neighbours on a border.
        for page in [0, 1, 0, 1 << 21, 0, 1 << 21, 32_767, 32_768, (1 << 48) - 1, (1 << 48) - 1] {
            set.insert(page);
        }
        assert_eq!(set.len(), 6);
    }
}
