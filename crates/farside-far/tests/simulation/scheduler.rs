//! Runs actors as coroutines of one thread; a seeded generator chooses who is next, and the clock moves only when
//! everybody waits for it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// So many steps in a row mean that the run hangs.
const MOST_STEPS: u64 = 3_000_000;

/// Marsaglia's xorshift.
pub struct Random(Cell<u64>);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    pub fn draw(&self) -> u64 {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(x);
        x >> 8
    }

    pub fn below(&self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }

    pub fn permille(&self, n: u64) -> bool {
        self.below(1000) < n
    }
}

type Body = Coroutine<(), (), (), DefaultStack>;

/// When an actor that waits can go on before its time, as far as that is known by now.
type Ready = Box<dyn Fn() -> Option<u64>>;

struct Actor {
    body: Option<Body>,
    until: u64,
    ready: Option<Ready>,
    /// Whether the run is over only when this one is.
    counts: bool,
}

/// The actors, the clock and the generator of one run.
pub struct Scheduler {
    pub random: Random,
    clock: Cell<u64>,
    actors: RefCell<Vec<Actor>>,
    current: Cell<usize>,
    yielder: Cell<*const Yielder<(), ()>>,
}

impl Scheduler {
    pub fn new(seed: u64) -> Rc<Self> {
        Rc::new(Self {
            random: Random::new(seed),
            clock: Cell::new(1),
            actors: RefCell::default(),
            current: Cell::new(0),
            yielder: Cell::new(std::ptr::null()),
        })
    }

    pub fn now(&self) -> u64 {
        self.clock.get()
    }

    /// Adds an actor.
    pub fn spawn(self: &Rc<Self>, counts: bool, act: impl FnOnce() + 'static) {
        let scheduler = Rc::clone(self);
        let body = Coroutine::with_stack(
            DefaultStack::new(1 << 20).expect("a stack"),
            move |yielder: &Yielder<(), ()>, ()| {
                scheduler.yielder.set(yielder);
                act();
            },
        );
        let actor = Actor { body: Some(body), until: 0, ready: None, counts };
        let mut actors = self.actors.borrow_mut();
        let mut places = actors.iter().enumerate();
        // Those that are done give way; the one that runs is not done.
        let done = places.find(|(place, old)| old.body.is_none() && *place != self.current.get());
        match done.map(|(place, _)| place) {
            Some(place) => actors[place] = actor,
            None => actors.push(actor),
        }
    }

    /// The current actor waits for a time, or until it is ready.
    pub fn wait(&self, until: u64, ready: Option<Ready>) {
        let me = self.current.get();
        {
            let actor = &mut self.actors.borrow_mut()[me];
            (actor.until, actor.ready) = (until, ready);
        }
        let yielder = self.yielder.get();
        assert!(!yielder.is_null(), "only actors wait");
        // SAFETY: the yielder lives on the stack of the coroutine that runs, which is this one.
        unsafe { (*yielder).suspend(()) };
        self.yielder.set(yielder);
    }

    /// Lets somebody else go on.
    pub fn pause(&self) {
        self.wait(0, None);
    }

    /// Runs until all actors that count are done. The error says who hangs.
    pub fn run(&self) -> Result<(), String> {
        for _ in 0..MOST_STEPS {
            let (mut open, mut able, mut next) = (false, Vec::new(), u64::MAX);
            for (number, actor) in self.actors.borrow().iter().enumerate() {
                if actor.body.is_none() {
                    continue;
                }
                open |= actor.counts;
                let ready = actor.ready.as_ref().and_then(|ready| ready());
                let until = actor.until.min(ready.unwrap_or(u64::MAX));
                next = next.min(until);
                if until <= self.now() {
                    able.push(number);
                }
            }
            if !open {
                return Ok(());
            }
            if able.is_empty() {
                if next == u64::MAX {
                    return Err("everybody waits for somebody".into());
                }
                self.clock.set(next);
                continue;
            }
            self.step(able[self.random.below(able.len() as u64) as usize]);
        }
        Err("it takes too long".into())
    }

    fn step(&self, number: usize) {
        self.clock.set(self.now() + 20 + self.random.below(200));
        self.current.set(number);
        let Some(mut body) = self.actors.borrow_mut()[number].body.take() else { return };
        if let CoroutineResult::Yield(()) = body.resume(()) {
            self.actors.borrow_mut()[number].body = Some(body);
        }
    }

    /// Ends all actors that are left, wherever they are.
    pub fn end(&self) {
        let left: Vec<_> =
            self.actors.borrow_mut().iter_mut().filter_map(|actor| actor.body.take()).collect();
        for mut body in left {
            // SAFETY: what they hold is given up with them, never dropped; what others know of it is known to actors
            // only, none of which goes on.
            unsafe { body.force_reset() };
        }
        self.actors.borrow_mut().clear();
    }
}
