//! Pages of a fetched run that stay unmapped.

use std::ops::Range;

use farside_policy::batches::BATCH;

/// Which pages of a run, counted from its first, stay unmapped, to learn whether or when they are used.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Kept {
    bits: [u64; BATCH / 64],
}

impl Kept {
    pub const NONE: Self = Self { bits: [0; BATCH / 64] };

    /// Those from the first of a range to before its end.
    pub fn range(range: Range<u64>) -> Self {
        let mut kept = Self::NONE;
        range.for_each(|index| kept.add(index));
        kept
    }

    pub fn add(&mut self, index: u64) {
        self.bits[index as usize / 64] |= 1 << (index % 64);
    }

    fn has(&self, index: u64) -> bool {
        self.bits[index as usize / 64] >> (index % 64) & 1 != 0
    }

    /// Divides a run of so many pages into ranges of which all pages stay unmapped, or none does.
    pub fn parts(&self, count: u64) -> impl Iterator<Item = (Range<u64>, bool)> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let stays = (at < count).then(|| self.has(at))?;
            let end = (at..count).find(|index| self.has(*index) != stays).unwrap_or(count);
            Some((std::mem::replace(&mut at, end)..end, stays))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_divided_where_pages_stay() {
        let parts = |kept: Kept, count| kept.parts(count).collect::<Vec<_>>();
        assert_eq!(parts(Kept::NONE, 70), [(0..70, false)]);
        assert_eq!(parts(Kept::range(0..512), 512), [(0..512, true)]);
        assert_eq!(parts(Kept::range(3..3), 4), [(0..4, false)]);
        assert!(parts(Kept::range(0..9), 0).is_empty());
        let mut kept = Kept::range(62..66);
        kept.add(0);
        let expected = [(0..1, true), (1..62, false), (62..66, true), (66..80, false)];
        assert_eq!(parts(kept, 80), expected);
    }
}
