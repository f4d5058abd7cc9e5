//! The two traces that the analysis benchmark runs on: skewed references, and a loop.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use farside_trace::{PageId, synthetic};

use crate::bench::Failure;

/// Where the random numbers begin.
const SEED: u64 = 42;

/// A trace that can be made anew anywhere.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Synthetic {
    /// Drawn by Zipf's law from a tenth as many pages as references.
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
        match references / 1_000_000 {
            0 => format!("{kind}{}k", references / 1_000),
            millions => format!("{kind}{millions}m"),
        }
    }

    /// The page of each reference.
    pub fn pages(self, references: usize) -> Box<dyn Iterator<Item = PageId>> {
        match self {
            Self::Zipf => Box::new(synthetic::zipf(references, references / 10, SEED)),
            Self::Loop => Box::new(synthetic::cycle(references, references / 50)),
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

/// Writes the page numbers as a list that every command reads: 64 bits each, little end first.
pub(crate) fn write(pages: impl Iterator<Item = PageId>, path: &Path) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::io(format!("cannot write {}", path.display()), &e);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    for page in pages {
        file.write_all(&page.0.to_le_bytes()).map_err(failed)?;
    }
    file.flush().map_err(failed)
}
