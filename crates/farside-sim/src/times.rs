//! Sets of times.

/// A set of times before a given one: a bit for each, a bit for each word of bits, and so on.
#[derive(Debug)]
pub(crate) struct Times {
    levels: Vec<Vec<u64>>,
}

impl Times {
    /// An empty set of times before `len`.
    pub fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut bits = len.max(1);
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
            bits = words;
        }
    }

    /// Puts `time` in.
    #[inline]
    pub fn put(&mut self, time: usize) {
        let mut index = time;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            let empty = *word == 0;
            *word |= 1 << (index % 64);
            if !empty {
                return;
            }
            index /= 64;
        }
    }

    /// Takes `time` out; whether it was in.
    #[inline]
    pub fn take(&mut self, time: usize) -> bool {
        let bit = 1 << (time % 64);
        if self.levels[0][time / 64] & bit == 0 {
            return false;
        }
        let mut index = time;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                break;
            }
            index /= 64;
        }
        true
    }

    /// The last time that is in.
    #[inline]
    pub fn last(&self) -> Option<usize> {
        let mut index = 0;
        for level in self.levels.iter().rev() {
            index = index * 64 + level[index].checked_ilog2()? as usize;
        }
        Some(index)
    }
}
