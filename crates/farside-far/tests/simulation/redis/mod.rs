//! A Redis cluster whose servers are killed, stopped and cut off while pages are stored there.

mod server;
mod session;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use farside_far::redis::{Login, Redis, RedisCluster};
use farside_far::remote::{Network, NodeAddress, Timing};
use farside_far::{FarError, FarStore};
use farside_wire::transport::Stream;

use crate::cable::{Cables, Weather};
use crate::client::{Client, Outcome};
use crate::scheduler::{Random, Scheduler};
use server::Servers;
use session::Session;

/// Seeds that once failed.
pub const KEPT: &[u64] = &[
    // What was sent on a connection that had been given up was stored after, and over, what was sent on the next one.
    2831958452735569665,
];

/// What a run is like.
#[derive(Debug)]
struct Plan {
    shards: usize,
    seal: bool,
    weather: Weather,
    kills: bool,
    stops: bool,
    parts: bool,
    threads: u64,
    deeds: u64,
    /// Most time from one deed to the next.
    pace_ns: u64,
    deadline_ns: u64,
}

impl Plan {
    fn draw(random: &Random) -> Self {
        let bad = |most: u64| if random.permille(300) { random.below(most) } else { 0 };
        // What a client says is protected by TCP or TLS; that replies can be damaged shows that nothing wrong is read.
        let weather = Weather {
            damaged: [0, bad(20)],
            late: bad(60),
            latest_ns: 500_000_000,
            repeated: 0,
            cut: bad(10),
            cut_short: bad(10),
        };
        Self {
            shards: 2 + random.below(2) as usize,
            seal: random.permille(300),
            weather,
            kills: random.permille(500),
            stops: random.permille(300),
            parts: random.permille(400),
            threads: 1 + random.below(3),
            deeds: 20 + random.below(60),
            deadline_ns: [20_000_000, 300_000_000, 1_000_000_000][random.below(3) as usize],
            pace_ns: [0, 5_000_000, 200_000_000][random.below(3) as usize],
        }
    }
}

/// What the client connects through.
struct Sky(Rc<Servers>);

// SAFETY: all is used by one thread only; the bounds come from traits that are made for threads.
unsafe impl Send for Sky {}
// SAFETY: as above.
unsafe impl Sync for Sky {}

impl Network for Sky {
    fn connect(&self, node: &NodeAddress, _: u64) -> io::Result<Box<dyn Stream>> {
        let servers = &self.0;
        // A damaged reply may name any port.
        let number = usize::from(node.address.port()).checked_sub(1);
        let listens = number.and_then(|number| Some((number, servers.life(number)?)));
        let (number, life) = listens.ok_or(io::ErrorKind::ConnectionRefused)?;
        let (ours, theirs) = servers.cables.connect(number)?;
        let session = Session::new(servers, (number, life), theirs);
        servers.cables.scheduler.spawn(false, move || session.serve());
        Ok(Box::new(ours))
    }

    fn now(&self) -> u64 {
        self.0.cables.scheduler.now()
    }

    fn rest(&self, ns: u64) {
        self.0.cables.scheduler.wait(self.now() + ns, None);
    }

    fn draw(&self) -> farside_os::Result<u64> {
        Ok(self.0.cables.scheduler.random.draw())
    }
}

/// What the outside does to servers.
fn disturb(plan: &Plan, servers: &Servers) {
    let scheduler = &servers.cables.scheduler;
    let random = &scheduler.random;
    let rest = |ns| scheduler.wait(scheduler.now() + ns, None);
    let any = || random.below(servers.count() as u64) as usize;
    let calm = || {
        while !servers.is_calm() {
            rest(5_000_000);
        }
        // Long enough for clients to learn of it.
        rest(1_500_000_000);
    };
    for _ in 0..3 {
        rest(random.below(60_000_000));
        if plan.stops {
            // It is not heard of, but too shortly for the others to replace it.
            servers.cables.hold(any(), random.below(400_000_000));
            rest(random.below(500_000_000));
        }
        if plan.parts {
            servers.part(any(), random.below(600_000_000));
            rest(random.below(800_000_000));
        }
        if plan.kills {
            calm();
            let number = any();
            servers.kill(number);
            rest(random.below(300_000_000));
            // A primary that comes back, with nothing, before it was replaced would have its replicas forget all.
            while servers.has_keys(number) {
                rest(5_000_000);
            }
            servers.start(number);
        }
    }
}

/// Runs one seed.
pub fn run(seed: u64) -> Result<(), String> {
    let scheduler = Scheduler::new(seed);
    let plan = Rc::new(Plan::draw(&scheduler.random));
    let spares = 1;
    let cables = Cables::new(&scheduler, 2 * plan.shards + spares, plan.weather.clone());
    let servers = Servers::new(cables, plan.shards, spares);
    let outcome: Outcome = Rc::new(RefCell::new(None));
    let (begin, failed, about) = (Rc::clone(&servers), Rc::clone(&outcome), Rc::clone(&plan));
    scheduler.spawn(true, move || start(&about, &begin, &failed));
    let ran = scheduler.run();
    scheduler.end();
    let failed = outcome.borrow_mut().take();
    ran.and(failed.map_or(Ok(()), Err))
        .map_err(|why| format!("{why}\n{plan:?}\n{}", servers.describe()))
}

/// Connects, and has everybody begin.
fn start(plan: &Rc<Plan>, servers: &Rc<Servers>, failed: &Outcome) {
    let scheduler = &servers.cables.scheduler;
    let address =
        |port: u16| NodeAddress { name: "server".into(), address: ([127, 0, 0, 1], port).into() };
    let cluster = RedisCluster {
        servers: (1..=3).map(address).collect(),
        login: Login::default(),
        replicas: 1,
        seal: plan.seal,
        pool: "farside".into(),
        timing: Timing { spin_ns: 0, deadline_ns: plan.deadline_ns, ..Timing::default() },
    };
    let store = loop {
        match Redis::alone(&cluster, Box::new(Sky(Rc::clone(servers))), 1 << 16) {
            Ok(store) => break Arc::new(store),
            // The network may be so bad that a start fails.
            Err(FarError::Unreachable) => scheduler.wait(scheduler.now() + 1_000_000, None),
            Err(error) => panic!("{error}"),
        }
    };
    for thread in 0..plan.threads {
        let client = Client::new(store.clone(), scheduler, thread);
        let (work, failed) = ((plan.deeds, plan.pace_ns), Rc::clone(failed));
        scheduler.spawn(true, move || client.run(work, &failed, |_| false));
    }
    let (tended, clock) = (Arc::clone(&store), Rc::clone(scheduler));
    scheduler.spawn(false, move || {
        loop {
            tended.tend();
            clock.wait(clock.now() + 1_000_000 + clock.random.below(5_000_000), None);
        }
    });
    let ticking = Rc::clone(servers);
    scheduler.spawn(false, move || {
        loop {
            ticking.tick();
            let clock = &ticking.cables.scheduler;
            clock.wait(clock.now() + 300_000 + clock.random.below(700_000), None);
        }
    });
    let (plan, servers) = (Rc::clone(plan), Rc::clone(servers));
    scheduler.spawn(false, move || disturb(&plan, &servers));
}
