//! Runs actors as coroutines of one thread: only the one that holds the baton runs, and a seeded
//! generator chooses who is next.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::config::Config;
use crate::random::Random;

/// Events that a failure can show.
const REMEMBERED: usize = 100_000;

/// So many steps without a finished operation mean that the run hangs.
const PATIENCE: u64 = 400_000;

/// Simulated nanoseconds of a step, on average.
const STEP_NS: u64 = 60;

/// What an actor waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    Nothing,
    /// A moment of simulated time.
    Until(u64),
    /// To be woken at this page.
    Page(u64),
    /// A fault message.
    Message,
}

/// An event, as a failure shows it: what, and two numbers.
#[derive(Copy, Clone)]
struct Event {
    step: u64,
    actor: usize,
    what: &'static str,
    a: u64,
    b: u64,
}

struct Actor {
    name: String,
    program: bool,
    wait: Cell<Wait>,
    /// Not to be chosen before this step, as if its processor did something else.
    frozen_until: Cell<u64>,
    done: Cell<bool>,
    yielder: Cell<*const Yielder<(), ()>>,
}

/// The actors, the clock and the generator of one run.
pub struct Scheduler {
    pub random: RefCell<Random>,
    actors: RefCell<Vec<Actor>>,
    current: Cell<usize>,
    clock: Cell<u64>,
    step: Cell<u64>,
    progress: Cell<u64>,
    stopped: Cell<bool>,
    messages: Cell<usize>,
    events: RefCell<VecDeque<Event>>,
    freeze: u64,
    freeze_steps: u64,
    /// The call that takes long, and how long at most.
    slow: (&'static str, u64),
}

// SAFETY: the scheduler and all actors are used by one thread only; the bounds come from traits that
// are made for threads.
unsafe impl Send for Scheduler {}
// SAFETY: as above.
unsafe impl Sync for Scheduler {}

type Body = Coroutine<(), (), (), DefaultStack>;

impl Scheduler {
    pub fn new(random: Random, config: &Config) -> Self {
        Self {
            random: RefCell::new(random),
            actors: RefCell::default(),
            current: Cell::new(0),
            clock: Cell::new(1),
            step: Cell::new(0),
            progress: Cell::new(0),
            stopped: Cell::new(false),
            messages: Cell::new(0),
            events: RefCell::default(),
            freeze: config.freeze,
            freeze_steps: config.freeze_steps,
            slow: (config.slow_call, config.slow_ns),
        }
    }

    /// Simulated nanoseconds.
    pub fn now(&self) -> u64 {
        self.clock.get()
    }

    /// The actor that holds the baton.
    pub fn current(&self) -> usize {
        self.current.get()
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
        events.push_back(Event { step: self.step.get(), actor: self.current.get(), what, a, b });
    }

    /// An operation ended: the run does not hang.
    pub fn progress(&self) {
        self.progress.set(self.step.get());
    }

    /// Says how many fault messages wait.
    pub fn set_messages(&self, count: usize) {
        self.messages.set(count);
    }

    /// Ends the run at the next step, whatever the actors are at.
    pub fn stop(&self) {
        self.stopped.set(true);
    }

    /// Whether somebody ended the run.
    pub fn stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Passes the baton.
    pub fn pause(&self) {
        if self.freeze == 0 || !self.permille(self.freeze) {
            return self.wait(Wait::Nothing);
        }
        let steps = self.below(self.freeze_steps);
        if self.permille(500) {
            // Sleepers go first.
            return self.wait(Wait::Until(self.now() + steps * STEP_NS));
        }
        let until = self.step.get() + steps;
        self.actors.borrow()[self.current.get()].frozen_until.set(until);
        self.wait(Wait::Nothing);
    }

    /// Passes the baton at the start or the end of a call, which in some runs takes long.
    pub fn pause_in(&self, call: &str) {
        if call == self.slow.0 && self.permille(500) {
            return self.wait(Wait::Until(self.now() + self.below(self.slow.1)));
        }
        self.pause();
    }

    /// Passes the baton until what is waited for has come.
    pub fn wait(&self, wait: Wait) {
        let yielder = {
            let actors = self.actors.borrow();
            let actor = &actors[self.current.get()];
            actor.wait.set(wait);
            actor.yielder.get()
        };
        // SAFETY: the actor that calls this runs on the coroutine whose yielder this is, so it lives.
        unsafe { &*yielder }.suspend(());
    }

    /// Wakes actors that wait for a page that `covers` holds for.
    pub fn wake(&self, covers: impl Fn(u64) -> bool) {
        for actor in self.actors.borrow().iter() {
            if let Wait::Page(page) = actor.wait.get()
                && covers(page)
            {
                actor.wait.set(Wait::Nothing);
            }
        }
    }

    /// Whether all program threads have ended.
    pub fn programs_done(&self) -> bool {
        self.actors.borrow().iter().all(|actor| actor.done.get() || !actor.program)
    }

    fn ready(&self, actor: &Actor) -> bool {
        !actor.done.get()
            && match actor.wait.get() {
                Wait::Nothing => true,
                Wait::Until(moment) => moment <= self.clock.get(),
                Wait::Page(_) => false,
                Wait::Message => self.messages.get() > 0 || self.programs_done(),
            }
    }

    /// Chooses who is next; `None` when all are done.
    fn choose(&self) -> Option<usize> {
        loop {
            let actors = self.actors.borrow();
            let indices = 0..actors.len();
            let ready: Vec<usize> = indices.filter(|i| self.ready(&actors[*i])).collect();
            let awake: Vec<usize> = ready
                .iter()
                .copied()
                .filter(|i| actors[*i].frozen_until.get() <= self.step.get())
                .collect();
            let among = if awake.is_empty() { &ready } else { &awake };
            if !among.is_empty() {
                return Some(self.random.borrow_mut().pick(among));
            }
            if actors.iter().all(|actor| actor.done.get()) {
                return None;
            }
            let next = actors.iter().filter(|actor| !actor.done.get()).filter_map(|actor| {
                match actor.wait.get() {
                    Wait::Until(moment) => Some(moment),
                    _ => None,
                }
            });
            match next.min() {
                Some(moment) => self.clock.set(moment),
                None => panic!("everybody waits for ever"),
            }
        }
    }

    /// Runs all actors to their end, or until one stops the run; `check` is called after each step.
    /// False if something panicked.
    pub fn run(&self, bodies: Vec<NewActor>, check: impl Fn()) -> bool {
        let mut coroutines: Vec<Option<Body>> = Vec::new();
        for body in bodies {
            let index = coroutines.len();
            self.actors.borrow_mut().push(Actor {
                name: body.name,
                program: body.program,
                wait: Cell::new(Wait::Nothing),
                frozen_until: Cell::new(0),
                done: Cell::new(false),
                yielder: Cell::new(std::ptr::null()),
            });
            let this = std::ptr::from_ref(self) as usize;
            let run = body.run;
            let stack = STACKS.with(|stacks| stacks.borrow_mut().pop()).unwrap_or_else(|| {
                DefaultStack::new(256 * 1024).expect("there is memory for a stack")
            });
            coroutines.push(Some(Coroutine::with_stack(stack, move |yielder, ()| {
                // SAFETY: the scheduler outlives its coroutines, which end in this function.
                let this = unsafe { &*(this as *const Self) };
                this.actors.borrow()[index].yielder.set(yielder);
                run();
            })));
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.run_steps(&mut coroutines, check)));
        if result.is_err() {
            // Unwinding what was in the middle of something would only hide the first failure.
            std::mem::forget(coroutines);
            return false;
        }
        for coroutine in coroutines.into_iter().flatten() {
            reclaim(coroutine);
        }
        true
    }

    fn run_steps(&self, coroutines: &mut [Option<Body>], check: impl Fn()) {
        while let Some(index) = self.choose() {
            self.current.set(index);
            self.step.set(self.step.get() + 1);
            self.clock.set(self.clock.get() + 1 + self.below(2 * STEP_NS));
            let Some(coroutine) = &mut coroutines[index] else { continue };
            if let CoroutineResult::Return(()) = coroutine.resume(()) {
                self.actors.borrow()[index].done.set(true);
            }
            if self.stopped.get() {
                return;
            }
            check();
            let idle = self.step.get() - self.progress.get();
            assert!(idle < PATIENCE, "nothing was finished in {idle} steps");
        }
    }

    /// What led to a failure: who waits for what, and the last `most` events.
    pub fn print_events(&self, most: usize) {
        let Ok(actors) = self.actors.try_borrow() else { return };
        for actor in actors.iter().filter(|actor| !actor.done.get()) {
            println!("{:12} waits for {:?}", actor.name, actor.wait.get());
        }
        let events = self.events.borrow();
        for event in events.iter().skip(events.len().saturating_sub(most)) {
            let name = &actors[event.actor].name;
            println!("{:7} {name:12} {:16} {:>6} {}", event.step, event.what, event.a, event.b);
        }
        println!("it failed in {} at step {}", actors[self.current.get()].name, self.step.get());
    }
}

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Ends a coroutine, if need be in the middle, and keeps its stack for the next.
fn reclaim(mut coroutine: Body) {
    if !coroutine.done() {
        coroutine.force_unwind();
    }
    STACKS.with(|stacks| stacks.borrow_mut().push(coroutine.into_stack()));
}

/// An actor to be.
pub struct NewActor {
    pub name: String,
    /// Whether it is a thread of the program.
    pub program: bool,
    pub run: Box<dyn FnOnce()>,
}
