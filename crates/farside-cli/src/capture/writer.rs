//! The trace file, written by a thread of its own so that reading what the program tells and
//! compressing it go on at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use farside_trace::{Access, MAX_NAME_BYTES, Mapping, PageId, PageRange, TraceError, TraceWriter};

use super::space::Change;

/// Accesses that are handed over at once; they fit in a processor's cache.
const BATCH: usize = 1 << 13;

/// Batches that may wait to be written.
const WAITING: usize = 8;

/// Accesses and what happened after them.
#[derive(Debug, Default)]
struct Batch {
    accesses: Vec<Access>,
    changes: Vec<Change>,
    /// Whether it has to reach the file at once.
    flush: bool,
}

/// What both sides see.
#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicU64,
    failed: AtomicBool,
}

/// Writes accesses and mappings in the order in which they are given.
#[derive(Debug)]
pub struct Writer {
    batch: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    shared: Arc<Shared>,
    thread: JoinHandle<Result<(), TraceError>>,
    records: u64,
}

impl Writer {
    /// Writes to `file`.
    pub fn new(file: TraceWriter) -> std::io::Result<Self> {
        let (full, to_write) = sync_channel(WAITING);
        let (written, empty) = channel();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("trace writer".to_owned())
            .spawn(move || write_all(file, &to_write, &written, &theirs))?;
        let batch = Batch { accesses: Vec::with_capacity(BATCH), ..Batch::default() };
        Ok(Self { batch, full, empty, shared, thread, records: 0 })
    }

    /// Appends an access.
    #[inline]
    pub fn access(&mut self, access: Access) {
        self.batch.accesses.push(access);
        if self.batch.accesses.len() >= BATCH {
            self.hand_over();
        }
    }

    /// Appends a change of the address space.
    pub fn change(&mut self, change: Change) {
        self.batch.changes.push(change);
        self.hand_over();
    }

    /// Has everything so far written to the file soon.
    pub fn flush(&mut self) {
        self.batch.flush = true;
        self.hand_over();
    }

    #[cold]
    fn hand_over(&mut self) {
        self.records += self.batch.accesses.len() as u64;
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.accesses.reserve(BATCH);
        // The thread ends early only after a failure, which `failed` tells.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }

    /// Whether nothing can be written any more.
    pub fn failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Number of accesses so far.
    pub fn records(&self) -> u64 {
        self.records + self.batch.accesses.len() as u64
    }

    /// Number of bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Completes the file. The reason if not everything could be written.
    pub fn finish(mut self) -> Result<(), TraceError> {
        self.hand_over();
        drop(self.full);
        self.thread.join().unwrap_or(Ok(()))
    }
}

fn write_all(
    mut file: TraceWriter,
    to_write: &Receiver<Batch>,
    written: &Sender<Batch>,
    shared: &Shared,
) -> Result<(), TraceError> {
    for mut batch in to_write {
        if let Err(error) = write(&mut file, &mut batch) {
            shared.failed.store(true, Ordering::Relaxed);
            return Err(error);
        }
        shared.bytes.store(file.bytes(), Ordering::Relaxed);
        // At the end nobody wants it back.
        let _ = written.send(batch);
    }
    file.finish().map(drop)
}

/// Writes a batch and empties it.
fn write(file: &mut TraceWriter, batch: &mut Batch) -> Result<(), TraceError> {
    for access in batch.accesses.drain(..) {
        file.write(access)?;
    }
    for change in batch.changes.drain(..) {
        match change {
            Change::Appeared(pages, mut name) => {
                let fits = |&at: &usize| name.is_char_boundary(at);
                name.truncate((0..=MAX_NAME_BYTES).rev().find(fits).unwrap_or(0));
                let (first, count) = (PageId(pages.start), pages.end - pages.start);
                file.map(Mapping { first, count, name })?;
            }
            Change::Vanished(pages) => {
                let count = pages.end - pages.start;
                file.unmap(PageRange::new(PageId(pages.start), count))?;
            }
        }
    }
    if std::mem::take(&mut batch.flush) { file.flush() } else { Ok(()) }
}
