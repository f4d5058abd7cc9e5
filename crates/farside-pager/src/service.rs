//! Connects the pager to the kernel's fault messages: handler threads, sentinel, completer.
//!
//! A fault costs two thread switches. They are cheap only if handler and faulting thread share a
//! processor and stay there, so there is a handler for each processor, bound to it, of the scheduling
//! class that runs when nothing else does: a thread that faults leaves its processor idle, which lets
//! the handler run; and since a processor that runs only such a handler counts as idle, the scheduler
//! leaves the thread there when the handler wakes it. Only the handlers of processors on which faults
//! happen are *on duty*; the others sleep, so that a fault wakes no second processor.
//!
//! When other programs keep the processors busy such handlers starve. The sentinel, an ordinary thread,
//! notices faults that nobody serves, serves them, and raises the handlers' class for a while.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use farside_far::FarError;
use farside_os::memory::{PAGE, reserve};
use farside_os::space::KernelSpace;
use farside_os::thread::{self, Class, Whereabouts};
use farside_os::userfault::{Event, RawMessage};

use crate::counters::Counters;
use crate::fork::Forks;
use crate::pager::{BATCH, Pager, Worker};

/// Most processors that get a handler of their own.
const MAX_HANDLERS: usize = 32;

/// Messages read at once.
const MESSAGES: usize = 32;

/// Most faults that are read ahead of their turn. While a process forks nothing may be allocated.
const MAX_FAULTS: usize = 4096;

/// Threads of other processors served in a row until their handler goes on duty.
const STRANGERS: u32 = 2;

/// A handler whose last so many faults were all of one thread leaves duty when that thread moves: with
/// two on duty, whoever is quicker would draw the thread to its own processor, time and again.
const SOLE_FROM: u32 = 64;

/// Faults served between two looks for handlers that are on duty without need.
const RELIEVE_EVERY: u32 = 16;

/// Milliseconds after which a waiting handler looks whether it is still on duty.
const LOOK_BUSY_MS: i32 = 2;

/// The same for one that has had nothing to do since its last look.
const LOOK_IDLE_MS: i32 = 100;

/// How long the sentinel lets a fault wait before it steps in.
const PATIENCE_NS: u64 = 4_000_000;

/// How long handlers keep their raised class.
const RAISED_NS: u64 = 100_000_000;

/// Without faults for so long, the sentinel itself waits for the next one.
const QUIET_NS: u64 = 20_000_000;

/// What runs at the start of every thread of the runtime, before it allocates anything.
pub type ThreadHook = fn();

/// The threads that serve a process, and what they share.
pub struct Service {
    pub(crate) pager: &'static Pager,
    pub(crate) space: Arc<KernelSpace>,
    pub(crate) forks: Forks,
    hook: ThreadHook,
    whereabouts: Whereabouts,
    duties: Vec<Duty>,
    on_duty: AtomicU32,
    served: AtomicU64,
    raised: AtomicBool,
    /// Threads that have all they need.
    ready: AtomicU32,
}

/// A processor's handler.
struct Duty {
    processor: usize,
    on: AtomicU32,
    served: AtomicU64,
    thread: AtomicU32,
}

impl Service {
    /// A service for `pager`, whose address space is `space`; it has no threads yet.
    pub fn new(pager: &'static Pager, space: Arc<KernelSpace>, hook: ThreadHook) -> Self {
        let duties = thread::allowed_processors(MAX_HANDLERS)
            .into_iter()
            .map(|processor| Duty {
                processor,
                on: AtomicU32::new(0),
                served: AtomicU64::new(0),
                thread: AtomicU32::new(0),
            })
            .collect();
        Self {
            pager,
            space,
            forks: Forks::default(),
            hook,
            whereabouts: Whereabouts::new(),
            duties,
            on_duty: AtomicU32::new(0),
            served: AtomicU64::new(0),
            raised: AtomicBool::new(false),
            ready: AtomicU32::new(0),
        }
    }

    /// Starts the threads, and waits until all are ready. Called at start-up and again in a forked
    /// child.
    ///
    /// Once ready they serve forks without allocating; a process that forked before would hold the
    /// allocator's lock while it waits for a thread that needs it.
    pub fn start_threads(&'static self) -> std::io::Result<()> {
        self.ready.store(0, Ordering::Relaxed);
        let mask = thread::block_signals();
        let here = thread::processor();
        self.on_duty.store(1, Ordering::Relaxed);
        let first = self.duties.iter().position(|duty| duty.processor == here).unwrap_or(0);
        let mut result = Ok(());
        for index in 0..self.duties.len() {
            self.duties[index].on.store(u32::from(index == first), Ordering::Relaxed);
            result = result.and_then(|()| self.spawn(c"farside-fault", move || self.handle(index)));
        }
        result = result.and_then(|()| self.spawn(c"farside-watch", move || self.keep_watch()));
        result = result.and_then(|()| self.spawn(c"farside-fetch", move || self.complete()));
        thread::restore_signals(&mask);
        result?;
        let all = self.duties.len() as u32 + 2;
        loop {
            let ready = self.ready.load(Ordering::Acquire);
            if ready == all {
                return Ok(());
            }
            thread::futex_wait(&self.ready, ready, None);
        }
    }

    fn say_ready(&self) {
        self.ready.fetch_add(1, Ordering::Release);
        thread::futex_wake(&self.ready, 1);
    }

    fn spawn(
        &'static self,
        name: &'static std::ffi::CStr,
        body: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let hook = self.hook;
        let body = move || {
            hook();
            thread::set_name(name);
            body();
        };
        std::thread::Builder::new().stack_size(256 * 1024).spawn(body).map(drop)
    }

    /// Scratch memory for one thread.
    pub fn worker(&self) -> farside_os::Result<Worker> {
        let len = BATCH * PAGE;
        Ok(Worker::new(reserve(len, PAGE, "fresh frames")?, reserve(len, PAGE, "a bounce buffer")?))
    }

    fn uffd(&self) -> RawFd {
        self.space.uffd().raw()
    }

    /// Body of a handler thread.
    fn handle(&self, index: usize) {
        let duty = &self.duties[index];
        duty.thread.store(thread::id(), Ordering::Relaxed);
        let mut desk = Desk::new(self);
        self.say_ready();
        // Without binding or class the handler is slower, not wrong.
        let _ = thread::bind_to(duty.processor);
        let _ = thread::set_class(0, Class::Idle);
        loop {
            while duty.on.load(Ordering::Acquire) == 0 {
                thread::futex_wait(&duty.on, 0, None);
            }
            let timeout = if desk.idle { LOOK_IDLE_MS } else { LOOK_BUSY_MS };
            if let Err(error) = thread::wait_readable(&[self.uffd()], timeout) {
                stop(&FarError::Os(error));
            }
            desk.idle = desk.serve_waiting(self, Some(index)) == 0;
        }
    }

    /// Puts the handler of the processor of `thread`, which waits for a page, on duty.
    fn follow(&self, index: usize, thread: u32, desk: &mut Desk) {
        let local = |area: usize| !self.pager.contains(area);
        let Some(processor) = self.whereabouts.of(thread, local) else { return };
        if processor == self.duties[index].processor {
            desk.strangers = 0;
            return;
        }
        // Serving it may bring the thread back here.
        desk.strangers += 1;
        if desk.strangers < STRANGERS {
            return;
        }
        desk.strangers = 0;
        let Some(other) = self.duties.iter().find(|duty| duty.processor == processor) else {
            return;
        };
        if other.on.swap(1, Ordering::AcqRel) == 0 {
            self.on_duty.fetch_add(1, Ordering::AcqRel);
            thread::futex_wake(&other.on, 1);
        }
        if desk.others == 0 {
            self.relieve(index);
        }
    }

    /// Takes handler `index` off duty, unless it is the last one.
    fn relieve(&self, index: usize) {
        let more_than_one = |count: u32| (count > 1).then(|| count - 1);
        if self.on_duty.fetch_update(Ordering::AcqRel, Ordering::Acquire, more_than_one).is_ok()
            && self.duties[index].on.swap(0, Ordering::AcqRel) == 0
        {
            // Somebody else had relieved it.
            self.on_duty.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Relieves the handlers on duty that have served nobody since handler `index` last looked: every
    /// fault wakes them.
    fn relieve_idle(&self, index: usize, desk: &mut Desk) {
        if self.on_duty.load(Ordering::Acquire) < 2 {
            return;
        }
        for (other, seen) in desk.seen.iter_mut().enumerate().take(self.duties.len()) {
            let served = self.duties[other].served.load(Ordering::Relaxed);
            let on = self.duties[other].on.load(Ordering::Acquire) != 0;
            if other != index && on && served == *seen {
                self.relieve(other);
            }
            *seen = served;
        }
    }

    /// Body of the sentinel.
    fn keep_watch(&self) {
        let mut desk = Desk::new(self);
        let (mut last_served, mut last_change) = (0, 0);
        let mut raised_until = 0;
        let mut avoided = None;
        self.say_ready();
        loop {
            let now = thread::now_ns();
            let served = self.served.load(Ordering::Relaxed);
            if served != last_served {
                (last_served, last_change) = (served, now);
            }
            let quiet = now.saturating_sub(last_change) > QUIET_NS;
            self.wait_as_sentinel(quiet);
            let waiting = thread::wait_readable(&[self.uffd()], 0).is_ok_and(|r| r[0] != 0);
            if waiting && (quiet || self.served.load(Ordering::Relaxed) == last_served) {
                let rescued = desk.serve_waiting(self, None);
                if rescued > 0 && !quiet {
                    Counters::add(&self.pager.counters.rescued_faults, rescued);
                    raised_until = thread::now_ns() + RAISED_NS;
                }
            }
            self.raise_handlers(thread::now_ns() < raised_until);
            self.keep_away(&mut avoided);
        }
    }

    /// Keeps the sentinel off the processor whose handler is on duty: a thread that wakes up there makes
    /// the scheduler move the faulting thread elsewhere.
    fn keep_away(&self, avoided: &mut Option<usize>) {
        let on_duty = self.duties.iter().find(|duty| duty.on.load(Ordering::Relaxed) != 0);
        let on_duty = on_duty.map(|duty| duty.processor);
        if on_duty != *avoided {
            *avoided = on_duty;
            let processors = self.duties.iter().map(|duty| duty.processor);
            // Without it things are slower, not wrong.
            let _ = thread::bind_to_any(processors.filter(|processor| Some(*processor) != on_duty));
        }
    }

    /// Waits for the next look: a fault if it is quiet, else a moment; notices the node's end.
    fn wait_as_sentinel(&self, quiet: bool) {
        let link = self.pager.store.link();
        let results = if quiet {
            thread::wait_readable(&[link, self.uffd()], 1000)
        } else {
            thread::wait_readable(&[link], (PATIENCE_NS / 1_000_000) as i32)
        };
        if results.is_ok_and(|results| results[0] != 0) {
            self.pager.store.mark_lost();
            // The link stays readable for ever now.
            thread::sleep_ns(PATIENCE_NS);
        }
    }

    fn raise_handlers(&self, raise: bool) {
        if self.raised.swap(raise, Ordering::Relaxed) == raise {
            return;
        }
        let class = if raise { Class::Normal } else { Class::Idle };
        for duty in &self.duties {
            // Where raising is not permitted the sentinel goes on serving what they leave.
            let _ = thread::set_class(duty.thread.load(Ordering::Relaxed), class);
        }
    }

    /// Body of the completer: maps prefetched pages when they arrive.
    fn complete(&self) {
        let mut worker = self.worker().unwrap_or_else(|error| stop(&FarError::Os(error)));
        self.say_ready();
        loop {
            let seen = self.pager.flights.signal();
            match self.pager.work_ahead(&mut worker) {
                Ok(true) => {}
                Ok(false) => self.pager.flights.wait(seen, 1_000_000_000),
                Err(error) => stop(&error),
            }
        }
    }
}

/// A thread's own things for serving faults.
struct Desk {
    worker: Worker,
    messages: [RawMessage; MESSAGES],
    /// Faults read but not served yet: address, whether write-protected, thread.
    faults: Vec<(usize, bool, u32)>,
    /// Nothing came while it last waited.
    idle: bool,
    /// The thread served last, and for how many faults more others count as being served too.
    thread: u32,
    others: u32,
    strangers: u32,
    since_look: u32,
    /// What each handler had served at the last look.
    seen: [u64; MAX_HANDLERS],
}

impl Desk {
    fn new(service: &Service) -> Self {
        let worker = service.worker().unwrap_or_else(|error| stop(&FarError::Os(error)));
        Self {
            worker,
            messages: [RawMessage::default(); MESSAGES],
            faults: Vec::with_capacity(MAX_FAULTS),
            idle: true,
            thread: 0,
            others: 0,
            strangers: 0,
            since_look: 0,
            seen: [0; MAX_HANDLERS],
        }
    }

    /// Serves all messages that wait; returns the number of faults served.
    fn serve_waiting(&mut self, service: &Service, index: Option<usize>) -> u64 {
        let mut total = 0;
        loop {
            // A thread that faults again and again here finds its handler awake.
            let woken = total == 0;
            let n = match service.space.uffd().read(&mut self.messages) {
                Ok(n) => n,
                Err(error) => stop(&FarError::Os(error)),
            };
            if n == 0 {
                return total;
            }
            for message in &self.messages[..n] {
                match message.event() {
                    Event::Fault { address, protected, thread, .. } => {
                        self.faults.push((address & !(PAGE - 1), protected, thread));
                    }
                    // Forks come first: until their event is read nothing can be mapped.
                    Event::Fork { child } => service.forks.forked(service, child),
                    Event::Other(_) => {}
                }
            }
            // Threads that wait for the same page send a message each.
            self.faults.sort_unstable_by_key(|fault| (fault.0, fault.1));
            self.faults.dedup_by_key(|fault| (fault.0, fault.1));
            if let (true, Some(index), Some((.., thread))) = (woken, index, self.faults.last()) {
                service.follow(index, *thread, self);
            }
            total += self.faults.len() as u64;
            self.serve_faults(service);
            if let Some(index) = index {
                self.note_served(service, index, n as u32);
            }
        }
    }

    /// Notes that handler `index` served `count` faults.
    fn note_served(&mut self, service: &Service, index: usize, count: u32) {
        service.duties[index].served.fetch_add(u64::from(count), Ordering::Relaxed);
        self.since_look += count;
        if self.since_look >= RELIEVE_EVERY {
            self.since_look = 0;
            service.relieve_idle(index, self);
        }
    }

    fn serve_faults(&mut self, service: &Service) {
        let pager = service.pager;
        while let Some((address, protected, thread)) = self.faults.pop() {
            let inside = loop {
                if let Some(inside) = pager.try_enter() {
                    break inside;
                }
                // A fork is under way: its event must be read before anything else can go on.
                self.read_events_only(service);
            };
            if let Err(error) = pager.fault(&mut self.worker, address, protected) {
                stop(&error);
            }
            drop(inside);
            service.served.fetch_add(1, Ordering::Relaxed);
            let same = self.thread == thread || self.thread == 0;
            self.others = if same { self.others.saturating_sub(1) } else { SOLE_FROM };
            self.thread = thread;
        }
    }

    fn read_events_only(&mut self, service: &Service) {
        // The descriptor is looked at now and then, since another thread may read the event.
        let _ = thread::wait_readable(&[service.uffd()], 1);
        let mut messages = [RawMessage::default(); MESSAGES];
        if self.faults.len() + MESSAGES > self.faults.capacity() {
            return;
        }
        let n = service.space.uffd().read(&mut messages).unwrap_or(0);
        for message in &messages[..n] {
            match message.event() {
                Event::Fault { address, protected, thread, .. } => {
                    self.faults.push((address & !(PAGE - 1), protected, thread));
                }
                Event::Fork { child } => service.forks.forked(service, child),
                Event::Other(_) => {}
            }
        }
    }
}

/// Ends the program, because what it needs next cannot be had. Nothing of it may run on with wrong
/// data.
pub fn stop(error: &FarError) -> ! {
    let mut text = [0u8; 256];
    let len = {
        use std::io::Write as _;
        let mut rest = &mut text[..];
        // A message that does not fit is cut.
        let _ = writeln!(rest, "farside: {error}; the program cannot go on");
        256 - rest.len()
    };
    // SAFETY: writes initialised bytes to the standard error descriptor and ends the process.
    unsafe {
        libc::syscall(libc::SYS_write, 2, text.as_ptr(), len);
        libc::syscall(libc::SYS_exit_group, EXIT_STOPPED);
    }
    unreachable!("exit_group does not return")
}

/// Exit code of a program that had to be stopped.
pub const EXIT_STOPPED: i32 = 125;
