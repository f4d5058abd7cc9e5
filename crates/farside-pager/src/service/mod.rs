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
//! notices faults that nobody serves, serves them, and raises the handlers' class for a while. And since
//! a process is over only when all its threads are, which takes a turn of each on a processor, handlers
//! are of that class only where there have been some faults, and not any more when the process ends.

mod desk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use farside_far::FarError;
use farside_os::memory::{PAGE, reserve};
use farside_os::space::KernelSpace;
use farside_os::thread::{self, Class, Whereabouts};
use farside_policy::batches::BATCH;

use crate::counters::Counters;
use crate::fork::Forks;
use crate::ordered::Obeyed;
use crate::pager::{Pager, Worker};
use crate::stop::stop;
use crate::visit::Visitors;
use desk::Desk;

/// Most processors that get a handler of their own.
const MAX_HANDLERS: usize = 32;

/// A handler leaves duty when none of so many faults came from its processor. It must not take long:
/// every fault wakes all on duty, and whoever is quicker draws the thread to its own processor.
const RELIEVED_AFTER: u64 = 24;

/// How long the sentinel lets a fault wait before it steps in, at first.
const PATIENCE_MS: i32 = 4;

/// The same when it was not needed for a long time. Whenever it wakes up the scheduler may move the
/// faulting thread.
const MOST_PATIENCE_MS: i32 = 64;

/// How long handlers keep their raised class, at first.
const RAISED_NS: u64 = 100_000_000;

/// The same when they needed it again and again.
const MOST_RAISED_NS: u64 = 3_200_000_000;

/// Faults after which it pays that handlers run when nothing else does.
const SETTLED_AFTER: u64 = 128;

/// How often the far store is looked after.
const TEND_EVERY_NS: u64 = 5_000_000;

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
    /// Faults served, counted from `RELIEVED_AFTER` on: a processor from which none came yet, whose
    /// `last_fault` is 0, is one from which none came lately.
    served: AtomicU64,
    /// What `served` has to be for handlers to change their class.
    settle_at: AtomicU64,
    raised: AtomicBool,
    /// Whether the process is about to end.
    ending: AtomicBool,
    /// Threads that have all they need.
    ready: AtomicU32,
    pub(crate) visitors: Visitors,
}

/// A processor's handler.
struct Duty {
    processor: usize,
    on: AtomicU32,
    /// What `served` was when a fault was last seen to come from this processor.
    last_fault: AtomicU64,
    thread: AtomicU32,
    /// Whether its handler is of the class that runs when nothing else does, unless it was raised.
    settled: AtomicBool,
}

impl Service {
    /// A service for `pager`, whose address space is `space`; it has no threads yet.
    pub fn new(pager: &'static Pager, space: Arc<KernelSpace>, hook: ThreadHook) -> Self {
        let duties = thread::allowed_processors(MAX_HANDLERS)
            .into_iter()
            .map(|processor| Duty {
                processor,
                on: AtomicU32::new(0),
                last_fault: AtomicU64::new(0),
                thread: AtomicU32::new(0),
                settled: AtomicBool::new(false),
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
            served: AtomicU64::new(RELIEVED_AFTER),
            settle_at: AtomicU64::new(0),
            raised: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            ready: AtomicU32::new(0),
            visitors: Visitors::default(),
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
        let settle_at = self.served.load(Ordering::Relaxed) + SETTLED_AFTER;
        self.settle_at.store(settle_at, Ordering::Relaxed);
        let first = self.duties.iter().position(|duty| duty.processor == here).unwrap_or(0);
        let mut result = Ok(());
        for index in 0..self.duties.len() {
            self.duties[index].on.store(u32::from(index == first), Ordering::Relaxed);
            self.duties[index].settled.store(false, Ordering::Relaxed);
            result = result.and_then(|()| self.spawn(c"farside-fault", move || self.handle(index)));
        }
        result = result.and_then(|()| self.spawn(c"farside-watch", move || self.keep_watch()));
        result = result.and_then(|()| self.spawn(c"farside-fetch", move || self.complete()));
        result = result.and_then(|()| self.spawn(c"farside-limit", move || self.obey()));
        let evicts = self.pager.evictor.works();
        if evicts {
            result = result.and_then(|()| self.spawn(c"farside-evict", move || self.evict_ahead()));
        }
        let tends = self.pager.store.needs_tending();
        if tends {
            result = result.and_then(|()| self.spawn(c"farside-tend", move || self.tend()));
        }
        thread::restore_signals(&mask);
        result?;
        let all = self.duties.len() as u32 + 3 + u32::from(tends) + u32::from(evicts);
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

    /// Body of a handler thread.
    fn handle(&self, index: usize) {
        let duty = &self.duties[index];
        duty.thread.store(thread::id(), Ordering::Relaxed);
        let mut desk = Desk::new(self);
        self.say_ready();
        // Without binding or class the handler is slower, not wrong.
        let _ = thread::bind_to(duty.processor);
        let mut settled = false;
        loop {
            while duty.on.load(Ordering::Acquire) == 0 {
                thread::futex_wait(&duty.on, 0, None);
            }
            if !settled
                && self.served.load(Ordering::Relaxed) >= self.settle_at.load(Ordering::Relaxed)
            {
                settled = true;
                self.settle(duty);
            }
            desk.wait_and_serve(self, index);
        }
    }

    /// The calling handler runs when nothing else does from now on, unless handlers are raised.
    fn settle(&self, duty: &Duty) {
        duty.settled.store(true, Ordering::SeqCst);
        if !self.raised.load(Ordering::SeqCst) {
            let _ = thread::set_class(0, Class::Idle);
            // Whoever raised handlers in between may have come to this one before.
            if self.raised.load(Ordering::SeqCst) {
                let _ = thread::set_class(0, Class::Normal);
            }
        }
    }

    /// The process is about to end, which it only does when all threads have had a processor. May be
    /// called in a signal handler.
    pub fn leave(&self) {
        self.ending.store(true, Ordering::SeqCst);
        self.raise_handlers(true);
    }

    /// Puts the handler of the processor of `thread`, which waits for a page, on duty, and takes those
    /// off duty on whose processors no thread has faulted lately: every fault wakes all on duty.
    fn follow(&self, index: usize, thread: u32) {
        let local = |area: usize| !self.pager.contains(area);
        let Some(processor) = self.whereabouts.of(thread, local) else { return };
        let duty_of = |duty: &Duty| duty.processor == processor;
        let Some(its) = self.duties.iter().position(duty_of) else { return };
        let now = self.served.load(Ordering::Relaxed);
        let before = self.duties[its].last_fault.swap(now, Ordering::Relaxed);
        // A single one says little: serving it may bring the thread here.
        if its != index
            && now.saturating_sub(before) < RELIEVED_AFTER
            && self.duties[its].on.swap(1, Ordering::AcqRel) == 0
        {
            self.on_duty.fetch_add(1, Ordering::AcqRel);
            thread::futex_wake(&self.duties[its].on, 1);
        }
        if self.on_duty.load(Ordering::Acquire) > 1 {
            self.relieve_idle(now);
        }
    }

    /// Relieves the handlers on whose processors no thread has faulted lately.
    fn relieve_idle(&self, now: u64) {
        for (index, duty) in self.duties.iter().enumerate() {
            let age = now.saturating_sub(duty.last_fault.load(Ordering::Relaxed));
            if age >= RELIEVED_AFTER && duty.on.load(Ordering::Acquire) != 0 {
                self.relieve(index);
            }
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

    /// Body of the sentinel.
    fn keep_watch(&self) {
        let mut desk = Desk::new(self);
        let mut patience_ms = PATIENCE_MS;
        let (mut raise_ns, mut raised_until) = (RAISED_NS, 0);
        let mut avoided = None;
        self.say_ready();
        loop {
            let served = self.served.load(Ordering::Relaxed);
            self.watch_node(patience_ms);
            let idle = self.served.load(Ordering::Relaxed) == served;
            let rescued = if idle { desk.serve_waiting(self, None) } else { 0 };
            patience_ms = (patience_ms * 2).min(MOST_PATIENCE_MS);
            let now = thread::now_ns();
            if rescued > 0 {
                Counters::add(&self.pager.counters.rescued_faults, rescued);
                patience_ms = PATIENCE_MS;
                let again = now < raised_until + raise_ns;
                raise_ns = if again { (raise_ns * 2).min(MOST_RAISED_NS) } else { RAISED_NS };
                raised_until = now + raise_ns;
            }
            self.raise_handlers(now < raised_until || self.ending.load(Ordering::SeqCst));
            self.keep_away(&mut avoided);
        }
    }

    /// Keeps the sentinel off the processor whose handler is on duty: a thread that wakes up there
    /// makes the scheduler move the faulting thread elsewhere.
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

    /// Waits for the next look; notices the node's end.
    fn watch_node(&self, timeout_ms: i32) {
        let results = thread::wait_readable(&[self.pager.store.link()], timeout_ms);
        if results.is_ok_and(|results| results[0] != 0) {
            self.pager.store.mark_lost();
            // The link stays readable for ever now.
            thread::sleep_ns(timeout_ms as u64 * 1_000_000);
        }
    }

    fn raise_handlers(&self, raise: bool) {
        if self.raised.swap(raise, Ordering::SeqCst) == raise {
            return;
        }
        let class = if raise { Class::Normal } else { Class::Idle };
        for duty in self.duties.iter().filter(|duty| duty.settled.load(Ordering::SeqCst)) {
            // Where raising is not permitted the sentinel goes on serving what they leave.
            let _ = thread::set_class(duty.thread.load(Ordering::Relaxed), class);
        }
    }

    /// Body of the thread that looks after the far store.
    fn tend(&self) {
        self.say_ready();
        loop {
            // While a process forks, its connections are as they are.
            if let Some(_inside) = self.pager.try_enter() {
                self.pager.store.tend();
                self.pager.counters.note_health(&self.pager.store.health());
            }
            thread::sleep_ns(TEND_EVERY_NS);
        }
    }

    /// Body of the evictor: sees to it that frames are free before they are needed.
    fn evict_ahead(&self) {
        let evictor = &self.pager.evictor;
        self.work(|| evictor.signal(), Pager::evict_ahead, |seen| evictor.wait(seen));
    }

    /// Body of the completer: maps prefetched pages when they arrive.
    fn complete(&self) {
        let flights = &self.pager.flights;
        let wait = |seen| flights.wait(seen, self.pager.patience_ns());
        self.work(|| flights.signal(), Pager::work_ahead, wait);
    }

    /// Body of the thread that brings the limit to what is ordered.
    fn obey(&self) {
        let ordered = &self.pager.counters.ordered;
        let mut worker = self.worker().unwrap_or_else(|error| stop(&error.into()));
        let mut patience_ns = 0;
        self.say_ready();
        loop {
            let seen = ordered.signal();
            match self.pager.obey(&mut worker) {
                Ok(Obeyed::Partly) => {}
                Ok(result) => ordered.wait(seen, result.wait_ns(&mut patience_ns)),
                Err(error) => stop(&error),
            }
        }
    }

    /// Acts as long as there is something to do, and waits until the signal changes.
    fn work(
        &self,
        signal: impl Fn() -> u32,
        act: impl Fn(&Pager, &mut Worker) -> Result<bool, FarError>,
        wait: impl Fn(u32),
    ) {
        let mut worker = self.worker().unwrap_or_else(|error| stop(&error.into()));
        self.say_ready();
        loop {
            let seen = signal();
            match act(self.pager, &mut worker) {
                Ok(true) => {}
                Ok(false) => wait(seen),
                Err(error) => stop(&error),
            }
        }
    }
}
