//! The program whose memory the paging benchmark moves about: an array of random numbers that is
//! filled once and then read, or read and written, one word per page, in order or at random.

use std::fmt::Write;
use std::ptr::NonNull;
use std::time::Instant;

use clap::{Args, ValueEnum};

use super::Failure;
use super::row::median;

const PAGE: usize = 4096;
const WORDS_PER_PAGE: usize = PAGE / 8;

/// Options of the hidden `farside bench workload`.
#[derive(Debug, Args)]
pub(crate) struct WorkloadArgs {
    /// Size of the array.
    #[arg(long, default_value_t = 512)]
    mib: usize,
    /// Passes over the array, timed one by one.
    #[arg(long = "pass", value_enum)]
    passes: Vec<Pass>,
    /// Threads that share the accesses of a pass.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Also time each access of random passes by itself.
    #[arg(long)]
    latencies: bool,
}

/// One way to go over the array.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pass {
    /// Read one word of every page in order.
    SeqRead,
    /// Read one word of as many pages at random.
    RandRead,
    /// Read one word and write another, in order.
    SeqRw,
    /// Read one word and write another, at random.
    RandRw,
}

impl Pass {
    fn random(self) -> bool {
        matches!(self, Pass::RandRead | Pass::RandRw)
    }

    fn writes(self) -> bool {
        matches!(self, Pass::SeqRw | Pass::RandRw)
    }

    /// The name used on the command line and in the output.
    pub fn name(self) -> &'static str {
        match self {
            Pass::SeqRead => "seq-read",
            Pass::RandRead => "rand-read",
            Pass::SeqRw => "seq-rw",
            Pass::RandRw => "rand-rw",
        }
    }
}

/// Accesses shorter than this did not wait for a page, longer ones did: a cache miss and the clock
/// itself stay well below, any trap into another thread well above.
const LEAST_FAULT_NS: f64 = 1_500.0;

/// Marsaglia's xorshift: fast, and incompressible enough for any page compressor.
#[derive(Copy, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The array, allocated as any C program would.
#[derive(Copy, Clone)]
struct Array {
    words: NonNull<u64>,
    pages: usize,
}

// SAFETY: the words are plain numbers that are only accessed by volatile reads and writes; threads of
// one pass write only to pages of their own part.
unsafe impl Send for Array {}

impl Array {
    fn new(pages: usize) -> Result<Self, Failure> {
        // SAFETY: malloc may be called with any size; null is checked below.
        let words = unsafe { libc::malloc(pages * PAGE) };
        let words = NonNull::new(words.cast::<u64>())
            .ok_or_else(|| Failure::new(format!("malloc of {} bytes failed", pages * PAGE)))?;
        Ok(Self { words, pages })
    }

    fn fill(self, random: &mut Random) {
        for i in 0..self.pages * WORDS_PER_PAGE {
            self.set(i, random.next());
        }
    }

    fn get(self, i: usize) -> u64 {
        debug_assert!(i < self.pages * WORDS_PER_PAGE);
        // SAFETY: i is below the number of words, and every word was written by fill.
        unsafe { self.words.add(i).read_volatile() }
    }

    fn set(self, i: usize, value: u64) {
        debug_assert!(i < self.pages * WORDS_PER_PAGE);
        // SAFETY: i is below the number of words.
        unsafe { self.words.add(i).write_volatile(value) }
    }

    /// Reads, and perhaps writes, one page; returns the word read.
    fn access(self, page: usize, turn: usize, write: bool) -> u64 {
        let word = page * WORDS_PER_PAGE + (turn & (WORDS_PER_PAGE - 1));
        let value = self.get(word);
        if write {
            self.set(page * WORDS_PER_PAGE, value ^ turn as u64);
        }
        value
    }
}

/// What one thread's part of a pass came to.
struct Part {
    sum: u64,
    latencies: Vec<f64>,
}

/// The accesses of one thread: `count` of them, within pages `first..first + count`.
fn part(array: Array, pass: Pass, first: usize, count: usize, seed: u64, timed: bool) -> Part {
    let mut random = Random(seed);
    let mut sum = 0u64;
    // Touched now, so that recording a figure never faults.
    let mut latencies = vec![0.0; if timed { count } else { 0 }];
    for i in 0..count {
        let offset = if pass.random() { (random.next() % count as u64) as usize } else { i };
        let begin = timed.then(Instant::now);
        sum = sum.wrapping_add(array.access(first + offset, i, pass.writes()));
        if let (Some(begin), Some(ns)) = (begin, latencies.get_mut(i)) {
            *ns = begin.elapsed().as_nanos() as f64;
        }
    }
    latencies.retain(|&ns| ns >= LEAST_FAULT_NS);
    Part { sum, latencies }
}

/// Runs the passes; the answer has a line `NAME ns-per-access sum median-fault-ns` for each.
pub(crate) fn run(args: &WorkloadArgs) -> Result<String, Failure> {
    let array = Array::new(args.mib << 20 >> 12)?;
    let mut random = Random(88_172_645_463_325_252);
    array.fill(&mut random);
    let mut text = String::new();
    for &pass in &args.passes {
        let begin = Instant::now();
        let timed = args.latencies && pass.random();
        let parts = go(array, pass, args.threads.max(1), &mut random, timed);
        let ns = begin.elapsed().as_nanos() as f64 / array.pages as f64;
        let sum = parts.iter().fold(0u64, |sum, part| sum.wrapping_add(part.sum));
        let faults: Vec<f64> = parts.into_iter().flat_map(|part| part.latencies).collect();
        let _ = writeln!(text, "{} {ns:.1} {sum:016x} {:.0}", pass.name(), median(&faults));
    }
    Ok(text.trim_end().to_string())
}

fn go(array: Array, pass: Pass, threads: usize, random: &mut Random, timed: bool) -> Vec<Part> {
    let count = array.pages / threads;
    if threads == 1 {
        return vec![part(array, pass, 0, count, random.next(), timed)];
    }
    let starts: Vec<(usize, u64)> = (0..threads).map(|t| (t * count, random.next())).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = starts
            .into_iter()
            .map(|(first, seed)| scope.spawn(move || part(array, pass, first, count, seed, timed)))
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// One line of a workload's answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Which pass.
    pub name: String,
    /// Nanoseconds per access.
    pub ns: f64,
    /// Sum of all words read, the same wherever the workload ran.
    pub sum: String,
    /// Median of the accesses that waited for a page, in nanoseconds; 0 if none was timed.
    pub fault_ns: f64,
}

/// Reads the answer of a workload.
pub(crate) fn parse(stdout: &[u8]) -> Result<Vec<Measured>, Failure> {
    let text = String::from_utf8_lossy(stdout);
    text.lines()
        .map(|line| {
            let mut fields = line.split(' ');
            let mut next = || fields.next().unwrap_or_default().to_string();
            let (name, ns, sum, fault) = (next(), next(), next(), next());
            match (ns.parse(), fault.parse()) {
                (Ok(ns), Ok(fault_ns)) => Ok(Measured { name, ns, sum, fault_ns }),
                _ => Err(Failure::new(format!("the workload answered {line:?}"))),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_work_reads_the_same_words() {
        let args = |threads| WorkloadArgs {
            mib: 4,
            passes: vec![Pass::SeqRead, Pass::RandRw, Pass::SeqRw, Pass::RandRead],
            threads,
            latencies: false,
        };
        for threads in [1, 2] {
            let sums = || -> Vec<String> {
                let text = run(&args(threads)).expect("runs");
                parse(text.as_bytes()).expect("parses").into_iter().map(|m| m.sum).collect()
            };
            let first = sums();
            assert_eq!(first.len(), 4);
            assert_eq!(first, sums());
        }
    }

    #[test]
    fn garbage_is_no_answer() {
        assert!(parse(b"Killed").is_err());
    }
}
