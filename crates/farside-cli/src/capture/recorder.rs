//! What becomes of the program's accesses: counted, filtered, and written to the trace.

use farside_trace::{Access, PageId, TraceError};

use super::filter::Filter;
use super::order::Listener;
use super::page_set::PageSet;
use super::space::{Call, Change, Space};
use super::stream::{Run, RunWord};
use super::tlb::Tlb;
use super::writer::Writer;

/// Kinds of messages, besides those that concern the order itself.
mod kind {
    pub const SPACE: u64 = 2;
    pub const CALL: u64 = 3;
    pub const EXEC: u64 = 4;
    pub const NO_EXEC: u64 = 5;
}

/// Words of a call before the name of its file: number, result and six arguments.
const CALL_WORDS: usize = 8;

/// Records what is told in order.
pub struct Recorder {
    writer: Writer,
    tlb: Option<Tlb>,
    filter: Option<Filter>,
    space: Space,
    pages: PageSet,
    accesses: u64,
    /// Whether the program asked to be replaced and was not refused.
    replaced: bool,
}

/// What was recorded.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Data accesses that the program made.
    pub accesses: u64,
    /// Records in the trace.
    pub records: u64,
    /// Distinct pages that the program accessed.
    pub pages: u64,
    /// Bytes in the trace file.
    pub bytes: u64,
}

impl Recorder {
    /// Records to `writer`, what passes `tlb` and `filter` alone if there are such.
    pub fn new(writer: Writer, tlb: Option<Tlb>, filter: Option<Filter>) -> Self {
        Self {
            writer,
            tlb,
            filter,
            space: Space::default(),
            pages: PageSet::default(),
            accesses: 0,
            replaced: false,
        }
    }

    /// Whether nothing can be written any more.
    pub fn failed(&self) -> bool {
        self.writer.failed()
    }

    /// Whether the program became another one by `exec`, as far as it looks now.
    pub fn replaced(&self) -> bool {
        self.replaced
    }

    /// What was recorded so far.
    pub fn recorded(&self) -> Recorded {
        Recorded {
            accesses: self.accesses,
            records: self.writer.records(),
            pages: self.pages.len(),
            bytes: self.writer.bytes(),
        }
    }

    /// Writes what waits to be written with others, so that it survives this process.
    pub fn flush(&mut self) {
        self.writer.flush();
    }

    /// Completes the trace. What was recorded, and the reason if not all of it could be written.
    pub fn finish(self) -> (Recorded, Result<(), TraceError>) {
        (self.recorded(), self.writer.finish())
    }

    fn map(&mut self, changes: Vec<Change>) {
        changes.into_iter().for_each(|change| self.writer.change(change));
    }
}

impl Listener for Recorder {
    #[inline]
    fn run(&mut self, thread: u32, run: Run) {
        self.accesses += u64::from(run.weight);
        self.pages.insert(run.page);
        let weight = match &mut self.tlb {
            Some(tlb) => tlb.passes(run.page, run.wrote, run.weight),
            None => Some(run.weight),
        };
        let Some(weight) = weight else { return };
        if self.filter.as_mut().is_some_and(|filter| !filter.passes(run.page)) {
            return;
        }
        let (page, write) = (PageId(run.page), run.wrote);
        self.writer.access(Access { page, write, thread, weight });
    }

    fn runs(&mut self, thread: u32, runs: &[RunWord]) {
        if self.tlb.is_some() || self.filter.is_some() {
            runs.iter().for_each(|run| self.run(thread, run.run()));
            return;
        }
        self.accesses += runs.iter().map(|run| u64::from(run.run().weight)).sum::<u64>();
        runs.iter().for_each(|run| self.pages.insert(run.run().page));
        self.writer.runs(thread, runs);
    }

    fn message(&mut self, kind: u64, words: &[u64]) {
        match kind {
            kind::SPACE => {
                let changes = self.space.begin(&text_of(words));
                self.map(changes);
            }
            kind::CALL if words.len() >= CALL_WORDS => {
                let (words, name) = words.split_at(CALL_WORDS);
                let mut arguments = [0; 6];
                arguments.copy_from_slice(&words[2..]);
                let (number, result) = (words[0] as i64, words[1]);
                let call = Call { number, result, arguments, file: &text_of(name) };
                let changes = self.space.follow(&call);
                self.map(changes);
            }
            kind::EXEC => self.replaced = true,
            kind::NO_EXEC => self.replaced = false,
            _ => {}
        }
    }
}

/// The text that words consist of; zeros fill the last one.
fn text_of(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}
