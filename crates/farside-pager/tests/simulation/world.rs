//! One run: actors, and what must hold at its end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use farside_pager::counters::{Counters, Snapshot};
use farside_pager::ordered::Obeyed;
use farside_pager::settings::Limit;
use farside_pager::{Fault, PageTable, Pager, Parts, Place, TaggedWords, Tracking, Worker};
use farside_policy::prefetch::{Choice, Conservative, Pointer, Tagged};
use farside_policy::replacement;
use farside_tracking::TrackingOptions;

use crate::PAGE;
use crate::arena::Arena;
use crate::checks::{check_contents, check_frames, hold_still};
use crate::config::{
    Config, EVICTING, HINTING, LENDING, ORDERING, POINTING, REMEMBERING, TRACKING,
};
use crate::model::Model;
use crate::program::{Program, World};
use crate::random::Random;
use crate::scheduler::{NewActor, Scheduler, Wait};
use crate::space::SimSpace;
use crate::store::{Link, SimStore};
use crate::tape;
use crate::told::{Told, ToldHalvings};

/// How long the completer sleeps between two looks.
const LOOK_NS: u64 = 3_000;

/// Runs a seed; returns what the pager counted, or says what was wrong and shows the last events.
pub fn run(arena: Arena, seed: u64, shown: usize) -> Result<Snapshot, String> {
    let mut random = Random::new(seed);
    let mut config = Config::drawn(&mut random);
    if seed & HINTING != 0 {
        config.mix.hint = 30;
        config.mix.stay = 4;
        match seed >> 8 & 3 {
            1 => config.policy = "priority",
            2 => config.policy = "eden",
            _ => {}
        }
    }
    config.evict_ahead = seed & EVICTING != 0;
    if seed & LENDING != 0 {
        config.mix.lend = 8;
    }
    if seed & POINTING != 0 {
        config.point(seed);
    }
    if seed & (REMEMBERING | POINTING) == REMEMBERING {
        config.remember();
    }
    if seed & TRACKING != 0 {
        config.track(seed);
    }
    if seed & ORDERING != 0 {
        config.ordered = true;
        config.mix.limit = 6;
    }
    let counters: &'static Counters = Box::leak(Box::default());
    let world = Rc::new(build(arena, config, counters, &mut random, seed));
    let bodies = actors(&world, arena, &mut random, seed);
    let space = Arc::clone(&world.space);
    let scheduler = Arc::clone(&world.scheduler);
    let sound = scheduler.run(bodies, || space.check_limit());
    if !sound {
        scheduler.print_events(shown);
        println!("{:?}", world.config);
        return Err("the run failed as shown above".into());
    }
    space.clear();
    let counted = counters.snapshot();
    drop(world);
    // SAFETY: the world, the only one to use the counters, is gone.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(counters).cast_mut()) });
    Ok(counted)
}

fn build(
    arena: Arena,
    config: Config,
    counters: &'static Counters,
    random: &mut Random,
    seed: u64,
) -> World {
    let order = Random::new(random.next());
    let scheduler = Arc::new(Scheduler::new(order, &config));
    let space = SimSpace::new(arena, Arc::clone(&scheduler), counters, config.clone());
    let space = Arc::new(space);
    let moves = tape::is_moved(seed);
    let store = SimStore::new(Arc::clone(&scheduler), Arc::clone(&space), config.clone(), moves);
    let store = Arc::new(store);
    let tagged = Arc::new(TaggedWords::new(arena.base, config.region));
    let policy = replacement::in_run(config.policy).expect("the policy exists");
    let told = ToldHalvings::default();
    let choice: Choice = config.prefetcher.parse().expect("it exists");
    let pager = Pager::new(Parts {
        base: arena.base,
        area: arena.area(),
        area_positions: config.positions,
        table: PageTable::new(config.region).expect("there is memory for a page table"),
        policy: Box::new(Told { policy, halvings: Arc::clone(&told) }),
        prefetcher: choice.prefetcher(config.readahead),
        pointers: choice.pointers.filter(|_| config.follow > 0).map(|options| {
            let otherwise =
                Conservative { first: arena.base as u64, len: config.region * PAGE as u64 };
            Pointer::new(options, Box::new(Tagged { tags: Arc::clone(&tagged), otherwise }))
        }),
        tagged,
        space: space.clone(),
        store: Box::new(Link(Arc::clone(&store))),
        counters,
        limit: Limit::Bytes(config.limit * PAGE as u64),
        exact_prefetch_count: config.exact_prefetch_count,
        evict_ahead: config.evict_ahead,
        tag_seed: config.tag_seed,
        fault_log: None,
        hint_watch: None,
        recorder: None,
        replay: (seed >= tape::ON_TAPE).then(|| tape::drawn(seed)),
        names: None,
        tracking: Tracking::with_options(
            config.track,
            TrackingOptions { first: config.tracked_first, ..TrackingOptions::default() },
            config.tag_seed,
        ),
    });
    // Told of only where they are large enough.
    let part = config.region as usize * PAGE / 3;
    pager.begin_region(arena.base, part);
    pager.begin_region(arena.base + part, 2 * part);
    let pointing = (config.follow > 0).then_some(arena.base as u64);
    let model = RefCell::new(Model::new(config.region, pointing));
    let meets_after = tape::meets_after(seed);
    let operations = RefCell::default();
    World { config, scheduler, space, store, pager, told, model, meets_after, operations }
}

fn actors(world: &Rc<World>, arena: Arena, random: &mut Random, seed: u64) -> Vec<NewActor> {
    let mut workers = (0..).map(|i| Worker::new(arena.fresh(i), arena.bounce(i)));
    let mut worker = || workers.next().expect("the numbers do not end");
    let handlers_left = Rc::new(Cell::new(world.config.handlers));
    let mut list = Vec::new();
    let actor = |name: String, program, run| NewActor { name, program, run };
    for i in 0..world.config.handlers {
        let (world, worker, random) = (Rc::clone(world), worker(), Random::new(random.next()));
        let left = Rc::clone(&handlers_left);
        let run = Box::new(move || {
            handle(&world, worker, random);
            left.set(left.get() - 1);
        });
        list.push(actor(format!("handler {i}"), false, run));
    }
    for i in 0..world.config.programs {
        let program = Program::new(Rc::clone(world), worker(), Random::new(random.next()));
        list.push(actor(format!("program {i}"), true, Box::new(move || program.run())));
    }
    let (here, mut w, left) = (Rc::clone(world), worker(), Rc::clone(&handlers_left));
    // Those that go on when no handler is left.
    let others = usize::from(world.config.evict_ahead) + usize::from(world.config.ordered);
    let others_left = Rc::new(Cell::new(1 + others));
    let others = Rc::clone(&others_left);
    let complete = Box::new(move || {
        complete(&here, &mut w, &left);
        others.set(others.get() - 1);
    });
    list.push(actor("completer".into(), false, complete));
    if world.config.evict_ahead {
        let (here, mut w, left) = (Rc::clone(world), worker(), Rc::clone(&handlers_left));
        let others = Rc::clone(&others_left);
        let evict = Box::new(move || {
            evict(&here, &mut w, &left);
            others.set(others.get() - 1);
        });
        list.push(actor("evictor".into(), false, evict));
    }
    if world.config.ordered {
        let (here, mut w, left) = (Rc::clone(world), worker(), Rc::clone(&handlers_left));
        let others = Rc::clone(&others_left);
        let obey = Box::new(move || {
            obey(&here, &mut w, &left);
            others.set(others.get() - 1);
        });
        list.push(actor("obeyer".into(), false, obey));
    }
    let (world, mut w) = (Rc::clone(world), worker());
    let over = Rc::new(Cell::new(false));
    if tape::is_moved(seed) {
        let (store, over) = (Arc::clone(&world.store), Rc::clone(&over));
        let run = Box::new(move || store.move_pages(&over));
        list.push(actor("mover".into(), false, run));
    }
    let finish = Box::new(move || {
        finish(&world, &mut w, &others_left);
        over.set(true);
    });
    list.push(actor("finish".into(), false, finish));
    list
}

/// A handler thread, until no program thread is left.
fn handle(world: &World, mut worker: Worker, mut random: Random) {
    loop {
        world.scheduler.wait(Wait::Message);
        let mut messages = world.space.read_messages(&mut random);
        if messages.is_empty() && world.scheduler.programs_done() {
            return;
        }
        if random.permille(500) {
            messages.sort();
            messages.dedup();
        }
        for message in messages {
            let inside = loop {
                match world.pager.try_enter() {
                    Some(inside) => break inside,
                    None => world.scheduler.pause(),
                }
            };
            world.scheduler.note("serves", message.page, u64::from(message.protected));
            let addr = world.pager.base() + message.page as usize * PAGE + message.offset;
            let (protected, thread) = (message.protected, tape::thread_of(message.page));
            let fault = Fault { addr, write: protected, protected, thread };
            world.or_stop(world.pager.serve(&mut worker, fault));
            drop(inside);
            world.scheduler.pause();
        }
    }
}

/// The completer, until no handler is left.
fn complete(world: &World, worker: &mut Worker, handlers_left: &Cell<usize>) {
    loop {
        world.scheduler.wait(Wait::Until(world.scheduler.now() + LOOK_NS));
        let last = handlers_left.get() == 0;
        while world.or_stop(world.pager.work_ahead(worker)) == Some(true) {
            world.scheduler.pause();
        }
        if last {
            return;
        }
    }
}

/// The evictor, until no handler is left.
fn evict(world: &World, worker: &mut Worker, handlers_left: &Cell<usize>) {
    while handlers_left.get() > 0 {
        world.scheduler.wait(Wait::Until(world.scheduler.now() + LOOK_NS));
        while world.or_stop(world.pager.evict_ahead(worker)) == Some(true) {
            world.scheduler.pause();
        }
    }
}

/// Brings the limit to what is ordered, until no handler is left.
fn obey(world: &World, worker: &mut Worker, handlers_left: &Cell<usize>) {
    while handlers_left.get() > 0 {
        world.scheduler.wait(Wait::Until(world.scheduler.now() + LOOK_NS));
        while world.or_stop(world.pager.obey_by(worker, 4, 0)) == Some(Obeyed::Partly) {
            world.scheduler.pause();
        }
    }
}

/// Waits until all is quiet, and compares everything with everything.
fn finish(world: &World, worker: &mut Worker, others_left: &Cell<usize>) {
    while others_left.get() > 0 {
        world.scheduler.wait(Wait::Until(world.scheduler.now() + LOOK_NS));
    }
    hold_still(world, worker);
    assert!(world.scheduler.stopped() || world.store.refused.get() == 0, "a failure went unheard");
    check_accounts(world);
    // What the kernel refuses at one moment it may grant the next.
    for _ in 0..100 {
        world.or_stop(world.pager.shrink_to_limit(worker));
    }
    while world.or_stop(world.pager.complete_oldest(worker)) == Some(true) {}
    let (used, limit) = (world.pager.inspect().used, level(&world.counters().limit_bytes));
    assert!(used <= limit, "{used} frames are used of {limit} after shrinking");
    check_accounts(world);
    if !world.store.lost() {
        check_contents(world);
    }
}

impl World {
    pub fn counters(&self) -> &'static Counters {
        self.pager.counters()
    }
}

fn level(counter: &std::sync::atomic::AtomicU64) -> u64 {
    counter.load(std::sync::atomic::Ordering::Relaxed) / PAGE as u64
}

/// The pager's accounts agree with each other and with what is really there.
fn check_accounts(world: &World) {
    check_frames(world);
    let seen = world.pager.inspect();
    let (mut held, mut touched) = (0, 0);
    let mut positions = std::collections::BTreeSet::new();
    for place in &seen.pages {
        touched += u64::from(!matches!(place, Place::Untouched | Place::Foreign));
        held += u64::from(matches!(place, Place::Resident { .. } | Place::Watched { .. }));
        if let Place::Watched { position } = place {
            assert!(positions.insert(*position), "position {position} is used twice");
        }
    }
    for position in &seen.spare {
        assert!(world.space.in_area(*position), "spare position {position} has no frame");
        assert!(positions.insert(*position), "position {position} is used twice");
    }
    assert_eq!(seen.known as u64, held, "pages that the policy knows");
    assert_eq!(seen.used, held + seen.spare.len() as u64, "frames in the budget");
    assert_eq!(seen.used, world.space.present(), "frames that are there");
    assert_eq!(seen.taken, positions.len() as u64, "positions taken in the frame area");
    assert_eq!(touched, world.pager.touched(), "pages touched");
    check_counters(world);
}

/// The counters agree with each other.
fn check_counters(world: &World) {
    let seen = world.counters().snapshot();
    assert_eq!(seen.footprint_bytes, world.pager.touched() * PAGE as u64);
    assert!(seen.footprint_peak_bytes >= seen.footprint_bytes);
    assert!(seen.prefetched_used + seen.prefetched_unused <= seen.prefetched_pages);
    assert!(seen.evicted_clean + seen.evicted_zero <= seen.evicted_pages);
    let written = (seen.evicted_pages - seen.evicted_clean - seen.evicted_zero) * PAGE as u64;
    assert_eq!(seen.written_bytes, written, "bytes written back");
    let reserved: u64 = world.model.borrow().objects.iter().flatten().map(|o| o.count).sum();
    assert_eq!(seen.reserved_bytes, reserved * PAGE as u64, "bytes handed out");
    let fetched = seen.fetched_bytes / PAGE as u64;
    let asked_for = seen.demand_faults + seen.hinted_pages + seen.prefetched_pages;
    assert!(fetched <= asked_for, "pages fetched");
}
