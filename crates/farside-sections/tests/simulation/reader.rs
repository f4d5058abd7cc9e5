//! A thread of a run that only reads, through a copy of a section that others write to.

use std::rc::Rc;
use std::sync::Arc;

use farside_far::FarError;
use farside_sections::{RemotePtr, Section, SectionError};

use crate::random::Random;
use crate::world::{Member, World};

/// Most lines that it has pinned at once.
const MOST_PINNED: usize = 3;

pub struct Reader {
    world: Rc<World>,
    random: Random,
    copy: Arc<Section>,
    /// How often each word had been written when the copy was renewed.
    since: Vec<usize>,
    /// Words whose lines are pinned, and their addresses.
    pinned: Vec<(usize, usize)>,
}

impl Reader {
    pub fn new(world: Rc<World>, random: Random, copy: Arc<Section>) -> Self {
        let since = vec![0; world.members[0].words.borrow().len()];
        Self { world, random, copy, since, pinned: Vec::new() }
    }

    pub fn run(mut self) {
        for _ in 0..self.world.operations {
            match self.random.below(20) {
                0..=8 => self.look(),
                9..=11 => self.pin(),
                12..=13 => self.unpin(),
                14..=15 => self.want(),
                16..=17 => self.ask(),
                _ => self.renew(),
            }
            self.world.host.scheduler.progress();
            self.world.host.scheduler.pause();
        }
        while !self.pinned.is_empty() {
            self.unpin();
        }
        let Self { world, copy, .. } = self;
        match copy.close() {
            Ok(()) | Err(SectionError::Far(FarError::Full)) => drop(world),
            Err(error) => panic!("{error}"),
        }
    }

    fn member(&self) -> &Member {
        &self.world.members[0]
    }

    fn word(&mut self) -> usize {
        self.random.below(self.since.len() as u64) as usize
    }

    fn at(&self, word: usize) -> RemotePtr {
        RemotePtr(self.member().base.0 + word as u64 * 8)
    }

    /// A word is what it was when the copy was renewed, or became later.
    fn check(&self, word: usize, address: usize) {
        // SAFETY: a word of a line that is here; threads take turns.
        let here = unsafe { (address as *const u64).read() };
        let history = self.member().history.borrow();
        let known = &history[word][self.since[word]..];
        assert!(known.contains(&here), "word {word} of a copy is {here:x}, not one of {known:x?}");
    }

    fn look(&mut self) {
        let word = self.word();
        self.world.host.scheduler.note("look in copy", word as u64, 0);
        let address = self.copy.address(self.at(word));
        if let Some(address) = self.world.expect(address) {
            self.check(word, address);
        }
    }

    fn pin(&mut self) {
        if self.pinned.len() == MOST_PINNED {
            return self.unpin();
        }
        let word = self.word();
        self.world.host.scheduler.note("pin in copy", word as u64, 0);
        let address = self.copy.pin(self.at(word));
        if let Some(address) = self.world.expect(address) {
            self.check(word, address);
            self.pinned.push((word, address));
        }
    }

    fn unpin(&mut self) {
        if let Some((word, address)) = self.pinned.pop() {
            self.check(word, address);
            assert!(self.copy.unpin(address));
        }
    }

    /// Sends for words, and for what may be none, or was freed.
    fn want(&mut self) {
        let wanted: Vec<RemotePtr> = (0..self.random.below(20))
            .map(|_| match self.random.below(8) {
                0 => RemotePtr(u64::from(self.copy.id()) << 56 | self.random.below(1 << 20)),
                _ => {
                    let word = self.word();
                    self.at(word)
                }
            })
            .collect();
        self.world.host.scheduler.note("want in copy", wanted.len() as u64, 0);
        let done = self.copy.want(&wanted);
        self.world.expect(done);
    }

    fn ask(&mut self) {
        let (word, len) = (self.word(), self.random.below(3000));
        self.world.host.scheduler.note("ask of copy", word as u64, len);
        let done = match self.random.below(3) {
            0 => self.copy.evict_soon(self.at(word), len),
            1 => self.copy.done_with(self.at(word), len),
            _ => self.copy.fetch(self.at(word), len),
        };
        self.world.expect(done);
    }

    /// From now on nothing is older.
    fn renew(&mut self) {
        while !self.pinned.is_empty() {
            self.unpin();
        }
        self.world.host.scheduler.note("renew", 0, 0);
        let now: Vec<usize> =
            self.member().history.borrow().iter().map(|all| all.len() - 1).collect();
        let renewed = self.copy.renew();
        if self.world.expect(renewed).is_some() {
            self.since = now;
        }
    }
}
