//! The two traces that the analysis benchmark runs on: skewed references, and a loop.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::bench::Failure;

/// A trace that can be made anew anywhere.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Synthetic {
    /// Pages drawn by Zipf's law from five for every fifty references; their numbers are shuffled.
    Zipf,
    /// One fiftieth as many pages as references, over and over in order.
    Loop,
}

impl Synthetic {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Zipf, Self::Loop];

    /// Its name for so many references.
    pub fn name(self, references: usize) -> String {
        let kind = match self {
            Self::Zipf => "zipf",
            Self::Loop => "loop",
        };
        format!("{kind}{}m", references / 1_000_000)
    }

    /// The page of each reference, counted from 1.
    pub fn pages(self, references: usize) -> Vec<u64> {
        match self {
            Self::Zipf => zipf(references, references / 10),
            Self::Loop => (0..references).map(|i| (i % (references / 50)) as u64 + 1).collect(),
        }
    }

    /// The size of memory, in pages, that policies are simulated with: a tenth of what Zipf's
    /// references touch, half of the loop.
    pub fn memory(self, references: usize) -> usize {
        match self {
            Self::Zipf => references / 131,
            Self::Loop => references / 100,
        }
    }
}

/// splitmix64.
struct Random(u64);

impl Random {
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

fn zipf(references: usize, pages: usize) -> Vec<u64> {
    let mut sum = 0.0;
    let mut below: Vec<f64> = (1..=pages)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    below.iter_mut().for_each(|share| *share /= sum);
    let mut random = Random(42);
    let mut numbers: Vec<u64> = (1..=pages as u64).collect();
    for last in (1..pages).rev() {
        numbers.swap(last, (random.next() % (last as u64 + 1)) as usize);
    }
    let mut draw = || {
        let share = random.share();
        numbers[below.partition_point(|below| *below < share).min(pages - 1)]
    };
    (0..references).map(|_| draw()).collect()
}

/// Writes the page numbers as a list that every command reads: 64 bits each, little end first.
pub(crate) fn write(pages: &[u64], path: &Path) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::io(format!("cannot write {}", path.display()), &e);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    pages.iter().try_for_each(|page| file.write_all(&page.to_le_bytes())).map_err(failed)?;
    file.flush().map_err(failed)
}
