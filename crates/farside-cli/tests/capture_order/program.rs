//! What the virtual threads do, and who is next.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use corosensei::{Coroutine, Yielder};
use farside_cli::capture::order::Order;
use farside_cli::capture::stream::Stream;

use crate::memory::{FREE, Field, Memory};
use crate::random::Random;
use crate::truth::Truth;
use crate::writer::{RUN_WEIGHT_MOST, Started, World, Writer, left_in_memory};

/// Threads at once, and in all.
const MOST_ALIVE: u64 = 6;
const MOST_THREADS: usize = 24;

/// Turns of the scheduler after which the program is killed at the latest.
const MOST_TURNS: u64 = 2_000_000;

/// Turns in which everybody waits and nothing is read that mean that the run hangs.
const PATIENCE: u64 = 1000;

/// What a seed decides for a whole run.
#[derive(Clone, Debug)]
struct Plan {
    /// Actions of a thread, at most.
    actions: u64,
    /// Stores of a thread at a turn, at most.
    stores: u64,
    /// Distinct pages.
    pages: u64,
    /// Of 100 turns, those of the reader.
    reader: u64,
    /// Of 100 actions, those that are many accesses at once.
    bulk: u64,
    /// Whether the reader is asked to lend when there is something to read, too.
    hasty: bool,
    /// The turn at which the program is killed.
    killed_at: u64,
}

impl Plan {
    fn new(random: &Random, killed: bool) -> Self {
        let is_big = random.percent(2) && !killed;
        let killed = killed || random.percent(40);
        let killed_at = if killed { 1 << random.between(2, 12) } else { MOST_TURNS };
        Self {
            actions: random.between(1, 60),
            stores: 1 << if is_big { 16 } else { random.below(12) },
            pages: 1 << random.below(8),
            reader: if is_big { 2 } else { random.between(1, 60) },
            bulk: if is_big { 4 } else { 0 },
            hasty: random.percent(50),
            killed_at: killed_at + random.below(killed_at),
        }
    }
}

type Body = Coroutine<(), (), ()>;

/// The threads of a program and the one who reads what they tell.
pub struct Run {
    pub stream: Stream,
    pub order: Order,
    world: Rc<World>,
    random: Rc<Random>,
    plan: Rc<Plan>,
    bodies: Rc<RefCell<Vec<Body>>>,
}

/// What happened in a run, for those who want to know that it was worth it.
#[derive(Copy, Clone, Debug, Default)]
pub struct Seen {
    pub runs: u64,
    pub killed: u64,
    pub accesses: u64,
    pub messages: u64,
    pub lent: u64,
    pub rests: u64,
    pub stretches: u64,
    pub waits_for_room: u64,
    pub lanes_had_again: u64,
}

impl Seen {
    pub fn add(&mut self, other: Self) {
        let sums = [
            (&mut self.runs, other.runs),
            (&mut self.killed, other.killed),
            (&mut self.accesses, other.accesses),
            (&mut self.messages, other.messages),
            (&mut self.lent, other.lent),
            (&mut self.rests, other.rests),
            (&mut self.stretches, other.stretches),
            (&mut self.waits_for_room, other.waits_for_room),
            (&mut self.lanes_had_again, other.lanes_had_again),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum += more);
    }
}

impl Run {
    /// A run that a seed decides; `killed` says whether it is certainly killed if it takes long.
    pub fn new(seed: u64, killed: bool) -> Self {
        let random = Rc::new(Random::new(seed));
        let plan = Rc::new(Plan::new(&random, killed));
        let stream = Stream::new().expect("memory for a stream");
        let world = Rc::new(World {
            memory: Memory::of(&stream),
            truth: RefCell::new(Truth::default()),
            budget: Cell::new(0),
            live_threads: Cell::new(0),
            waiting: Cell::new(0),
            waits: Cell::new(0),
        });
        let run = Self { stream, order: Order::new(), world, random, plan, bodies: Rc::default() };
        spawn(&run.world, &run.random, &run.plan, &run.bodies);
        run
    }

    pub fn memory(&self) -> &Memory {
        &self.world.memory
    }

    /// Lets everybody run until all threads are gone or killed; whether they were killed.
    pub fn play(&mut self) -> bool {
        let mut stuck = 0;
        for _ in 0..self.plan.killed_at {
            let alive = self.bodies.borrow().len();
            if alive == 0 {
                return false;
            }
            if self.random.percent(self.plan.reader) {
                self.read();
                continue;
            }
            // Nobody else could go on, but those who have room by now.
            let is_stuck = alive == self.world.waiting.get() && !self.advance() && !self.lend();
            stuck = if is_stuck { stuck + 1 } else { 0 };
            assert!(stuck < PATIENCE, "all threads wait for room, and nothing is read");
            self.step(self.random.below(alive as u64) as usize);
        }
        true
    }

    fn step(&mut self, index: usize) {
        self.world.budget.set(self.random.below(self.plan.stores));
        // A thread that is started meanwhile comes after all others.
        let mut body = self.bodies.borrow_mut().swap_remove(index);
        body.resume(());
        if !body.done() {
            self.bodies.borrow_mut().push(body);
        }
    }

    fn read(&mut self) {
        if self.plan.hasty && self.random.percent(20) {
            self.lend();
        } else if !self.advance() {
            self.world.truth.borrow_mut().assert_up_to_date();
            if self.random.percent(50) {
                self.lend();
            }
        }
    }

    fn advance(&mut self) -> bool {
        let truth = &mut *self.world.truth.borrow_mut();
        self.order.advance(&self.stream, truth).expect("words that make sense") > 0
    }

    fn lend(&mut self) -> bool {
        let truth = &mut *self.world.truth.borrow_mut();
        truth.lending = true;
        let lent = self.order.lend(&self.stream, truth);
        truth.lending = false;
        lent
    }

    /// Hears the rest, and checks that it was everything.
    pub fn conclude(&mut self, killed: bool) -> Seen {
        self.bodies.borrow_mut().clear();
        if killed {
            let left = left_in_memory(&self.world.memory);
            self.world.truth.borrow_mut().killed(|_| left);
        } else {
            while self.advance() {}
            self.world.truth.borrow_mut().assert_complete();
            let mut lanes = 0..self.stream.lanes().len();
            let all_free = lanes.all(|lane| self.memory().get(lane, Field::State) == FREE);
            assert!(all_free, "a lane whose thread is gone was not given back");
        }
        let truth = &mut *self.world.truth.borrow_mut();
        truth.lending = true;
        self.order.finish(&self.stream, truth).expect("words that make sense");
        truth.assert_complete();
        assert!(killed || truth.made == truth.told, "{} of {} told", truth.told, truth.made);
        let threads = self.stream.threads();
        Seen {
            runs: 1,
            killed: killed.into(),
            accesses: truth.told,
            messages: truth.messages,
            lent: truth.lent,
            rests: truth.rests,
            stretches: truth.stretches,
            waits_for_room: self.world.waits.get(),
            lanes_had_again: threads - self.stream.lanes().len() as u64,
        }
    }
}

fn spawn(world: &Rc<World>, random: &Rc<Random>, plan: &Rc<Plan>, bodies: &Rc<RefCell<Vec<Body>>>) {
    let started = Started::new(world);
    let (world, random, plan) = (world.clone(), random.clone(), plan.clone());
    let others = Rc::downgrade(bodies);
    let body = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
        let mut writer = Writer::new(&world, yielder, started);
        for _ in 0..random.below(plan.actions) {
            let may_spawn = world.live_threads.get() < MOST_ALIVE && writer.thread < MOST_THREADS;
            if may_spawn && random.percent(10) {
                writer.call();
                if let Some(bodies) = others.upgrade() {
                    spawn(&world, &random, &plan, &bodies);
                }
            } else {
                act(&mut writer, &random, &plan);
            }
        }
        writer.end();
    });
    bodies.borrow_mut().push(body);
}

fn act(writer: &mut Writer<'_>, random: &Random, plan: &Plan) {
    let page = |random: &Random| random.below(plan.pages) + 0x4000;
    if random.percent(plan.bulk) {
        for i in 0..random.below(60_000) {
            writer.access(page(random) ^ (i & 1) << 20, random.between(1, 3), random.percent(30));
        }
        return;
    }
    match random.below(10) {
        0 => {
            let words: Vec<u64> = (0..random.below(40)).map(|_| random.next()).collect();
            writer.send(random.between(2, 5), &words);
        }
        1 => {
            let words = vec![random.next(); random.below(9000) as usize];
            writer.send(2, &words);
        }
        2 => writer.call(),
        // The thread computes, or has no processor.
        3 => (0..random.below(30)).for_each(|_| writer.rest()),
        4 => {
            writer.access(page(random), random.between(1, 3 * RUN_WEIGHT_MOST), random.percent(50))
        }
        _ => {
            for _ in 0..random.below(20) {
                writer.access(page(random), random.between(1, 4), random.percent(30));
            }
        }
    }
}
