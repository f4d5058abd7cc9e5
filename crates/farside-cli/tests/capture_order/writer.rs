//! A thread of the program as the plugin follows it: `capture/lane.c` and `capture/pagetrace.c` store by store, with a
//! pause before each of them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use corosensei::Yielder;

use crate::memory::{ENDED, Field, Header, Memory, NO_PAGE, PAGE_SHIFT, RING_WORDS};
use crate::truth::{Made, Truth};

pub const RUN_WEIGHT_MOST: u64 = 1 << 13;

const WORD_RUN: u64 = 0;
const WORD_TICKET: u64 = 1;
const WORD_STRETCH: u64 = 2;
const WORD_MESSAGE: u64 = 3;
const MESSAGE_THREAD: u64 = 1;

/// What all threads share.
pub struct World {
    pub memory: Memory,
    pub truth: RefCell<Truth>,
    /// Stores that the running thread may make before another one runs.
    pub budget: Cell<u64>,
    pub live_threads: Cell<u64>,
    /// Threads that wait for room in their rings.
    pub waiting: Cell<usize>,
    pub waits: Cell<u64>,
}

/// The thread that runs on a coroutine.
pub struct Writer<'y> {
    world: Rc<World>,
    yielder: &'y Yielder<(), ()>,
    pub thread: usize,
    lane: usize,
    page: u64,
    open: u64,
    place: u64,
    head: u64,
    limit: u64,
    in_stretch: bool,
}

/// A thread that was started and does not run yet.
pub struct Started {
    pub thread: usize,
    lane: usize,
    head: u64,
    limit: u64,
}

impl Started {
    /// Claims a lane.
    pub fn new(world: &World) -> Self {
        let memory = &world.memory;
        let lane = memory.claim();
        memory.set(lane, Field::Base, NO_PAGE);
        memory.set(lane, Field::InStretch, 0);
        let thread = memory.header(Header::Threads).fetch_add(1, Ordering::Relaxed) as usize;
        assert_eq!(thread, world.truth.borrow_mut().new_thread());
        world.live_threads.set(world.live_threads.get() + 1);
        let limit = memory.get(lane, Field::Tail) + RING_WORDS;
        Self { thread, lane, head: memory.get(lane, Field::Head), limit }
    }
}

impl<'y> Writer<'y> {
    /// Tells which thread the lane has.
    pub fn new(world: &Rc<World>, yielder: &'y Yielder<(), ()>, started: Started) -> Self {
        let Started { thread, lane, head, limit } = started;
        let mut writer = Self {
            world: world.clone(),
            yielder,
            thread,
            lane,
            page: NO_PAGE,
            open: 0,
            place: 0,
            head,
            limit,
            in_stretch: false,
        };
        writer.send(MESSAGE_THREAD, &[thread as u64]);
        writer
    }

    /// Lets others run for a turn.
    pub fn rest(&self) {
        self.world.budget.set(0);
        self.pause();
    }

    fn pause(&self) {
        let budget = &self.world.budget;
        match budget.get().checked_sub(1) {
            Some(less) => budget.set(less),
            None => self.yielder.suspend(()),
        }
    }

    fn truth(&self) -> std::cell::RefMut<'_, Truth> {
        self.world.truth.borrow_mut()
    }

    fn set(&self, field: Field, value: u64) {
        self.pause();
        self.world.memory.set(self.lane, field, value);
    }

    fn set_page(&mut self, page: u64) {
        self.set(Field::Base, if page == NO_PAGE { NO_PAGE } else { page << PAGE_SHIFT });
        self.page = page;
    }

    fn set_open(&mut self, open: u64) {
        self.set(Field::Open, open);
        self.open = open;
    }

    fn set_in_stretch(&mut self, in_stretch: bool) {
        self.set(Field::InStretch, in_stretch.into());
        self.in_stretch = in_stretch;
    }

    fn next_place(&self) -> u64 {
        self.pause();
        let places = self.world.memory.header(Header::Places);
        let place = places.fetch_add(1, Ordering::SeqCst) + 1;
        self.truth().taken(place);
        place
    }

    fn need_room(&mut self, words: u64) {
        if self.head + words <= self.limit {
            return;
        }
        let (memory, waiting) = (&self.world.memory, &self.world.waiting);
        waiting.set(waiting.get() + 1);
        self.world.waits.set(self.world.waits.get() + 1);
        loop {
            self.limit = memory.get(self.lane, Field::Tail) + RING_WORDS;
            if self.head + words <= self.limit {
                break;
            }
            self.rest();
        }
        waiting.set(waiting.get() - 1);
    }

    fn put(&self, offset: u64, word: u64) {
        self.pause();
        self.world.memory.ring(self.lane, self.head + offset).store(word, Ordering::Relaxed);
    }

    /// The caller says right after it what was published.
    fn publish(&mut self, words: u64) {
        self.set(Field::Head, self.head + words);
        self.head += words;
    }

    fn made(&self, weight: u64) -> Made {
        Made { page: self.page, weight, wrote: self.open & 4 != 0 }
    }

    fn run_word(made: Made) -> u64 {
        made.page << 16 | (made.weight - 1) << 3 | u64::from(made.wrote) << 2 | WORD_RUN
    }

    /// Puts the open run, if there is one, into the ring.
    pub fn close_run(&mut self) {
        if self.page == NO_PAGE {
            return;
        }
        let (whole, run_place) = (self.made(self.open >> 3), self.place);
        let mut left = whole.weight;
        let mut place = Some(run_place).filter(|_| !self.in_stretch);
        while left > 0 {
            let piece = Made { weight: left.min(RUN_WEIGHT_MOST), ..whole };
            self.need_room(2);
            let mut words = 0;
            if !self.in_stretch {
                let place = *place.get_or_insert_with(|| self.next_place());
                self.put(0, place << 2 | WORD_TICKET);
                words = 1;
            }
            self.put(words, Self::run_word(piece));
            left -= piece.weight;
            if left == 0 {
                self.set_page(NO_PAGE);
                self.truth().hidden(self.thread, run_place);
            }
            self.publish(words + 1);
            self.truth().hidden(self.thread, run_place);
            match place.take() {
                Some(place) => self.truth().piece(self.thread, place, piece),
                None => self.truth().stretch_run(self.place, piece),
            }
        }
    }

    fn end_stretch(&mut self) {
        if self.in_stretch {
            self.need_room(1);
            self.put(0, WORD_MESSAGE);
            self.publish(1);
            self.truth().stretch_ended(self.place);
            self.set_in_stretch(false);
        }
    }

    fn open_placed_run(&mut self, page: u64, wrote: bool) {
        self.truth().began(self.thread, page, wrote);
        self.place = self.next_place();
        if self.world.live_threads.get() == 1 {
            self.need_room(1);
            self.put(0, self.place << 2 | WORD_STRETCH);
            self.publish(1);
            self.truth().stretch_began(self.thread, self.place);
            self.set_in_stretch(true);
        }
        self.set(Field::Place, if self.in_stretch { 0 } else { self.place });
        self.set_open(1 << 3 | u64::from(wrote) << 2);
        self.set_page(page);
        self.set(Field::OpenHead, self.head);
        if !self.in_stretch {
            self.truth().shown(self.thread, self.place);
        }
    }

    /// Accesses to one page.
    pub fn access(&mut self, page: u64, accesses: u64, wrote: bool) {
        let mut left = accesses;
        if page != self.page {
            self.turn_page(page, wrote);
            left -= 1;
        }
        if left > 0 {
            self.set_open((self.open | u64::from(wrote) << 2) + (left << 3));
            self.truth().went_on(self.thread, left, wrote);
        }
    }

    fn turn_page(&mut self, page: u64, wrote: bool) {
        let is_quick = self.in_stretch && self.page != NO_PAGE && self.head < self.limit;
        if is_quick && self.open >> 3 <= RUN_WEIGHT_MOST {
            let last = self.made(self.open >> 3);
            self.put(0, Self::run_word(last));
            self.set_page(page);
            self.set_open(1 << 3 | u64::from(wrote) << 2);
            self.publish(1);
            self.truth().stretch_run(self.place, last);
            self.truth().began(self.thread, page, wrote);
            return;
        }
        self.close_run();
        if self.in_stretch {
            self.set_open(1 << 3 | u64::from(wrote) << 2);
            self.set_page(page);
            self.truth().began(self.thread, page, wrote);
        } else {
            self.open_placed_run(page, wrote);
        }
    }

    /// What a system call does, before it and after.
    pub fn call(&mut self) {
        self.close_run();
        self.end_stretch();
    }

    pub fn send(&mut self, kind: u64, words: &[u64]) {
        self.call();
        let count = words.len() as u64;
        self.need_room(count + 2);
        let place = self.next_place();
        self.put(0, place << 2 | WORD_TICKET);
        self.put(1, count << 8 | kind << 2 | WORD_MESSAGE);
        for (offset, word) in (2..).zip(words) {
            self.put(offset, *word);
        }
        self.publish(count + 2);
        self.truth().message(place, kind, words);
    }

    pub fn end(mut self) {
        self.call();
        self.world.live_threads.set(self.world.live_threads.get() - 1);
        self.set(Field::State, ENDED);
    }
}

/// What the memory says of the open run of a thread in a stretch, whatever it was about to do.
pub fn left_in_memory(memory: &Memory) -> Option<Made> {
    let lanes = memory.header(Header::LanesUsed).load(Ordering::Acquire) as usize;
    let lane = (0..lanes).find(|&lane| memory.get(lane, Field::InStretch) != 0)?;
    let (base, open) = (memory.get(lane, Field::Base), memory.get(lane, Field::Open));
    let made = Made { page: base >> PAGE_SHIFT, weight: open >> 3, wrote: open & 4 != 0 };
    (base != NO_PAGE).then_some(made)
}
