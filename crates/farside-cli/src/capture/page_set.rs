//! A set of pages that is asked about every access.

use std::collections::HashMap;

/// Binary logarithm of the pages in a chunk.
const CHUNK_SHIFT: u32 = 15;

const CHUNK_WORDS: usize = 1 << (CHUNK_SHIFT - 6);

/// Binary logarithm of the number of chunks whose place is remembered.
const REMEMBERED_SHIFT: u32 = 8;

const REMEMBERED: usize = 1 << REMEMBERED_SHIFT;

/// Pages that are known to be in the set without a look; a power of two.
const KNOWN: usize = 1 << 13;

/// Distinct pages, a bit for each in chunks of 128 MiB of address space.
#[derive(Debug)]
pub struct PageSet {
    /// Pages inserted lately, by their lowest bits.
    known: Box<[u64; KNOWN]>,
    chunks: Vec<[u64; CHUNK_WORDS]>,
    indices: HashMap<u64, usize>,
    /// Number and index of chunks used lately, by a hash of their numbers.
    remembered: [(u64, usize); REMEMBERED],
    count: u64,
}

impl Default for PageSet {
    fn default() -> Self {
        let remembered = [(u64::MAX, 0); REMEMBERED];
        Self {
            known: Box::new([u64::MAX; KNOWN]),
            chunks: Vec::new(),
            indices: HashMap::new(),
            remembered,
            count: 0,
        }
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
        let known = &mut self.known[page as usize % KNOWN];
        if *known != page {
            *known = page;
            self.insert_unknown(page);
        }
    }

    fn insert_unknown(&mut self, page: u64) {
        let number = page >> CHUNK_SHIFT;
        let (remembered, index) = self.remembered[place(number)];
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
        self.remembered[place(number)] = (number, index);
        index
    }
}

/// Where a chunk is remembered. Programs use parts of their address space that are powers of two
/// apart, which must not meet in one place.
#[inline]
fn place(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - REMEMBERED_SHIFT)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_counts_once() {
        let mut set = PageSet::default();
        for page in [0, 1, 0, 1 << 21, 0, 1 << 21, 32_767, 32_768, (1 << 48) - 1, (1 << 48) - 1] {
            set.insert(page);
        }
        assert_eq!(set.len(), 6);
        // More chunks than are remembered, each of them twice.
        for chunk in (0..2000).chain(0..2000) {
            set.insert((chunk << CHUNK_SHIFT) + 7);
        }
        assert_eq!(set.len(), 2006);
    }
}
