//! A thread of a run: what it does with sections, and what it expects.

use std::rc::Rc;

use farside_far::FarError;
use farside_sections::{Field, RemotePtr, Section, SectionError};

use crate::PAGE;
use crate::random::Random;
use crate::world::{Member, World};

/// Bytes of a record of which only [`FIELDS`] are used at times.
const RECORD: u32 = 64;

/// The words of a record that are used then.
const FIELDS: [Field; 2] = [Field { start: 8, len: 8 }, Field { start: 40, len: 16 }];

/// Most lines that a thread has pinned at once.
const MOST_PINNED: usize = 4;

pub struct Program {
    world: Rc<World>,
    thread: u64,
    random: Random,
    /// The section that it uses for now.
    at: usize,
    pinned: Vec<Pinned>,
    blocks: Vec<Block>,
}

/// A word whose line is pinned, and its address.
struct Pinned {
    member: usize,
    word: usize,
    address: usize,
}

/// What is a thread's alone, and what it is full of.
struct Block {
    member: usize,
    ptr: RemotePtr,
    size: u64,
    byte: u8,
}

impl Program {
    pub fn new(world: Rc<World>, thread: u64, random: Random) -> Self {
        Self { world, thread, random, at: 0, pinned: Vec::new(), blocks: Vec::new() }
    }

    pub fn run(mut self) {
        for _ in 0..self.world.operations {
            if self.random.permille(60) {
                self.at = self.random.below(self.world.members.len() as u64) as usize;
            }
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
        if self.random.permille(10) {
            return self.visit();
        }
        match self.random.below(20) {
            0..=4 => self.pin_and(false),
            5 => self.store_all(),
            6..=10 => self.pin_and(true),
            11 => self.ask("fetch"),
            12 => self.want(),
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

    fn member(&self) -> &Member {
        &self.world.members[self.at]
    }

    fn word(&mut self) -> usize {
        let words = self.member().words.borrow().len();
        self.random.below(words as u64) as usize
    }

    fn at(&self, word: usize) -> RemotePtr {
        RemotePtr(self.member().base.0 + word as u64 * 8)
    }

    /// Pins a line, and reads or writes a word of it, now or later.
    fn pin_and(&mut self, write: bool) {
        let word = self.word();
        self.world.host.scheduler.note(if write { "write" } else { "read" }, word as u64, 0);
        let pinned = self.member().section.pin(self.at(word));
        let Some(address) = self.world.expect(pinned) else { return };
        self.pinned.push(Pinned { member: self.at, word, address });
        self.check(word, address);
        if write {
            self.member().section.note_written(address, 8);
            self.world.host.scheduler.pause();
            let value = self.random.next() << 2 | self.thread;
            // SAFETY: a word of a pinned line; threads take turns.
            unsafe { (address as *mut u64).write(value) };
            self.member().words.borrow_mut()[word] = value;
            self.member().history.borrow_mut()[word].push(value);
        }
        self.world.host.scheduler.pause();
        self.check(word, address);
        if self.pinned.len() > MOST_PINNED || self.random.permille(700) {
            self.unpin();
        }
    }

    fn check(&self, word: usize, address: usize) {
        self.check_in(self.at, word, address);
    }

    /// A pinned word is what was written there last.
    fn check_in(&self, member: usize, word: usize, address: usize) {
        // SAFETY: a word of a pinned line; threads take turns.
        let here = unsafe { (address as *const u64).read() };
        assert_eq!(here, self.world.members[member].words.borrow()[word], "word {word}");
    }

    fn unpin(&mut self) {
        if self.pinned.is_empty() {
            return;
        }
        let which = self.random.below(self.pinned.len() as u64) as usize;
        let Pinned { member, word, address } = self.pinned.swap_remove(which);
        self.check_in(member, word, address);
        assert!(self.world.members[member].section.unpin(address));
    }

    /// Brings a line without pinning it; what is there then is right, as long as nobody else comes.
    fn look(&mut self) {
        let word = self.word();
        self.world.host.scheduler.note("look", word as u64, 0);
        let address = self.member().section.address(self.at(word));
        if let Some(address) = self.world.expect(address) {
            self.check(word, address);
        }
    }

    /// Sends for words here and there in one go, some of which are none, or the same line's.
    fn want(&mut self) {
        let wanted: Vec<RemotePtr> = (0..self.random.below(40))
            .map(|_| match self.random.below(20) {
                0 => RemotePtr(self.random.next()),
                _ => {
                    let word = self.word();
                    self.at(word)
                }
            })
            .collect();
        self.world.host.scheduler.note("want", wanted.len() as u64, 0);
        let done = self.member().section.want(&wanted);
        self.world.expect(done);
    }

    fn ask(&mut self, what: &'static str) {
        let (word, len) = (self.word(), self.random.below(3000));
        self.world.host.scheduler.note(what, word as u64, len);
        let (section, at) = (&self.member().section, self.at(word));
        let done = match what {
            "fetch" => section.fetch(at, len),
            "flush" => section.flush(at, len),
            "done" => section.done_with(at, len),
            _ => section.evict_soon(at, len),
        };
        self.world.expect(done);
    }

    /// Has all stored, as for a function that runs where its data is: what this thread has written before is there then,
    /// unless it is pinned.
    fn store_all(&mut self) {
        self.world.host.scheduler.note("store all", 0, 0);
        let own = |word: &u64| *word != 0 && *word & 3 == self.thread;
        let member = self.member();
        let before = member.words.borrow().clone();
        let stored = member.section.store_all();
        if self.world.expect(stored) != Some(true) {
            return;
        }
        let pages = member.section.pages();
        let mut far = pages.iter().flat_map(|(first, count)| *first..first + count);
        let offset = member.base.offset();
        let words = member.words.borrow();
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
        let Some(ptr) = self.member().section.allocate(size, 16) else { panic!("no far memory") };
        self.world.host.scheduler.note("allocate", ptr.offset(), size);
        let byte = self.random.next() as u8;
        let block = Block { member: self.at, ptr, size, byte };
        // A few bytes of it stand for all.
        if self.touch(&block, |at| {
            // SAFETY: a byte of a pinned line that is this thread's alone.
            unsafe { *at = byte };
        }) {
            self.blocks.push(block);
        } else {
            self.free_surely(&block);
        }
    }

    fn free(&mut self, block: Block) {
        self.world.host.scheduler.note("free", block.ptr.offset(), block.size);
        self.touch(&block, |at| {
            // SAFETY: as above.
            assert_eq!(unsafe { *at }, block.byte, "a byte of a block");
        });
        self.free_surely(&block);
    }

    fn free_surely(&self, block: &Block) {
        match self.world.members[block.member].section.free(block.ptr) {
            // A failing store may be asked by landing what was under way: it is gone then.
            Ok(()) | Err(SectionError::Far(FarError::Full)) => {}
            // Somebody else's block lies in the same line.
            Err(error) => panic!("{error}"),
        }
    }

    /// Does something with the first, the last and a middle byte of a block; false if one cannot come.
    fn touch(&self, block: &Block, act: impl Fn(*mut u8)) -> bool {
        let section = &self.world.members[block.member].section;
        for at in [0, block.size / 2, block.size - 1] {
            let pinned = section.pin(RemotePtr(block.ptr.0 + at));
            let Some(address) = self.world.expect(pinned) else { return false };
            section.note_written(address, 1);
            act(address as *mut u8);
            assert!(section.unpin(address));
        }
        true
    }

    /// Opens one more section that shares the memory of the others, uses it alone for a while, and closes it.
    fn visit(&mut self) {
        let joined = self.world.join(100 + self.thread as u8, &mut self.random);
        let Some(section) = joined else { return };
        self.world.host.scheduler.note("visit", section.id().into(), section.slots().into());
        let count = self.random.between(1, 2000);
        let base = section.allocate(count * 8, 16).expect("there is far memory");
        let mut words = vec![0u64; count as usize];
        let mut selected = false;
        for _ in 0..self.random.below(40) {
            let word = self.random.below(count);
            let ptr = RemotePtr(base.0 + word * 8);
            if self.random.permille(100) {
                selected = self.select(&section, selected);
                continue;
            }
            if self.random.permille(300) {
                self.world.expect(section.want(&[ptr, RemotePtr(ptr.0 ^ 256)]));
                continue;
            }
            if selected && !is_in_fields(ptr) {
                continue;
            }
            let Some(address) = self.world.expect(section.pin(ptr)) else { continue };
            self.world.host.scheduler.pause();
            // SAFETY: a word of a pinned line that is this thread's alone.
            let here = unsafe { &mut *(address as *mut u64) };
            assert_eq!(*here, words[word as usize], "word {word} of a visit");
            if self.random.permille(700) {
                section.note_written(address, 8);
                *here = self.random.next();
                words[word as usize] = *here;
            }
            assert!(section.unpin(address));
        }
        self.world.expect(section.close());
    }

    /// Has only fields come and go from now on, or everything again; returns which it is.
    fn select(&mut self, section: &Section, selected: bool) -> bool {
        self.world.host.scheduler.note("select", u64::from(!selected), 0);
        let fields: &[Field] = if selected { &[] } else { &FIELDS };
        match self.world.expect(section.select(RECORD, fields)) {
            Some(done) => {
                done.expect("they make sense");
                !selected
            }
            None => selected,
        }
    }
}

/// Whether a word is one of those that are used of its record.
fn is_in_fields(ptr: RemotePtr) -> bool {
    let at = (ptr.offset() % u64::from(RECORD)) as u32;
    FIELDS.iter().any(|field| (field.start..field.start + field.len).contains(&at))
}
