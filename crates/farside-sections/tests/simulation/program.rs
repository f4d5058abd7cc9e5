//! A thread of a run: what it does with the section, and what it expects.

use std::rc::Rc;

use farside_far::FarError;
use farside_sections::{RemotePtr, SectionError};

use crate::PAGE;
use crate::random::Random;
use crate::world::World;

/// Most lines that a thread has pinned at once.
const MOST_PINNED: usize = 4;

pub struct Program {
    world: Rc<World>,
    thread: u64,
    random: Random,
    /// Words whose lines are pinned, and their addresses.
    pinned: Vec<(usize, usize)>,
    /// Blocks that are this thread's alone, and what they are full of.
    blocks: Vec<(RemotePtr, u64, u8)>,
}

impl Program {
    pub fn new(world: Rc<World>, thread: u64, random: Random) -> Self {
        Self { world, thread, random, pinned: Vec::new(), blocks: Vec::new() }
    }

    pub fn run(mut self) {
        for _ in 0..self.world.operations {
            self.act();
            self.world.host.scheduler.progress();
            self.world.host.scheduler.pause();
        }
        while !self.pinned.is_empty() {
            self.unpin();
        }
        while let Some(block) = self.blocks.pop() {
            self.free(block);
        }
    }

    fn act(&mut self) {
        match self.random.below(20) {
            0..=4 => self.pin_and(false),
            5 => self.store_all(),
            6..=10 => self.pin_and(true),
            11..=12 => self.ask("fetch"),
            13 => self.ask("flush"),
            14 => {
                let what = if self.random.below(2) == 0 { "evict soon" } else { "done" };
                self.ask(what);
            }
            15..=16 => self.look(),
            17 => self.unpin(),
            18 => self.allocate(),
            _ => {
                if let Some(block) = self.blocks.pop() {
                    self.free(block);
                }
            }
        }
    }

    fn word(&mut self) -> usize {
        let words = self.world.words.borrow().len();
        self.random.below(words as u64) as usize
    }

    fn at(&self, word: usize) -> RemotePtr {
        RemotePtr(self.world.base.0 + word as u64 * 8)
    }

    /// What may fail fails only because the store did, or all is pinned; then it is given up.
    fn expect<T>(&self, result: Result<T, SectionError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(SectionError::Far(FarError::Full)) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Pins a line, and reads or writes a word of it, now or later.
    fn pin_and(&mut self, write: bool) {
        let word = self.word();
        self.world.host.scheduler.note(if write { "write" } else { "read" }, word as u64, 0);
        let pinned = self.world.section.pin(self.at(word));
        let Some(address) = self.expect(pinned) else { return };
        self.pinned.push((word, address));
        self.check(word, address);
        if write {
            self.world.section.note_written(address, 8);
            self.world.host.scheduler.pause();
            let value = self.random.next() << 2 | self.thread;
            // SAFETY: a word of a pinned line; threads take turns.
            unsafe { (address as *mut u64).write(value) };
            self.world.words.borrow_mut()[word] = value;
        }
        self.world.host.scheduler.pause();
        self.check(word, address);
        if self.pinned.len() > MOST_PINNED || self.random.permille(700) {
            self.unpin();
        }
    }

    /// A pinned word is what was written there last.
    fn check(&self, word: usize, address: usize) {
        // SAFETY: a word of a pinned line; threads take turns.
        let here = unsafe { (address as *const u64).read() };
        assert_eq!(here, self.world.words.borrow()[word], "word {word}");
    }

    fn unpin(&mut self) {
        if self.pinned.is_empty() {
            return;
        }
        let which = self.random.below(self.pinned.len() as u64) as usize;
        let (word, address) = self.pinned.swap_remove(which);
        self.check(word, address);
        assert!(self.world.section.unpin(address));
    }

    /// Brings a line without pinning it; what is there then is right, as long as nobody else comes.
    fn look(&mut self) {
        let word = self.word();
        self.world.host.scheduler.note("look", word as u64, 0);
        let address = self.world.section.address(self.at(word));
        if let Some(address) = self.expect(address) {
            self.check(word, address);
        }
    }

    fn ask(&mut self, what: &'static str) {
        let (word, len) = (self.word(), self.random.below(3000));
        self.world.host.scheduler.note(what, word as u64, len);
        let (section, at) = (&self.world.section, self.at(word));
        let done = match what {
            "fetch" => section.fetch(at, len),
            "flush" => section.flush(at, len),
            "done" => section.done_with(at, len),
            _ => section.evict_soon(at, len),
        };
        self.expect(done);
    }

    /// Has all stored, as for a function that runs where its data is: what this thread has written before is there then,
    /// unless it is pinned.
    fn store_all(&mut self) {
        self.world.host.scheduler.note("store all", 0, 0);
        let own = |word: &u64| *word != 0 && *word & 3 == self.thread;
        let before = self.world.words.borrow().clone();
        let stored = self.world.section.store_all();
        if self.expect(stored) != Some(true) {
            return;
        }
        let pages = self.world.section.pages();
        let mut far = pages.iter().flat_map(|(first, count)| *first..first + count);
        let offset = self.world.base.offset();
        let words = self.world.words.borrow();
        let page_of = |word: usize| (offset + word as u64 * 8) / PAGE as u64;
        let mut known = (u64::MAX, 0);
        for (at, (word, now)) in before.iter().zip(&*words).enumerate() {
            let page = page_of(at);
            while known.0 == u64::MAX || known.0 < page {
                known = (known.0.wrapping_add(1), far.next().expect("it has as many pages"));
            }
            // Others may have written to it since.
            if own(word) && word == now {
                let byte = known.1 * PAGE as u64 + (offset + at as u64 * 8) % PAGE as u64;
                assert_eq!(
                    self.world.host.store.number(byte),
                    *word,
                    "word {at}, which was stored"
                );
            }
        }
    }

    /// Allocates a block, fills it, and checks those that are there.
    fn allocate(&mut self) {
        let size = if self.random.permille(800) {
            self.random.between(1, 200)
        } else {
            self.random.between(1, 80_000)
        };
        let Some(ptr) = self.world.section.allocate(size, 16) else { panic!("no far memory") };
        self.world.host.scheduler.note("allocate", ptr.offset(), size);
        let byte = self.random.next() as u8;
        // A few bytes of it stand for all.
        if self.touch(ptr, size, |at| {
            // SAFETY: a byte of a pinned line that is this thread's alone.
            unsafe { *at = byte };
        }) {
            self.blocks.push((ptr, size, byte));
        } else {
            self.free_surely(ptr);
        }
    }

    fn free(&mut self, (ptr, size, byte): (RemotePtr, u64, u8)) {
        self.world.host.scheduler.note("free", ptr.offset(), size);
        self.touch(ptr, size, |at| {
            // SAFETY: as above.
            assert_eq!(unsafe { *at }, byte, "a byte of a block");
        });
        self.free_surely(ptr);
    }

    fn free_surely(&self, ptr: RemotePtr) {
        match self.world.section.free(ptr) {
            // A failing store may be asked by landing what was under way: it is gone then.
            Ok(()) | Err(SectionError::Far(FarError::Full)) => {}
            // Somebody else's block lies in the same line.
            Err(error) => panic!("{error}"),
        }
    }

    /// Does something with the first, the last and a middle byte of a block; false if one cannot come.
    fn touch(&self, ptr: RemotePtr, size: u64, act: impl Fn(*mut u8)) -> bool {
        for at in [0, size / 2, size - 1] {
            let pinned = self.world.section.pin(RemotePtr(ptr.0 + at));
            let Some(address) = self.expect(pinned) else { return false };
            self.world.section.note_written(address, 1);
            act(address as *mut u8);
            assert!(self.world.section.unpin(address));
        }
        true
    }
}
