//! One run: a section, its threads, and what must hold at its end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use farside_far::{FarError, FarStore};
use farside_pager::NotLent;
use farside_pager::counters::{Counters, Snapshot};
use farside_sections::{Host, Options, RemotePtr, Section, SectionError, Shape, Structure};

use crate::program::Program;
use crate::random::Random;
use crate::reader::Reader;
use crate::scheduler::Scheduler;
use crate::store::{Moves, SimStore};

/// What a section holds of the run.
pub struct SimHost {
    pub scheduler: Arc<Scheduler>,
    pub store: SimStore,
    pub counters: Counters,
    /// Pages of local memory that are left, besides those that nobody can have.
    left: Cell<u64>,
    withheld: Cell<u64>,
    next: Cell<u64>,
}

// SAFETY: everything runs on one thread; the bounds come from traits made for threads.
unsafe impl Send for SimHost {}
// SAFETY: as above.
unsafe impl Sync for SimHost {}

struct Lender(Arc<SimHost>);

impl Host for Lender {
    fn store(&self) -> &dyn FarStore {
        &self.0.store
    }

    fn counters(&self) -> &Counters {
        &self.0.counters
    }

    fn lend(&self, pages: u64) -> Result<(), NotLent> {
        self.0.scheduler.pause();
        let left = self.0.left.get();
        if pages > left {
            return Err(NotLent { asked: pages, left });
        }
        self.0.left.set(left - pages);
        Ok(())
    }

    fn take_back(&self, pages: u64) {
        self.0.left.set(self.0.left.get() + pages);
    }

    fn take_numbers(&self, count: u64) -> Option<u64> {
        let first = self.0.next.get();
        self.0.next.set(first + count + 1);
        Some(first)
    }

    fn give_numbers(&self, _first: u64, _count: u64) {}

    fn note_footprint(&self, _pages: i64) {}

    fn now_ns(&self) -> u64 {
        self.0.scheduler.now()
    }

    fn wait(&self, _word: &AtomicU32, _seen: u32) {
        self.0.scheduler.pause();
    }

    fn wake(&self, _word: &AtomicU32) {}
}

/// Pages of local memory that there are.
const PLENTY: u64 = 1 << 20;

impl SimHost {
    /// From now on there are so few pages of local memory left.
    fn withhold(&self, left: u64) {
        self.withheld.set(self.left.replace(left) - left);
    }

    /// Whether there may be no local memory for more pins.
    pub fn is_tight(&self) -> bool {
        self.withheld.get() > 0
    }
}

/// What the threads of a run share.
pub struct World {
    pub host: Arc<SimHost>,
    /// Sections that share local memory, or one.
    pub members: Vec<Member>,
    /// Words whose last writer may still write.
    pub operations: u64,
    pub threads: u64,
}

/// A section, and a block of it.
pub struct Member {
    pub section: Arc<Section>,
    pub base: RemotePtr,
    /// What the words of the block hold.
    pub words: RefCell<Vec<u64>>,
    /// And all that they held, in order.
    pub history: RefCell<Vec<Vec<u64>>>,
}

impl World {
    /// What may fail fails only because the store did, or all is pinned; then it is given up.
    pub fn expect<T>(&self, result: Result<T, SectionError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(SectionError::Far(FarError::Full)) => None,
            Err(SectionError::Pinned(_)) if self.host.is_tight() => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Opens one more section that shares the memory of the others, unless there is too little.
    pub fn join(&self, id: u8, random: &mut Random) -> Option<Arc<Section>> {
        let options = Options { id, shape: shape(random) };
        Section::open_with(
            Box::new(Lender(Arc::clone(&self.host))),
            options,
            &self.members[0].section,
        )
        .ok()
    }

    /// Opens a copy of the first section, unless there is too little.
    fn copy(&self, random: &mut Random) -> Option<Arc<Section>> {
        let original = &self.members[0].section;
        let (line, of) = (original.line_len() as u64, shape(random));
        let shape = Shape { line, capacity: of.capacity / of.line * line, ..of };
        Section::open_copy(Box::new(Lender(Arc::clone(&self.host))), shape, original).ok()
    }
}

/// Runs a seed; returns what was counted, or shows the last events.
pub fn run(seed: u64, shown: usize) -> Option<Snapshot> {
    let mut random = Random::new(seed);
    let freeze = random.pick(&[0, 10, 50]);
    let scheduler = Arc::new(Scheduler::new(Random::new(random.next()), freeze));
    let world = Rc::new(build(&scheduler, &mut random));
    let mut bodies: Vec<Box<dyn FnOnce()>> = Vec::new();
    for thread in 0..world.threads {
        let program = Program::new(Rc::clone(&world), thread, Random::new(random.next()));
        bodies.push(Box::new(move || program.run()));
    }
    // Besides those, threads that only read. They have numbers of their own, so that a seed makes of the rest what it did.
    let mut random = Random::new(!seed);
    for _ in 0..random.pick(&[0, 0, 1, 2, 3]) {
        let Some(copy) = world.copy(&mut random) else { continue };
        let reader = Reader::new(Rc::clone(&world), Random::new(random.next()), copy);
        bodies.push(Box::new(move || reader.run()));
    }
    let sound = scheduler.run(bodies);
    if !sound {
        scheduler.print_events(shown);
        return None;
    }
    let Some(world) = Rc::into_inner(world) else { panic!("a thread is left") };
    Some(finish(world))
}

fn shape(random: &mut Random) -> Shape {
    let line = 1u64 << random.pick(&[6, 6, 7, 8, 10, 12, 13]);
    let slots = random.between(1, 12);
    let structure = match random.below(3) {
        0 => Structure::Direct,
        1 => Structure::Set(random.between(1, slots.min(4)) as u32),
        _ => Structure::Full,
    };
    Shape { structure, line, capacity: slots * line }
}

fn build(scheduler: &Arc<Scheduler>, random: &mut Random) -> World {
    let first = shape(random);
    let fails = random.pick(&[0, 0, 5, 40]);
    let moves = random.pick(&[Moves::Pages, Moves::Blocks, Moves::Bytes]);
    let latency = random.pick(&[1, 10, 100]);
    let host = Arc::new(SimHost {
        scheduler: Arc::clone(scheduler),
        store: SimStore::new(Arc::clone(scheduler), moves, fails, latency),
        counters: Counters::new(),
        left: Cell::new(PLENTY),
        withheld: Cell::new(0),
        next: Cell::new(1),
    });
    let options = Options { id: 1, shape: first };
    let section = Section::open(Box::new(Lender(Arc::clone(&host))), options);
    let mut world = World {
        host,
        members: vec![Member::new(section.expect("there is room"), random)],
        operations: random.between(50, 400),
        threads: random.between(1, 4),
    };
    for id in 2..=random.pick(&[1, 1, 2, 2, 3]) {
        let section = world.join(id, random).expect("there is room");
        world.members.push(Member::new(section, random));
    }
    if random.permille(300) {
        world.host.withhold(random.below(4));
    }
    world
}

impl Member {
    fn new(section: Arc<Section>, random: &mut Random) -> Self {
        let (lines, line) = (random.between(1, 24), section.line_len() as u64);
        let base = section.allocate(lines * line, 64).expect("there is far memory");
        let words = (lines * line / 8) as usize;
        let history = RefCell::new(vec![vec![0]; words]);
        Self { section, base, words: RefCell::new(vec![0; words]), history }
    }

    /// What is stored is what was written.
    fn check(&self) {
        self.section.select(0, &[]).expect("it goes").expect("that is all");
        assert_eq!(self.section.unstored(), 0, "lines that were written and not stored");
        for (at, word) in self.words.borrow().iter().enumerate() {
            let address = self.section.address(RemotePtr(self.base.0 + at as u64 * 8));
            // SAFETY: a word of the line that is here.
            let here = unsafe { (address.expect("it comes") as *const u64).read() };
            assert_eq!(here, *word, "word {at} of section {}", self.section.id());
        }
    }
}

/// What is stored is what was written, and the counters agree with each other.
fn finish(world: World) -> Snapshot {
    world.host.store.mend();
    world.members.iter().for_each(Member::check);
    let seen = world.host.counters.snapshot();
    let wanted = seen.section_misses + seen.section_ahead;
    assert!(seen.section_evicted <= wanted, "more lines left than came");
    assert!(seen.section_ahead_used + seen.section_ahead_unused <= seen.section_ahead);
    assert!(seen.section_fetched <= wanted);
    for member in &world.members {
        member.section.free(member.base).expect("it was allocated");
    }
    assert_eq!(world.host.store.held_pages(), 0, "pages are stored that are nobody's");
    for member in world.members {
        member.section.close().expect("it closes");
    }
    let left = world.host.left.get() + world.host.withheld.get();
    assert_eq!(left, PLENTY, "local memory was not given back");
    assert_eq!(world.host.counters.snapshot().section_bytes, 0);
    seen
}
