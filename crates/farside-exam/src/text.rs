//! Inputs, the same on every machine.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Marsaglia's xorshift.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.draw() >> 11) % bound
    }
}

/// Words from which [`write_lines`] makes sentences.
const WORDS: [&str; 24] = [
    "memory", "page", "far", "near", "the", "of", "node", "limit", "fault", "a", "reads", "writes",
    "before", "after", "program", "kernel", "fetches", "evicts", "and", "not", "while", "local",
    "resident", "clean",
];

/// Writes lines of text until the file has `bytes` bytes.
pub fn write_lines(path: &Path, bytes: u64, seed: u64) {
    let file = File::create(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut out = BufWriter::new(file);
    let mut random = Random::new(seed);
    let mut written = 0;
    while written < bytes {
        let mut line = format!("{:x}", random.below(1 << 24));
        for _ in 0..2 + random.below(9) {
            line.push(' ');
            line.push_str(WORDS[random.below(WORDS.len() as u64) as usize]);
        }
        line.push('\n');
        written += line.len() as u64;
        out.write_all(line.as_bytes()).expect("the temporary directory has room");
    }
    out.flush().expect("the temporary directory has room");
}

/// Lines made by `make` from their numbers.
pub fn lines(count: u64, make: impl Fn(u64) -> String) -> String {
    (0..count).map(|i| make(i) + "\n").collect()
}
