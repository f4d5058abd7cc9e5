//! Memory nodes, the real ones, in a network that treats their messages badly.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use farside_far::remote::{Carrier, Cluster, Network, NodeAddress, Timing};
use farside_far::{FarError, FarStore, Remote};
use farside_node::network::{Node, Options};
use farside_wire::transport::Stream;

use crate::cable::{Cables, Weather};
use crate::client::{Client, Outcome};
use crate::part_client::PartClient;
use crate::scheduler::{Random, Scheduler};

/// Seeds that once failed.
pub const KEPT: &[u64] = &[
    // A page was stored with fewer copies because a connection had just ended, and a node was killed then.
    5866137961202603280,
    // The only node that could be reached was about to end, and was given no page.
    3333719012783286187,
    // The only copy was given up because it was damaged on its way, three times.
    4785400784179988649,
    // The same; another node had one, too, but was gone.
    3434827698007747098,
];

/// The same of parts.
pub const KEPT_PARTS: &[u64] = &[
    // Threads that waited for their turn looked so often that the run took too long.
    7005283498270981814,
];

/// What a run is like.
#[derive(Debug)]
struct Plan {
    nodes: usize,
    copies: usize,
    seal: bool,
    weather: Weather,
    /// Whether a node is killed, or told to end.
    kills: bool,
    drains: bool,
    stops: bool,
    threads: u64,
    deeds: u64,
    /// If parts of pages are moved, the length of lines.
    line: Option<usize>,
}

impl Plan {
    /// For parts of pages.
    fn draw_for_parts(random: &Random) -> Self {
        let plan = Self::draw(random);
        Self { seal: false, line: Some(64 << random.below(7)), deeds: 2 * plan.deeds, ..plan }
    }

    fn draw(random: &Random) -> Self {
        let nodes = 1 + random.below(4) as usize;
        let copies = 1 + random.below(nodes.min(3) as u64) as usize;
        let weather = Weather::draw(random);
        Self {
            nodes,
            copies,
            seal: random.permille(500),
            weather,
            kills: random.permille(400),
            drains: random.permille(200),
            stops: random.permille(300),
            threads: 1 + random.below(3),
            deeds: 20 + random.below(60),
            line: None,
        }
    }
}

impl Plan {
    /// Whether pages may be lost: a node is killed, and there is one copy, or the others may be out of reach just then.
    fn may_lose_pages(&self) -> bool {
        let Weather { damaged, repeated, cut, cut_short, .. } = self.weather;
        let bad = damaged[0] + damaged[1] + repeated + cut + cut_short;
        let away = self.stops || self.drains || bad > 0;
        self.kills && (self.copies == 1 || away)
    }
}

/// The nodes, and connections to them.
pub struct World {
    pub cables: Rc<Cables>,
    options: Options,
    nodes: Rc<[RefCell<Option<Arc<Node>>>]>,
}

impl World {
    pub fn new(scheduler: &Rc<Scheduler>, nodes: usize, memory: u64, weather: Weather) -> Rc<Self> {
        let options = Options { memory, spin: std::time::Duration::ZERO, ..Options::default() };
        let node = |_| RefCell::new(Some(Node::new(options.clone()).expect("a node")));
        let nodes: Rc<[_]> = (0..nodes).map(node).collect();
        Rc::new(Self { cables: Cables::new(scheduler, nodes.len(), weather), options, nodes })
    }

    /// The same nodes, and connections of somebody else.
    pub fn beside(&self, weather: Weather) -> Rc<Self> {
        let cables = Cables::new(&self.cables.scheduler, self.nodes.len(), weather);
        Rc::new(Self { cables, options: self.options.clone(), nodes: Rc::clone(&self.nodes) })
    }

    /// The nodes that are there.
    pub fn nodes(&self) -> impl Iterator<Item = Arc<Node>> {
        self.nodes.iter().filter_map(|node| node.borrow().clone())
    }

    /// What clients know of the nodes.
    pub fn cluster(&self, copies: usize, seal: bool) -> Cluster {
        let name =
            |port| NodeAddress { name: "node".into(), address: ([127, 0, 0, 1], port).into() };
        let nodes = (0..self.nodes.len() as u16).map(name).collect();
        let timing = Timing { spin_ns: 0, ..Timing::default() };
        Cluster { carrier: Carrier::Tcp, nodes, copies, seal, timing }
    }

    /// A client of the nodes.
    pub fn client(self: &Rc<Self>, cluster: &Cluster) -> Arc<Remote> {
        let scheduler = &self.cables.scheduler;
        loop {
            match Remote::alone(cluster, Box::new(Sky(Rc::clone(self))), 1 << 16) {
                Ok(store) => break Arc::new(store),
                // The network may be so bad that a start fails.
                Err(FarError::Unreachable) => scheduler.wait(scheduler.now() + 1_000_000, None),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The node is gone, with all it had.
    fn kill(&self, place: usize) {
        *self.nodes[place].borrow_mut() = None;
        self.cables.cut(place);
    }

    /// A new node takes the place of one that was killed.
    fn start(&self, place: usize) {
        let node = Node::new(self.options.clone()).expect("a node");
        *self.nodes[place].borrow_mut() = Some(node);
    }

    /// The node is told to end.
    fn drain(&self, place: usize) {
        if let Some(node) = &*self.nodes[place].borrow() {
            node.drain();
        }
    }
}

/// What a client connects through.
pub struct Sky(pub Rc<World>);

// SAFETY: all is used by one thread only; the bounds come from traits that are made for threads.
unsafe impl Send for Sky {}
// SAFETY: as above.
unsafe impl Sync for Sky {}

impl Network for Sky {
    fn connect(&self, node: &NodeAddress, _: u64) -> io::Result<Box<dyn Stream>> {
        let place = usize::from(node.address.port());
        let there = self.0.nodes[place].borrow().clone();
        let there = there.ok_or(io::ErrorKind::ConnectionRefused)?;
        let (ours, theirs) = self.0.cables.connect(place)?;
        self.0.cables.scheduler.spawn(false, move || there.attend(Box::new(theirs)));
        Ok(Box::new(ours))
    }

    fn now(&self) -> u64 {
        self.0.cables.scheduler.now()
    }

    fn rest(&self, ns: u64) {
        self.0.cables.scheduler.wait(self.now() + ns, None);
    }
}

/// What the outside does to nodes.
fn disturb(plan: &Plan, world: &Rc<World>, store: &Remote) {
    let scheduler = &world.cables.scheduler;
    let random = &scheduler.random;
    let rest = |ns| scheduler.wait(scheduler.now() + ns, None);
    let place = |random: &Random| random.below(plan.nodes as u64) as usize;
    rest(random.below(3_000_000));
    if plan.stops {
        world.cables.hold(place(random), random.below(2_500_000_000));
        rest(random.below(3_000_000));
    }
    if plan.drains && plan.nodes > 1 {
        world.drain(place(random));
        rest(random.below(5_000_000));
    }
    if plan.kills {
        // Pages that have fewer copies than they should may be lost with a node.
        let lacking = || {
            let health = store.health();
            (health.degraded_pages + health.lost_copies, health.lacking_pages)
        };
        let mut calm = plan.copies == 1;
        for _ in 0..50 {
            let (before, _) = lacking();
            if !calm {
                // Many rounds of repairs.
                rest(100_000_000);
                calm = lacking() == (before, 0);
            }
        }
        if !calm {
            return;
        }
        let place = place(random);
        world.kill(place);
        rest(random.below(50_000_000));
        if random.permille(500) {
            world.start(place);
        }
    }
}

/// Runs one seed.
pub fn run(seed: u64) -> Result<(), String> {
    run_plan(seed, Plan::draw)
}

/// Runs one seed of parts of pages.
pub fn run_parts(seed: u64) -> Result<(), String> {
    run_plan(seed, Plan::draw_for_parts)
}

fn run_plan(seed: u64, draw: fn(&Random) -> Plan) -> Result<(), String> {
    let scheduler = Scheduler::new(seed);
    let plan = Rc::new(draw(&scheduler.random));
    let world = World::new(&scheduler, plan.nodes, 64 << 20, plan.weather.clone());
    let failed = Rc::new(RefCell::new(None));
    let (begin, outcome, about) = (Rc::clone(&world), Rc::clone(&failed), Rc::clone(&plan));
    scheduler.spawn(true, move || start(&about, &begin, &outcome));
    let ran = scheduler.run();
    scheduler.end();
    let failed = failed.borrow_mut().take();
    ran.and(failed.map_or(Ok(()), Err)).map_err(|why| format!("{why}\n{plan:?}"))
}

/// Connects, and has everybody begin.
fn start(plan: &Rc<Plan>, world: &Rc<World>, failed: &Outcome) {
    let scheduler = &world.cables.scheduler;
    let store = world.client(&world.cluster(plan.copies, plan.seal));
    let may_end = |error: &FarError, plan: &Plan| {
        // What was on a node that was killed is gone, if no other one had it.
        matches!(error, FarError::Lost(_) | FarError::NodeLost) && plan.may_lose_pages()
    };
    for thread in 0..plan.threads {
        let (deeds, failed, plan) = (plan.deeds, Rc::clone(failed), Rc::clone(plan));
        if let Some(line) = plan.line {
            let who = (thread, plan.threads);
            let client = PartClient::new(Arc::clone(&store), scheduler, line, who);
            scheduler.spawn(true, move || {
                client.run(deeds, &failed, |error| may_end(error, &plan));
            });
            continue;
        }
        let store: Arc<dyn FarStore> = store.clone();
        let client = Client::new(store, scheduler, thread);
        scheduler.spawn(true, move || {
            client.run((deeds, 0), &failed, |error| may_end(error, &plan));
        });
    }
    tend(&store, scheduler, &Rc::default());
    let (plan, world) = (Rc::clone(plan), Rc::clone(world));
    scheduler.spawn(false, move || disturb(&plan, &world, &store));
}

/// Has somebody look after a client until all is over.
pub fn tend(store: &Arc<Remote>, scheduler: &Rc<Scheduler>, over: &Rc<Cell<bool>>) {
    let (tended, clock, over) = (Arc::clone(store), Rc::clone(scheduler), Rc::clone(over));
    scheduler.spawn(false, move || {
        while !over.get() {
            tended.tend();
            clock.wait(clock.now() + 1_000_000 + clock.random.below(5_000_000), None);
        }
    });
}
