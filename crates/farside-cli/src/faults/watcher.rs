//! Watches where a process faults, in a thread of its own: joins what the process tells of each fault with what the
//! kernel tells of its instruction.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use farside_os::fault_events::{FaultEvent, FaultEvents};
use farside_symbols::{Images, Registers, Unwinder};
use farside_wire::fault_log::{Logged, LoggedFault, WORDS};
use farside_wire::hint_board::{Counted, HintBoard};
use farside_wire::queue;

use super::followed;
use super::pending::{Pending, Touched};
use super::pointers::Noted;
use super::tally::{Kind, Stream, Tally};
use crate::Failure;

/// Faults of which one is looked at with its stack: a prime, so that loops are not always seen in the same place.
const STACK_PERIOD: u64 = 7;

/// How often the mappings of a process are read again, at most, to find code that was not known.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What the thread is asked for.
enum Request {
    /// The process with this id begins, perhaps anew as another program: what it did before is dropped. Answered when
    /// it is watched.
    Begin(u32, SyncSender<()>),
    /// The process has ended.
    Finish,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Watched {
    /// The faults.
    pub tally: Tally,
    /// The files that the process executed.
    pub images: Images,
    /// What came of its hints, by where they are given.
    pub hints: Vec<Counted>,
    /// What tells which faults were pointer-based, if that was asked for.
    pub noted: Option<Noted>,
    /// What came of following pointers.
    pub followed: followed::Tally,
    /// Why the kernel told nothing of its faults, if it did not.
    pub refused: Option<String>,
}

/// Somebody who watches a process.
#[derive(Debug)]
pub struct Watcher {
    requests: Sender<Request>,
    thread: JoinHandle<Watched>,
    file: OwnedFd,
}

impl Watcher {
    /// Gets ready to watch; with `pointers`, with what tells which faults are pointer-based, too.
    ///
    /// # Errors
    /// If there can be no queue or no thread.
    pub fn new(pointers: bool) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::own(format!("cannot watch for faults: {error}"));
        let queue = queue::Receiver::new().map_err(|error| failed(error.into()))?;
        let hints = HintBoard::open(queue.file()).map_err(|error| failed(error.into()))?;
        let file = queue.file().try_clone_to_owned().map_err(failed)?;
        let (requests, asked) = channel();
        let body = move || Work::new(queue, hints, pointers).run(&asked);
        let builder = std::thread::Builder::new().name("fault watcher".to_owned());
        // Signals are for the thread that supervises the program.
        let mask = farside_os::thread::block_signals();
        let thread = builder.spawn(body);
        farside_os::thread::restore_signals(&mask);
        Ok(Self { requests, thread: thread.map_err(failed)?, file })
    }

    /// The process to watch, or what it has become, is about to begin; returns what it tells by.
    pub fn begin(&self, pid: u32) -> BorrowedFd<'_> {
        let (done, answer) = sync_channel(1);
        if self.requests.send(Request::Begin(pid, done)).is_ok() {
            let _ = answer.recv();
        }
        self.file.as_fd()
    }

    /// What was seen of a process that has ended.
    pub fn finish(self) -> Option<Watched> {
        let _ = self.requests.send(Request::Finish);
        self.thread.join().ok()
    }
}

struct Work {
    queue: queue::Receiver,
    hints: HintBoard,
    pointers: bool,
    words: Vec<u64>,
    events: Option<FaultEvents>,
    pending: Pending,
    unwinder: Option<Unwinder>,
    watched: Watched,
    pid: u32,
    looked: Instant,
}

impl Work {
    fn new(queue: queue::Receiver, hints: HintBoard, pointers: bool) -> Self {
        Self {
            queue,
            hints,
            pointers,
            words: Vec::new(),
            events: None,
            pending: Pending::default(),
            unwinder: None,
            watched: Watched::default(),
            pid: 0,
            looked: Instant::now(),
        }
    }

    fn run(mut self, asked: &Receiver<Request>) -> Watched {
        let mut fruitless = 0;
        loop {
            let request = asked.try_recv();
            // The kernel tells of a fault before the process does, so that what is taken here first is known there.
            let came = self.queue.take(&mut self.words);
            self.hear_events();
            self.hear_process();
            match request {
                Ok(Request::Begin(pid, done)) => {
                    self.begin(pid);
                    // The supervisor waits for it.
                    let _ = done.send(());
                }
                Ok(Request::Finish) | Err(TryRecvError::Disconnected) => {
                    // Nothing more is put, but more may have been than was taken at once.
                    while self.queue.take(&mut self.words) > 0 {}
                    self.hear_events();
                    self.hear_process();
                    self.watched.hints = self.hints.counted();
                    return self.watched;
                }
                Err(TryRecvError::Empty) => {}
            }
            fruitless = if came > 0 { 0 } else { fruitless + 1 };
            if came == 0 {
                queue::Receiver::rest(fruitless);
            }
        }
    }

    /// Forgets everything, and begins with a process that waits meanwhile.
    fn begin(&mut self, pid: u32) {
        self.words.clear();
        self.hints.clear();
        self.pending = Pending::default();
        let noted = self.pointers.then(Noted::default);
        self.watched = Watched { images: images_of(pid), noted, ..Watched::default() };
        (self.unwinder, self.pid) = (None, pid);
        self.events = match FaultEvents::open(pid, STACK_PERIOD, self.pointers) {
            Ok(events) => Some(events),
            Err(error) => {
                self.watched.refused = Some(error.to_string());
                None
            }
        };
    }

    fn hear_events(&mut self) {
        let Self { events, pending, watched, unwinder, .. } = self;
        let Some(events) = events else { return };
        events.read(|event| match event {
            FaultEvent::Fault { thread, address, registers, general } => {
                let farside_os::fault_events::Registers { instruction, stack, .. } = registers;
                pending.fault(thread, Touched { address, instruction, stack, general });
            }
            FaultEvent::Stack { thread, address, registers, stack } => {
                let farside_os::fault_events::Registers { instruction, stack: bottom, frame } =
                    registers;
                let registers = Registers { instruction, stack: bottom, frame };
                pending.stack(thread, address, registers, stack);
            }
            FaultEvent::Mapped { pid, address, length, offset, path } if pid == self.pid => {
                watched.images.map(address, length, offset, path);
                *unwinder = None;
            }
            // A child's, which has faults of its own.
            FaultEvent::Mapped { .. } => {}
            FaultEvent::Lost(count) => watched.tally.lost += count,
        });
    }

    fn hear_process(&mut self) {
        let words = std::mem::take(&mut self.words);
        let (faults, rest) = words.as_chunks::<WORDS>();
        for logged in faults.iter().filter_map(|words| Logged::decode(*words)) {
            match logged {
                Logged::Fault(fault) => self.hear(fault),
                Logged::Deed(deed) => self.watched.followed.add(deed),
            }
        }
        self.words.extend_from_slice(rest);
    }

    fn hear(&mut self, fault: LoggedFault) {
        let kind = Kind { answer: fault.answer, write: fault.write };
        let met = self.pending.take_fault(fault.thread, fault.page);
        let Touched { address, instruction, stack, general } = match (met, fault.instruction) {
            (Some(touched), _) => touched,
            (None, 0) => {
                self.watched.tally.add_unseen(kind);
                if let Some(noted) = &mut self.watched.noted {
                    noted.add_unseen(fault.page, kind);
                }
                self.watched.followed.fault(fault.chain, None);
                return;
            }
            (None, instruction) => {
                Touched { address: fault.page, instruction, stack: 0, general: None }
            }
        };
        if self.watched.images.place(instruction).is_none() && self.looked.elapsed() > LOOK_AGAIN {
            self.look_again();
        }
        let place = self.watched.images.place(instruction);
        let stream = Stream { place, depth: (fault.thread, stack) };
        let stream = self.watched.tally.add(stream, kind, address);
        self.watched.followed.fault(fault.chain, Some(stream));
        if let Some(noted) = &mut self.watched.noted {
            noted.add(&self.watched.images, stream, kind, address, general.as_ref());
        }
        if let Some(sampled) = self.pending.take_stack(fault.thread, fault.page) {
            let images = &self.watched.images;
            let unwinder = self.unwinder.get_or_insert_with(|| Unwinder::new(images));
            let callers = unwinder.callers(images, sampled.registers, &sampled.bytes);
            self.watched.tally.add_stack(stream, callers, kind);
            self.pending.give_back(sampled.bytes);
        }
    }

    /// Looks for code that was mapped unseen.
    fn look_again(&mut self) {
        self.looked = Instant::now();
        if self.events.is_none()
            && let Ok(images) = Images::of_process(self.pid)
        {
            self.watched.images.learn(images);
            self.unwinder = None;
        }
    }
}

/// The files that a process executes. One that cannot be looked at executes unknown code.
fn images_of(pid: u32) -> Images {
    Images::of_process(pid).unwrap_or_default()
}
