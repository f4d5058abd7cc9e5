//! The trace file: accesses become columns where they are told, and a thread of its own compresses
//! and writes them, so that both go on at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use farside_trace::{
    Access, BlockBuilder, BlockWriter, EncodedBlock, MAX_NAME_BYTES, Mapping, PageId, PageRange,
    TraceError,
};

use super::space::Change;
use super::stream::{Run, RunWord};

/// Blocks that may wait to be written.
const WAITING: usize = 4;

/// What both sides see.
#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicU64,
    failed: AtomicBool,
}

/// Writes accesses and mappings in the order in which they are given.
#[derive(Debug)]
pub struct Writer {
    gathered: BlockBuilder,
    full: SyncSender<EncodedBlock>,
    written: Receiver<EncodedBlock>,
    shared: Arc<Shared>,
    thread: JoinHandle<Result<(), TraceError>>,
    records: u64,
}

impl Writer {
    /// Writes to `file`.
    pub fn new(file: BlockWriter) -> std::io::Result<Self> {
        let (full, to_write) = sync_channel(WAITING);
        let (empty, written) = channel();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("trace writer".to_owned())
            .spawn(move || write_all(file, &to_write, &empty, &theirs))?;
        let gathered = BlockBuilder::default();
        Ok(Self { gathered, full, written, shared, thread, records: 0 })
    }

    /// Appends an access.
    #[inline]
    pub fn access(&mut self, access: Access) {
        self.gathered.push(access);
        if self.gathered.is_full() {
            self.flush();
        }
    }

    /// Appends accesses of a thread.
    pub fn runs(&mut self, thread: u32, mut runs: &[RunWord]) {
        while !runs.is_empty() {
            let (some, rest) = runs.split_at(runs.len().min(self.gathered.room()));
            self.gathered.extend(thread, some.iter().map(|run| fields(run.run())));
            runs = rest;
            if self.gathered.is_full() {
                self.flush();
            }
        }
    }

    /// Appends a change of the address space.
    pub fn change(&mut self, change: Change) {
        match change {
            Change::Appeared(pages, mut name) => {
                let fits = |&at: &usize| name.is_char_boundary(at);
                name.truncate((0..=MAX_NAME_BYTES).rev().find(fits).unwrap_or(0));
                let (first, count) = (PageId(pages.start), pages.end - pages.start);
                // The name was made short enough.
                let _ = self.gathered.map(&Mapping { first, count, name });
            }
            Change::Vanished(pages) => {
                let count = pages.end - pages.start;
                self.gathered.unmap(PageRange::new(PageId(pages.start), count));
            }
        }
        if self.gathered.is_full() {
            self.flush();
        }
    }

    /// Has everything so far written to the file soon.
    #[cold]
    pub fn flush(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        self.records += self.gathered.len() as u64;
        let mut block = self.written.try_recv().unwrap_or_default();
        self.gathered.take(&mut block);
        // The thread ends early only after a failure, which `failed` tells.
        let _ = self.full.send(block);
    }

    /// Whether nothing can be written any more.
    pub fn failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Number of accesses so far.
    pub fn records(&self) -> u64 {
        self.records + self.gathered.len() as u64
    }

    /// Number of bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Completes the file. The reason if not everything could be written.
    pub fn finish(mut self) -> Result<(), TraceError> {
        self.flush();
        drop(self.full);
        self.thread.join().unwrap_or(Ok(()))
    }
}

/// What the trace says of a run.
#[inline]
fn fields(run: Run) -> (PageId, u32, bool) {
    (PageId(run.page), run.weight, run.wrote)
}

fn write_all(
    mut file: BlockWriter,
    to_write: &Receiver<EncodedBlock>,
    written: &Sender<EncodedBlock>,
    shared: &Shared,
) -> Result<(), TraceError> {
    for block in to_write {
        if let Err(error) = file.write(&block) {
            shared.failed.store(true, Ordering::Relaxed);
            return Err(error);
        }
        shared.bytes.store(file.bytes(), Ordering::Relaxed);
        // At the end nobody wants it back.
        let _ = written.send(block);
    }
    file.finish().map(drop)
}
