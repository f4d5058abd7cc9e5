//! Runs threads as coroutines of one: only the one that holds the baton runs, and a seeded generator chooses who is next.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::random::Random;

/// Events that a failure can show.
const REMEMBERED: usize = 100_000;

/// So many steps without a finished operation mean that the run hangs.
const PATIENCE: u64 = 200_000;

/// An event, as a failure shows it.
struct Event {
    step: u64,
    thread: usize,
    what: &'static str,
    a: u64,
    b: u64,
}

/// The threads, the clock and the generator of one run.
pub struct Scheduler {
    pub random: RefCell<Random>,
    yielders: RefCell<Vec<*const Yielder<(), ()>>>,
    current: Cell<usize>,
    step: Cell<u64>,
    progress: Cell<u64>,
    events: RefCell<VecDeque<Event>>,
    /// Of 1000 pauses so many are long ones.
    freeze: u64,
    frozen: RefCell<Vec<u64>>,
}

// SAFETY: everything runs on one thread; the bounds come from traits made for threads.
unsafe impl Send for Scheduler {}
// SAFETY: as above.
unsafe impl Sync for Scheduler {}

type Body = Coroutine<(), (), (), DefaultStack>;

impl Scheduler {
    pub fn new(random: Random, freeze: u64) -> Self {
        Self {
            random: RefCell::new(random),
            yielders: RefCell::default(),
            current: Cell::new(0),
            step: Cell::new(0),
            progress: Cell::new(0),
            events: RefCell::default(),
            freeze,
            frozen: RefCell::default(),
        }
    }

    /// Steps so far: the clock.
    pub fn now(&self) -> u64 {
        self.step.get()
    }

    pub fn permille(&self, n: u64) -> bool {
        self.random.borrow_mut().permille(n)
    }

    pub fn below(&self, end: u64) -> u64 {
        self.random.borrow_mut().below(end)
    }

    /// Remembers an event.
    pub fn note(&self, what: &'static str, a: u64, b: u64) {
        let mut events = self.events.borrow_mut();
        if events.len() == REMEMBERED {
            events.pop_front();
        }
        events.push_back(Event { step: self.step.get(), thread: self.current.get(), what, a, b });
    }

    /// An operation ended: the run does not hang.
    pub fn progress(&self) {
        self.progress.set(self.step.get());
    }

    /// Passes the baton.
    pub fn pause(&self) {
        let Some(yielder) = self.yielders.borrow().get(self.current.get()).copied() else {
            // All threads have ended; time goes on.
            self.step.set(self.step.get() + 1);
            return;
        };
        if self.freeze > 0 && self.permille(self.freeze) {
            let until = self.step.get() + self.below(300);
            self.frozen.borrow_mut()[self.current.get()] = until;
        }
        // SAFETY: who calls this runs on the coroutine whose yielder this is, so it lives.
        unsafe { &*yielder }.suspend(());
    }

    /// Runs all threads to their end; false if something panicked.
    pub fn run(&self, bodies: Vec<Box<dyn FnOnce()>>) -> bool {
        let count = bodies.len();
        *self.yielders.borrow_mut() = vec![std::ptr::null(); count];
        *self.frozen.borrow_mut() = vec![0; count];
        let mut threads: Vec<Option<Body>> = Vec::new();
        for (index, body) in bodies.into_iter().enumerate() {
            let this = std::ptr::from_ref(self) as usize;
            let stack = DefaultStack::new(256 * 1024).expect("there is memory for a stack");
            threads.push(Some(Coroutine::with_stack(stack, move |yielder, ()| {
                // SAFETY: the scheduler outlives its coroutines, which end in this function.
                let this = unsafe { &*(this as *const Self) };
                this.yielders.borrow_mut()[index] = yielder;
                body();
            })));
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.run_steps(&mut threads)));
        if result.is_err() {
            // Unwinding what was in the middle of something would only hide the first failure.
            std::mem::forget(threads);
        }
        self.yielders.borrow_mut().clear();
        result.is_ok()
    }

    fn run_steps(&self, threads: &mut [Option<Body>]) {
        loop {
            let alive: Vec<usize> = (0..threads.len()).filter(|i| threads[*i].is_some()).collect();
            let awake = |i: &usize| self.frozen.borrow()[*i] <= self.step.get();
            let ready: Vec<usize> = alive.iter().copied().filter(awake).collect();
            let among = if ready.is_empty() { &alive } else { &ready };
            if among.is_empty() {
                return;
            }
            let index = self.random.borrow_mut().pick(among);
            self.current.set(index);
            self.step.set(self.step.get() + 1);
            if let Some(thread) = &mut threads[index]
                && let CoroutineResult::Return(()) = thread.resume(())
            {
                threads[index] = None;
            }
            let idle = self.step.get() - self.progress.get();
            assert!(idle < PATIENCE, "nothing was finished in {idle} steps");
        }
    }

    /// What led to a failure: the last `most` events.
    pub fn print_events(&self, most: usize) {
        let events = self.events.borrow();
        for Event { step, thread, what, a, b } in
            events.iter().skip(events.len().saturating_sub(most))
        {
            println!("{step:7} thread {thread} {what:16} {a:>8} {b}");
        }
        println!("it failed in thread {} at step {}", self.current.get(), self.step.get());
    }
}
