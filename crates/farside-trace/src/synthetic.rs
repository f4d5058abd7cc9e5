//! References that can be made anew anywhere: the inputs of benchmarks and of golden counts.

use crate::PageId;

/// `references` references to `pages` pages, over and over in order.
pub fn cycle(references: usize, pages: usize) -> impl Iterator<Item = PageId> {
    (0..pages as u64).map(PageId).cycle().take(references)
}

/// `references` references to `pages` pages, drawn by Zipf's law with exponent 1; which page is the how
/// frequent one is drawn too. The random numbers are splitmix64's from `seed` on.
///
/// Nothing, if there are no pages.
pub fn zipf(references: usize, pages: usize, seed: u64) -> impl Iterator<Item = PageId> {
    let mut sum = 0.0;
    let mut below: Vec<f64> = (1..=pages)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    below.iter_mut().for_each(|share| *share /= sum);
    let mut random = SplitMix(seed);
    let mut shuffled: Vec<u64> = (0..pages as u64).collect();
    for last in (1..pages).rev() {
        shuffled.swap(last, (random.next() % (last as u64 + 1)) as usize);
    }
    let references = if pages == 0 { 0 } else { references };
    (0..references).map(move |_| {
        let share = random.share();
        let rank = below.partition_point(|below| *below < share);
        PageId(shuffled[rank.min(pages - 1)])
    })
}

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to less than 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_pages_are_frequent_and_loops_come_round() {
        let pages: Vec<_> = cycle(7, 3).map(|page| page.0).collect();
        assert_eq!(pages, [0, 1, 2, 0, 1, 2, 0]);
        let mut counts = [0_u32; 100];
        zipf(10_000, 100, 1).for_each(|page| counts[page.0 as usize] += 1);
        counts.sort_unstable();
        // The most frequent of a hundred has a share of 1 / 5.19, the second half of that.
        assert!((1_800..2_060).contains(&counts[99]), "{counts:?}");
        assert!((850..1_080).contains(&counts[98]), "{counts:?}");
        assert!(zipf(5, 0, 1).next().is_none() && cycle(5, 0).next().is_none());
        assert!(zipf(50, 10, 1).eq(zipf(50, 10, 1)) && !zipf(50, 10, 1).eq(zipf(50, 10, 2)));
    }
}
