//! What the program's threads do.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use farside_pager::{Hint, Pager, Worker};

use crate::PAGE;
use crate::checks::hold_still;
use crate::config::Config;
use crate::model::{Model, Object, fill};
use crate::random::Random;
use crate::scheduler::{Scheduler, Wait};
use crate::space::{Protection, SimSpace};
use crate::store::SimStore;
use crate::told::ToldHalvings;

/// Longest object in pages.
const LONGEST: u64 = 40;

/// How long a thread that waits for others sleeps between two looks.
const LOOK_NS: u64 = 900;

/// Most pages that the program pins at once.
const MOST_PINNED: u32 = 3;

/// Frames that are left when some are lent, and all that can be lent at once: each thread borrows 6.
const LEAST_LEFT: u64 = 8;
const MOST_LENT: u64 = 24;

/// Everything in a run.
pub struct World {
    pub config: Config,
    pub scheduler: Arc<Scheduler>,
    pub space: Arc<SimSpace>,
    pub store: Arc<SimStore>,
    pub pager: Pager,
    pub told: ToldHalvings,
    pub model: RefCell<Model>,
    /// After how many operations the program's threads wait for one another, if they do.
    pub meets_after: Option<u64>,
    /// Operations that each thread has done; all when it has ended.
    pub operations: RefCell<Vec<u64>>,
}

/// One thread of the program.
pub struct Program {
    world: Rc<World>,
    /// Its number.
    thread: usize,
    worker: Worker,
    random: Random,
    /// Object and page used last.
    last: Option<(usize, u64)>,
    /// What the page that was read last holds.
    pointer: u64,
    /// Where in the next page the program comes.
    offset: usize,
    /// Frames that it has borrowed.
    lent: u64,
}

impl Program {
    pub fn new(world: Rc<World>, worker: Worker, random: Random) -> Self {
        let thread = world.operations.borrow().len();
        world.operations.borrow_mut().push(0);
        Self { world, thread, worker, random, last: None, pointer: 0, offset: 0, lent: 0 }
    }

    pub fn run(mut self) {
        self.allocate();
        let weights = self.world.config.mix.weights();
        for done in 1..=self.world.config.operations {
            let mut at = self.random.below(weights.iter().sum());
            let operation = weights.iter().position(|weight| {
                let here = at < *weight;
                at = at.saturating_sub(*weight);
                here
            });
            self.operate(operation.unwrap_or(0));
            self.world.scheduler.progress();
            self.world.scheduler.pause();
            self.meet(done);
        }
        self.world.operations.borrow_mut()[self.thread] = u64::MAX;
        self.world.pager.take_back(self.lent);
    }

    /// Waits until all threads have come as far, as at the end of a parallel loop: nobody makes a fault then whose
    /// handler could see to what another thread waits for.
    fn meet(&self, done: u64) {
        let World { scheduler, operations, meets_after, .. } = &*self.world;
        operations.borrow_mut()[self.thread] = done;
        if meets_after.is_some_and(|some| done.is_multiple_of(some)) {
            while operations.borrow().iter().any(|others| *others < done) {
                scheduler.wait(Wait::Until(scheduler.now() + LOOK_NS));
            }
        }
    }

    fn operate(&mut self, operation: usize) {
        match operation {
            // Zeros are soon forgotten, and nothing can be learnt from them.
            0 if self.random.permille(500) => self.write_if_zero(),
            0 => self.use_page(|model, page, content| {
                model.see(page, content);
            }),
            1 => self.write_page(Model::fresh_version),
            2 => self.rewrite_page(),
            3 => self.write_page(|_| 0),
            4 => self.discard(),
            5 => self.relocate(),
            6 => self.replace(),
            7 => self.protect(),
            8 => self.pin(),
            9 => self.share(),
            10 => self.change_limit(),
            11 => hold_still(&self.world, &mut self.worker),
            12 => self.advise(),
            13 => self.hint(),
            14 => self.hold(),
            _ => self.lend(),
        }
    }

    /// An object that nobody has for himself.
    fn pick(&mut self) -> Option<usize> {
        let model = self.world.model.borrow();
        let free: Vec<usize> = (0..model.objects.len())
            .filter(|i| model.objects[*i].is_some_and(|object| !object.exclusive))
            .collect();
        (!free.is_empty()).then(|| self.random.pick(&free))
    }

    fn object(&self, index: usize) -> Object {
        self.world.model.borrow().objects[index].expect("an object in use stays")
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut Object)) {
        if let Some(object) = &mut self.world.model.borrow_mut().objects[index] {
            change(object);
        }
    }

    /// A page to use: often the neighbour of the last one. Its object is marked as used.
    fn pick_page(&mut self) -> Option<(usize, u64)> {
        let last = if self.random.permille(self.world.config.sequential) {
            self.last.map(|(index, offset)| (index, offset + 1))
        } else if self.random.permille(self.world.config.together) {
            self.world.model.borrow().last
        } else {
            None
        };
        let next = self.followed().or(last).filter(|(index, offset)| {
            let object = self.world.model.borrow().objects[*index];
            object.is_some_and(|object| !object.exclusive && *offset < object.count)
        });
        let (index, offset) = match next {
            Some(next) => next,
            None => {
                let index = self.pick()?;
                (index, self.random.below(self.object(index).count))
            }
        };
        self.change(index, |object| object.users += 1);
        self.last = Some((index, offset));
        self.world.model.borrow_mut().last = self.last;
        Some((index, self.object(index).first + offset))
    }

    /// The page that the last one points to, often.
    fn followed(&mut self) -> Option<(usize, u64)> {
        self.offset = 0;
        let follow = self.world.config.follow;
        if follow == 0 || !self.random.permille(follow) {
            return None;
        }
        let at = (self.pointer as usize).checked_sub(self.world.pager.base())?;
        let (page, offset) = ((at / PAGE) as u64, at % PAGE);
        let holds = |object: &Option<Object>| {
            object.is_some_and(|object| (object.first..object.first + object.count).contains(&page))
        };
        let model = self.world.model.borrow();
        let index = model.objects.iter().position(holds)?;
        self.offset = offset;
        Some((index, page - model.objects[index]?.first))
    }

    fn use_page(&mut self, operate: impl FnOnce(&mut Model, u64, &[u8])) {
        let Some((index, page)) = self.pick_page() else { return };
        let world = &self.world;
        let pointer = &mut self.pointer;
        world.space.access_at(page, self.offset, false, |content| {
            *pointer = first_word(content);
            world.scheduler.note("reads", page, *pointer);
            operate(&mut world.model.borrow_mut(), page, content);
        });
        if world.config.follow > 0 && self.random.permille(50) {
            let are = self.random.permille(700);
            let address = world.pager.base() + page as usize * PAGE;
            world.pager.say_pointers(address, PAGE, are).expect("there is room for bits");
        }
        self.change(index, |object| object.users -= 1);
    }

    fn write_page(&mut self, version: impl Fn(&mut Model) -> u64) {
        if let Some((index, page)) = self.pick_page() {
            self.write_at(index, page, version);
        }
    }

    fn write_at(&self, index: usize, page: u64, version: impl Fn(&mut Model) -> u64) {
        let world = &self.world;
        world.space.access(page, true, |content| {
            let mut model = world.model.borrow_mut();
            model.see(page, content);
            let version = version(&mut model);
            world.scheduler.note("writes", page, version);
            fill(content, version);
            model.write(page, version);
        });
        self.change(index, |object| object.users -= 1);
    }

    fn write_if_zero(&mut self) {
        self.use_page(|model, page, content| {
            model.see(page, content);
        });
        let last = self.last.and_then(|(index, offset)| {
            let model = self.world.model.borrow();
            let object = model.objects[index].filter(|object| !object.exclusive)?;
            let page = object.first + offset;
            (offset < object.count && model.is_zero(page)).then_some((index, page))
        });
        if let Some((index, page)) = last {
            self.change(index, |object| object.users += 1);
            self.write_at(index, page, Model::fresh_version);
        }
    }

    /// Writes what is there already.
    fn rewrite_page(&mut self) {
        let Some((index, page)) = self.pick_page() else { return };
        let world = &self.world;
        world.space.access(page, true, |content| {
            let mut model = world.model.borrow_mut();
            let version = model.see(page, content);
            world.scheduler.note("rewrites", page, version);
            model.write(page, version);
        });
        self.change(index, |object| object.users -= 1);
    }

    /// A part of an object.
    fn pick_range(&mut self, object: Object) -> (u64, u64) {
        let offset = self.random.below(object.count);
        (object.first + offset, self.random.between(1, object.count - offset))
    }

    fn discard(&mut self) {
        let Some(index) = self.pick() else { return };
        let object = self.object(index);
        if object.pins > 0 {
            return;
        }
        self.change(index, |object| object.users += 1);
        let (first, count) = self.pick_range(object);
        let world = &self.world;
        world.scheduler.note("discards", first, count);
        let begun = world.model.borrow_mut().begin_discard(first, count);
        world.pager.discard(self.address(first), count as usize * PAGE);
        world.model.borrow_mut().end_discard(first, count, begun);
        world.scheduler.note("has discarded", first, count);
        self.change(index, |object| object.users -= 1);
    }

    fn address(&self, page: u64) -> usize {
        self.world.pager.base() + page as usize * PAGE
    }

    /// Takes an object for this thread alone, if nobody uses it.
    fn pick_alone(&mut self) -> Option<(usize, Object)> {
        let index = self.pick()?;
        let object = self.object(index);
        if object.users > 0 {
            return None;
        }
        self.change(index, |object| object.exclusive = true);
        Some((index, object))
    }

    fn relocate(&mut self) {
        let Some((index, object)) = self.pick_alone() else { return };
        let len = object.count as usize * PAGE;
        let world = Rc::clone(&self.world);
        if let Some(to) = world.pager.reserve(len, PAGE) {
            let target = ((to - world.pager.base()) / PAGE) as u64;
            world.scheduler.note("relocates", object.first, target);
            let from = self.address(object.first);
            if let Err(errno) = world.pager.relocate(from, to, len) {
                panic!("moving {object:?} to {target} failed with {errno}");
            }
            world.model.borrow_mut().relocate(object.first, target, object.count);
            world.pager.release(from, len);
            world.scheduler.note("has relocated", object.first, target);
            self.change(index, |object| object.first = target);
        }
        self.change(index, |object| object.exclusive = false);
    }

    /// Frees an object and allocates another.
    fn replace(&mut self) {
        if let Some((index, object)) = self.pick_alone() {
            self.world.scheduler.note("releases", object.first, object.count);
            // Others may be given the range before the call returns.
            self.world.model.borrow_mut().objects[index] = None;
            self.world.model.borrow_mut().forget(object.first, object.count);
            self.world.pager.release(self.address(object.first), object.count as usize * PAGE);
        }
        self.allocate();
    }

    fn allocate(&mut self) {
        let most = (self.world.config.region / 6).min(LONGEST);
        let count = self.random.between(1, most);
        let align = self.random.pick(&[1, 1, 8]) * PAGE;
        let world = &self.world;
        let Some(addr) = world.pager.reserve(count as usize * PAGE, align) else { return };
        let first = ((addr - world.pager.base()) / PAGE) as u64;
        world.scheduler.note("allocates", first, count);
        let object = Object { first, count, users: 0, exclusive: false, pins: 0 };
        for page in first..first + count {
            let protection = world.space.state(page as usize).protection;
            assert_eq!(protection, Protection::ReadWrite, "page {page} is handed out protected");
        }
        let objects = &mut world.model.borrow_mut().objects;
        match objects.iter().position(Option::is_none) {
            Some(free) => objects[free] = Some(object),
            None => objects.push(Some(object)),
        }
    }

    fn protect(&mut self) {
        let Some((index, object)) = self.pick_alone() else { return };
        let (first, count) = self.pick_range(object);
        let all = libc::PROT_READ | libc::PROT_WRITE;
        let prot = self.random.pick(&[libc::PROT_NONE, libc::PROT_READ, all, all]);
        let len = count as usize * PAGE;
        self.world.pager.protect(self.address(first), len, prot).expect("the range is mapped");
        self.change(index, |object| object.exclusive = false);
    }

    /// The kernel holds a page for a while, and writes to it meanwhile.
    fn pin(&mut self) {
        let Some((index, page)) = self.pick_page() else { return };
        let world = &self.world;
        let pinned: u32 = world.model.borrow().objects.iter().flatten().map(|o| o.pins).sum();
        let discarding = self.object(index).users > 1;
        let pinned = pinned < MOST_PINNED && !discarding && {
            self.change(index, |object| object.pins += 1);
            let granted = world.space.access(page, true, |_| world.space.pin(page, true));
            if granted {
                world.scheduler.note("pins", page, 0);
            } else {
                self.change(index, |object| object.pins -= 1);
            }
            granted
        };
        if pinned {
            for _ in 0..self.random.between(1, 30) {
                world.scheduler.wait(Wait::Until(world.scheduler.now() + 500));
                let version = world.model.borrow_mut().fresh_version();
                world.space.write_pinned(page, |content| fill(content, version));
                world.model.borrow_mut().write(page, version);
            }
            world.space.pin(page, false);
            world.scheduler.note("unpins", page, 0);
            self.change(index, |object| object.pins -= 1);
        }
        self.change(index, |object| object.users -= 1);
    }

    fn share(&mut self) {
        if let Some((index, page)) = self.pick_page() {
            self.world.space.share(page);
            self.change(index, |object| object.users -= 1);
        }
    }

    fn advise(&mut self) {
        let Some(index) = self.pick() else { return };
        let (first, count) = self.pick_range(self.object(index));
        let (addr, len) = (self.address(first), count as usize * PAGE);
        if self.random.permille(500) {
            self.world.pager.will_need(addr, len);
        } else {
            self.world.pager.cold(addr, len);
        }
    }

    /// Tells of what it is about to use, or not.
    fn hint(&mut self) {
        let Some((index, page)) = self.pick_page() else { return };
        let ahead = self.random.pick(&[0, 0, 1, 4, 40, -1, -8, i64::MAX, i64::MIN]);
        let size = self.random.pick(&[0, 1, PAGE, 3 * PAGE + 1, 40 * PAGE, usize::MAX]);
        let within = self.random.below(PAGE as u64) as usize;
        let hint = Hint {
            address: self.address(page) + within,
            size,
            write: self.random.permille(400),
            ahead,
            priority: self.random.pick(&[0, 1, 255]),
            ..Hint::default()
        };
        let world = &self.world;
        world.scheduler.note("hints", page, size as u64);
        match self.random.below(10) {
            0 => self.world.pager.done(hint.address, size),
            1 => self.foresee(),
            2 => {
                let name = self.random.pick(&[
                    None,
                    Some("fifo"),
                    Some("second-chance"),
                    Some("priority"),
                    Some("eden"),
                    Some("none such"),
                ]);
                let all = self.random.permille(100);
                let (address, size) = if all { (0, usize::MAX) } else { (hint.address, size) };
                let _ = self.world.pager.assign(address, size, name);
            }
            _ => {}
        }
        let world = &self.world;
        if self.random.permille(500) {
            world.or_stop(world.pager.hint(&mut self.worker, &hint));
        } else if world.or_stop(world.pager.start(&mut self.worker, &hint)) == Some(true) {
            self.await_task(&hint);
        }
        self.change(index, |object| object.users -= 1);
    }

    /// Lists what it is about to use, or not.
    fn foresee(&mut self) {
        let count = self.random.below(100);
        let region = self.world.config.region;
        let pages: Vec<u64> = (0..count).map(|_| self.random.below(region + 1)).collect();
        let list: Vec<usize> = pages.into_iter().map(|page| self.address(page)).collect();
        let world = &self.world;
        world.or_stop(world.pager.foresee(&mut self.worker, &list, 0));
    }

    /// Has a page stay, and sees that it does.
    fn hold(&mut self) {
        let Some((index, page)) = self.pick_page() else { return };
        let world = Rc::clone(&self.world);
        let pinned: u32 = world.model.borrow().objects.iter().flatten().map(|o| o.pins).sum();
        if pinned < MOST_PINNED && self.object(index).users == 1 {
            self.change(index, |object| object.pins += 1);
            let at = self.address(page);
            world.scheduler.note("holds", page, 1);
            let held = world.or_stop(world.pager.hold(&mut self.worker, at, PAGE));
            if held == Some(1) {
                for _ in 0..self.random.between(1, 30) {
                    assert!(world.space.state(page as usize).present, "page {page} has left");
                    world.scheduler.wait(Wait::Until(world.scheduler.now() + 500));
                }
                world.pager.let_go(at, PAGE, 1);
                world.scheduler.note("lets go", page, 1);
            }
            self.change(index, |object| object.pins -= 1);
        }
        self.change(index, |object| object.users -= 1);
    }

    /// Does other things until what a task needs is here, or is forgotten.
    fn await_task(&mut self, hint: &Hint) {
        let world = &self.world;
        for _ in 0..self.random.below(20) {
            let has_arrived = world.pager.has_arrived(&mut self.worker, hint);
            if world.or_stop(has_arrived) != Some(false) {
                return;
            }
            world.scheduler.wait(Wait::Until(world.scheduler.now() + 2_000));
        }
    }

    /// Borrows frames, or gives back those that it has.
    fn lend(&mut self) {
        let frames = self.random.between(1, 6);
        self.world.scheduler.note("lend", frames, self.lent);
        if self.lent > 0 {
            self.world.pager.take_back(std::mem::take(&mut self.lent));
            return;
        }
        let lent = self.world.pager.lend_leaving(&mut self.worker, frames, LEAST_LEFT);
        if let Some(Ok(())) = self.world.or_stop(lent) {
            self.lent = frames;
        }
    }

    fn change_limit(&mut self) {
        let limit = self.random.between(8, 64);
        // What is lent is not taken away.
        let limit = if self.world.config.mix.lend > 0 { limit + MOST_LENT } else { limit };
        let world = &self.world;
        world.scheduler.note("limit", limit, 0);
        if world.config.ordered {
            world.counters().ordered.order(limit * PAGE as u64);
            return;
        }
        world.pager.set_limit_bytes(limit * PAGE as u64);
        if self.random.permille(500) {
            world.scheduler.pause();
            let _inside = world.pager.enter();
            world.or_stop(world.pager.shrink_to_limit(&mut self.worker));
        }
    }
}

impl World {
    /// Ends the run if the far store failed, as the runtime ends the program.
    pub fn or_stop<T>(&self, result: Result<T, farside_far::FarError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                assert!(self.store.failed(), "the pager fails by itself: {error}");
                self.scheduler.stop();
                self.scheduler.pause();
                None
            }
        }
    }
}

fn first_word(content: &[u8]) -> u64 {
    content[..8].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
}
