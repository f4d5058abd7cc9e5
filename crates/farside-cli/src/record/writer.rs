//! Writes what a recorded process tells into a trace, in a thread of its own.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use farside_trace::{
    Access, Mapping, Metadata, PageId, PageRange, Summary, TraceError, TraceWriter,
};
use farside_wire::queue;
use farside_wire::recording::Told;

/// What the thread is asked for.
enum Request {
    /// The process begins anew, as another program: what it did before is dropped. Answered when that is done.
    Restart(SyncSender<()>),
    /// The process has ended.
    Finish,
}

/// What came of recording.
#[derive(Debug)]
pub struct Recorded {
    /// What is in the trace.
    pub summary: Summary,
    /// Threads that used far memory.
    pub threads: u32,
    /// The microset that it grew to, in pages, if it did.
    pub grown: Option<u32>,
    /// Why the rest is missing, if some is.
    pub problem: Option<TraceError>,
}

/// A trace in the making.
#[derive(Debug)]
pub struct Writer {
    requests: Sender<Request>,
    thread: JoinHandle<Recorded>,
    file: std::os::fd::OwnedFd,
}

impl Writer {
    /// Begins the trace at `path`.
    ///
    /// # Errors
    /// If the file cannot be made; [`std::io::Error`] inside if there can be no queue or no thread.
    pub fn new(path: &Path, metadata: Metadata) -> Result<Self, TraceError> {
        let cannot = |source| TraceError::Create { path: path.to_owned(), source };
        let no_thread = |source| TraceError::Create { path: PathBuf::new(), source };
        let trace = TraceWriter::create(path, &metadata)?;
        let queue = queue::Receiver::new().map_err(|error| cannot(error.into()))?;
        let file = queue.file().try_clone_to_owned().map_err(cannot)?;
        let (requests, asked) = channel();
        let path = path.to_owned();
        let body = move || {
            let (words, thread, threads, grown) = (Vec::new(), 0, 0, None);
            Work { path, metadata, queue, trace, words, thread, threads, grown }.run(&asked)
        };
        let builder = std::thread::Builder::new().name("trace writer".to_owned());
        // Signals are for the thread that supervises the program.
        let mask = farside_os::thread::block_signals();
        let thread = builder.spawn(body);
        farside_os::thread::restore_signals(&mask);
        Ok(Self { requests, thread: thread.map_err(no_thread)?, file })
    }

    /// The process to record, or what it has become, is about to begin; returns what it tells by.
    pub fn begin(&self) -> BorrowedFd<'_> {
        let (done, answer) = sync_channel(1);
        // A thread that has ended, because the disk is full, has nothing to drop.
        if self.requests.send(Request::Restart(done)).is_ok() {
            let _ = answer.recv();
        }
        std::os::fd::AsFd::as_fd(&self.file)
    }

    /// Completes the trace of a process that has ended.
    pub fn finish(self) -> Option<Recorded> {
        let _ = self.requests.send(Request::Finish);
        self.thread.join().ok()
    }
}

struct Work {
    path: PathBuf,
    metadata: Metadata,
    queue: queue::Receiver,
    trace: TraceWriter,
    words: Vec<u64>,
    /// The thread that the process tells of.
    thread: u32,
    threads: u32,
    grown: Option<u32>,
}

impl Work {
    fn run(mut self, asked: &Receiver<Request>) -> Recorded {
        let mut fruitless = 0;
        let problem = loop {
            let request = asked.try_recv();
            let over = !matches!(request, Err(std::sync::mpsc::TryRecvError::Empty));
            let came = self.queue.take(&mut self.words);
            if let Err(problem) = self.hear() {
                break Some(problem);
            }
            match request {
                Ok(Request::Restart(done)) => {
                    match TraceWriter::create(&self.path, &self.metadata) {
                        Ok(trace) => self.trace = trace,
                        Err(problem) => break Some(problem),
                    }
                    (self.thread, self.threads, self.grown) = (0, 0, None);
                    self.words.clear();
                    // The supervisor waits for it.
                    let _ = done.send(());
                }
                _ if over && came == 0 => break None,
                _ if over => {
                    // Nothing more is put, but more may have been than was taken at once.
                    while self.queue.take(&mut self.words) > 0 {}
                    break self.hear().err();
                }
                _ => {}
            }
            fruitless = if came > 0 { 0 } else { fruitless + 1 };
            if came == 0 {
                queue::Receiver::rest(fruitless);
            }
        };
        self.end(problem)
    }

    fn end(self, problem: Option<TraceError>) -> Recorded {
        let (threads, grown) = (self.threads, self.grown);
        match self.trace.finish() {
            Ok(summary) => Recorded { summary, threads, grown, problem },
            Err(error) => {
                let problem = problem.or(Some(error));
                Recorded { summary: Summary::default(), threads, grown, problem }
            }
        }
    }

    /// Writes what has come.
    fn hear(&mut self) -> Result<(), TraceError> {
        let words = std::mem::take(&mut self.words);
        let mut rest = &words[..];
        while let Some((told, taken)) = Told::decode(rest) {
            rest = &rest[taken..];
            self.write(told)?;
        }
        self.words.extend_from_slice(rest);
        Ok(())
    }

    fn write(&mut self, told: Told) -> Result<(), TraceError> {
        match told {
            Told::Thread(thread) => {
                self.thread = thread;
                self.threads = self.threads.max(thread.saturating_add(1));
            }
            Told::Pages { first, count, write } => {
                for page in first..first + count {
                    let access =
                        Access { page: PageId(page), write, thread: self.thread, weight: 1 };
                    self.trace.write(access)?;
                }
            }
            Told::Appeared { first, count, site, nth, offset, kept } => {
                let kept = if kept { ",kept" } else { "" };
                let name = format!("far:{site:016x}:{nth}+{offset}{kept}");
                self.trace.map(Mapping { first: PageId(first), count, name })?;
            }
            Told::Vanished { first, count } => {
                self.trace.unmap(PageRange::new(PageId(first), count))?;
            }
            Told::Microset(pages) => {
                // Threads tell of their own, and those that begin later of small ones.
                if self.grown.is_none_or(|before| before < pages) {
                    self.grown = Some(pages);
                    self.trace.amend(&amended(&self.metadata, pages))?;
                }
            }
        }
        Ok(())
    }
}

/// What is known of a trace whose microsets have grown.
fn amended(metadata: &Metadata, microset: u32) -> Metadata {
    let mut metadata = metadata.clone();
    metadata.other.insert("microset".to_owned(), microset.into());
    metadata
}
