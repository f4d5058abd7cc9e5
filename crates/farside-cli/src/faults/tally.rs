//! Faults counted by instruction, and samples of their stacks.

use std::collections::HashMap;

use farside_os::memory::PAGE;
use farside_symbols::{Callers, Place};
use farside_wire::fault_log::Answer;

use super::pattern::Pattern;

/// Most streams of one instruction that are told apart.
const MOST_STREAMS: u32 = 256;

/// What kind of fault.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// What was done.
    pub answer: Answer,
    /// Whether the program wanted to write.
    pub write: bool,
}

/// Where faults come from that are looked at together: one instruction, at one depth of the stack of one thread, and so,
/// nearly always, called from one place.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    /// The instruction; `None` is code that is in no file.
    pub place: Option<Place>,
    /// The thread, and its stack pointer; zero for streams beyond those that are told apart.
    pub depth: (u32, u64),
}

/// Faults of one stream.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// How many of each kind.
    pub counts: HashMap<Kind, u64>,
    /// Where it read, and where it wrote.
    pub patterns: [Pattern; 2],
}

/// All faults of a process.
#[derive(Debug, Default)]
pub struct Tally {
    /// What was counted.
    pub leaves: HashMap<Stream, Leaf>,
    /// Where each thread read and wrote in the code of each image as a whole.
    pub libraries: HashMap<(u32, u32), [Pattern; 2]>,
    /// Stacks that were sampled, and how many faults they stand for.
    pub stacks: HashMap<(Stream, Callers, Kind), u64>,
    /// How many samples that were.
    pub samples: u64,
    /// How many of them end before the beginning of their thread.
    pub incomplete: u64,
    /// Faults whose instruction nobody saw.
    pub unseen: HashMap<Kind, u64>,
    /// Events that the kernel had no room for.
    pub lost: u64,
    /// Streams of each instruction.
    streams: HashMap<Option<Place>, u32>,
    /// All faults so far, and how many there had been at each page's last one.
    faults: u64,
    last: HashMap<u64, u64>,
}

impl Tally {
    /// Counts a fault of a stream at an address; returns the stream that it was counted with.
    pub fn add(&mut self, mut stream: Stream, kind: Kind, address: u64) -> Stream {
        let thread = stream.depth.0;
        if !self.leaves.contains_key(&stream) {
            let streams = self.streams.entry(stream.place).or_default();
            if *streams < MOST_STREAMS {
                *streams += 1;
            } else {
                stream.depth = (0, 0);
            }
        }
        let leaf = self.leaves.entry(stream).or_default();
        *leaf.counts.entry(kind).or_default() += 1;
        let page = address / PAGE as u64;
        self.faults += 1;
        // Becoming writable is no use of its own.
        if kind.answer != Answer::Protection {
            let age = self.last.insert(page, self.faults).map(|before| self.faults - before);
            leaf.patterns[usize::from(kind.write)].add(page, age);
            if let Some(place) = stream.place {
                let library = self.libraries.entry((thread, place.image)).or_default();
                library[usize::from(kind.write)].add(page, age);
            }
        }
        stream
    }

    /// Counts a fault whose instruction is not known.
    pub fn add_unseen(&mut self, kind: Kind) {
        *self.unseen.entry(kind).or_default() += 1;
    }

    /// Takes note of the stack of a fault that was counted.
    pub fn add_stack(&mut self, stream: Stream, callers: Callers, kind: Kind) {
        self.samples += 1;
        self.incomplete += u64::from(!callers.complete);
        *self.stacks.entry((stream, callers, kind)).or_default() += 1;
    }
}
