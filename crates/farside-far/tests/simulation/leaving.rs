//! Programs that end, and of which nodes are told so by somebody else, while other programs go on.

use std::cell::Cell;
use std::rc::Rc;

use farside_far::remote::{Cluster, leave};

use crate::cable::Weather;
use crate::client::{Client, Outcome};
use crate::nodes::{Sky, World, tend};
use crate::scheduler::{Random, Scheduler};

/// Seeds that once failed.
pub const KEPT: &[u64] = &[];

/// How often it is looked whether the pages of who is gone are gone, too.
const LOOKS: u64 = 1000;

/// And how long that is waited for between two looks.
const LOOK_NS: u64 = 1_000_000;

/// Who waits for others learns within this time that these are gone.
const LAST_NS: u64 = 100_000_000_000;

/// What a run is like.
#[derive(Debug)]
struct Plan {
    nodes: usize,
    copies: usize,
    seal: bool,
    /// Of who stays, and of who tells the nodes.
    weather: Weather,
    /// How long who is told of goes on, since nodes are told; what ends a connection may take that long to come.
    lasts_ns: u64,
    deeds: u64,
}

impl Plan {
    fn draw(random: &Random) -> Self {
        let nodes = 1 + random.below(3) as usize;
        Self {
            nodes,
            copies: 1 + random.below(nodes as u64) as usize,
            seal: random.permille(500),
            weather: Weather::draw(random),
            lasts_ns: if random.permille(500) { random.below(20_000_000) } else { 0 },
            deeds: 20 + random.below(60),
        }
    }

    /// Of who is told of: a connection that breaks while nodes are told takes the pages along.
    fn mild(&self) -> Weather {
        Weather { late: self.weather.late, latest_ns: self.weather.latest_ns, ..Weather::default() }
    }
}

/// Who connects to the nodes.
struct Parties {
    /// A program that goes on.
    stays: Rc<World>,
    /// One that ends.
    goes: Rc<World>,
    /// Who tells the nodes of that.
    tells: Rc<World>,
    /// Whether all is over.
    over: Rc<Cell<bool>>,
    failed: Outcome,
}

/// Runs one seed.
pub fn run(seed: u64) -> Result<(), String> {
    let scheduler = Scheduler::new(seed);
    let plan = Rc::new(Plan::draw(&scheduler.random));
    let stays = World::new(&scheduler, plan.nodes, 64 << 20, Weather::default());
    let world = Rc::new(Parties {
        goes: stays.beside(plan.mild()),
        tells: stays.beside(plan.weather.clone()),
        stays,
        over: Rc::default(),
        failed: Rc::default(),
    });
    let (about, begin) = (Rc::clone(&plan), Rc::clone(&world));
    scheduler.spawn(true, move || start(&about, &begin));
    let ran = scheduler.run().and_then(|()| finish(&scheduler, &world));
    scheduler.end();
    let failed = world.failed.borrow_mut().take();
    ran.and(failed.map_or(Ok(()), Err)).map_err(|why| format!("{why}\n{plan:?}"))
}

/// Has everybody end who waits for others, so that nothing of the run is left.
fn finish(scheduler: &Rc<Scheduler>, world: &Parties) -> Result<(), String> {
    world.over.set(true);
    [&world.stays, &world.goes, &world.tells].iter().for_each(|one| one.cables.end());
    let clock = Rc::clone(scheduler);
    scheduler.spawn(true, move || clock.wait(clock.now() + LAST_NS, None));
    scheduler.run()
}

/// Has two programs begin, and somebody who tells the nodes that one of them is gone.
fn start(plan: &Rc<Plan>, world: &Rc<Parties>) {
    let scheduler = &world.stays.cables.scheduler;
    let cluster = world.stays.cluster(plan.copies, plan.seal);
    let (goes, stays) = (world.goes.client(&cluster), world.stays.client(&cluster));
    // Until now all went well, so that each node knows two pools.
    world.stays.cables.turn(plan.weather.clone());
    let pool = goes.pool();
    let is_gone = Rc::new(Cell::new(false));
    for (store, is_gone) in [(goes, Some(&is_gone)), (stays, None)] {
        tend(&store, scheduler, &world.over);
        let client = Client::new(store, scheduler, 0);
        let (deeds, failed, is_gone) = (plan.deeds, Rc::clone(&world.failed), is_gone.cloned());
        let counts = is_gone.is_none();
        let may_fail = move || is_gone.as_ref().is_some_and(|is_gone| is_gone.get());
        scheduler.spawn(counts, move || client.run((deeds, 500_000), &failed, |_| may_fail()));
    }
    let swept = Rc::clone(world);
    scheduler.spawn(false, move || sweep(&swept));
    let (plan, world) = (Rc::clone(plan), Rc::clone(world));
    scheduler.spawn(true, move || {
        let clock = Rc::clone(&world.tells.cables.scheduler);
        clock.wait(clock.now() + clock.random.below(20_000_000), None);
        let (until, gone) = (clock.now() + plan.lasts_ns, Rc::clone(&world));
        clock.spawn(true, move || {
            gone.goes.cables.scheduler.wait(until, None);
            is_gone.set(true);
            gone.goes.cables.end();
        });
        if let Err(why) = tell(&world.tells, &cluster, pool) {
            *world.failed.borrow_mut() = Some(why);
        }
    });
}

/// Forgets what is over, again and again.
fn sweep(world: &Parties) {
    let clock = &world.stays.cables.scheduler;
    while !world.over.get() {
        clock.wait(clock.now() + clock.random.below(2_000_000), None);
        world.stays.nodes().for_each(|node| node.sweep());
    }
}

/// Tells each node that who has the pool is gone; the pool has to go soon where that was heard.
fn tell(world: &Rc<World>, cluster: &Cluster, pool: u128) -> Result<(), String> {
    let clock = &world.cables.scheduler;
    let network = Sky(Rc::clone(world));
    for (place, (address, node)) in cluster.nodes.iter().zip(world.nodes()).enumerate() {
        // A node that does not hear of it waits for the end of the lease, which does not come here.
        if leave(&network, address, &cluster.timing, pool).is_err() {
            continue;
        }
        // The other one may be there.
        let is_left = || node.occupancy().0 <= 1;
        let mut looks = 0..LOOKS;
        while !is_left() && looks.next().is_some() {
            clock.wait(clock.now() + LOOK_NS, None);
        }
        if !is_left() {
            return Err(format!("node {place} keeps the pages of who is gone"));
        }
    }
    Ok(())
}
