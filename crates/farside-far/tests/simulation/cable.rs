//! A network of nodes, the real ones, over connections that delay, damage, repeat, cut and cut off.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use farside_far::remote::{Network, NodeAddress};
use farside_node::network::{Node, Options};
use farside_wire::transport::{Interest, Stream};

use crate::scheduler::Scheduler;

/// How bad the network is: in a thousand pieces, how many are treated so.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    pub damaged: u64,
    pub late: u64,
    pub repeated: u64,
    pub cut: u64,
    pub cut_short: u64,
}

/// One direction of a connection.
#[derive(Default)]
struct Way {
    /// Bytes, and when they arrive.
    pieces: VecDeque<(u64, Vec<u8>)>,
    last: u64,
}

struct Cable {
    /// To the node, and to the client.
    ways: [RefCell<Way>; 2],
    closed: Cell<bool>,
    place: usize,
}

struct Place {
    node: RefCell<Option<Arc<Node>>>,
    options: Options,
    /// Nothing moves before this time.
    stopped_until: Cell<u64>,
}

/// The nodes, and the connections to them.
pub struct World {
    pub scheduler: Rc<Scheduler>,
    weather: Weather,
    places: Vec<Place>,
    cables: RefCell<Vec<Rc<Cable>>>,
}

impl World {
    pub fn new(scheduler: &Rc<Scheduler>, nodes: usize, memory: u64, weather: Weather) -> Rc<Self> {
        let options = Options { memory, spin: std::time::Duration::ZERO, ..Options::default() };
        let place = |_| Place {
            node: RefCell::new(Some(Node::new(options.clone()).expect("a node"))),
            options: options.clone(),
            stopped_until: Cell::new(0),
        };
        Rc::new(Self {
            scheduler: Rc::clone(scheduler),
            weather,
            places: (0..nodes).map(place).collect(),
            cables: RefCell::default(),
        })
    }

    /// The node is gone, with all it had.
    pub fn kill(&self, place: usize) {
        *self.places[place].node.borrow_mut() = None;
        for cable in self.cables.borrow().iter().filter(|cable| cable.place == place) {
            cable.closed.set(true);
        }
    }

    /// A new node takes the place of one that was killed.
    pub fn start(&self, place: usize) {
        let node = Node::new(self.places[place].options.clone()).expect("a node");
        *self.places[place].node.borrow_mut() = Some(node);
    }

    /// The node does nothing for a while.
    pub fn stop(&self, place: usize, ns: u64) {
        self.places[place].stopped_until.set(self.scheduler.now() + ns);
    }

    /// The node is told to end.
    pub fn drain(&self, place: usize) {
        if let Some(node) = &*self.places[place].node.borrow() {
            node.drain();
        }
    }

    /// Puts bytes on their way.
    fn carry(&self, cable: &Cable, way: usize, mut bytes: Vec<u8>) {
        let Weather { damaged, late, repeated, cut, cut_short } = self.weather;
        let random = &self.scheduler.random;
        if random.permille(cut) {
            cable.closed.set(true);
            return;
        }
        if random.permille(damaged) && !bytes.is_empty() {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        if random.permille(cut_short) {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
            cable.closed.set(true);
        }
        let mut delay = 2_000 + random.below(20_000);
        if random.permille(late) {
            delay += random.below(40_000_000);
        }
        let way = &mut *cable.ways[way].borrow_mut();
        let arrives = (self.scheduler.now() + delay).max(way.last);
        way.last = arrives;
        if random.permille(repeated) {
            way.pieces.push_back((arrives, bytes.clone()));
        }
        way.pieces.push_back((arrives, bytes));
    }
}

/// One end of a connection.
struct End {
    world: Rc<World>,
    cable: Rc<Cable>,
    /// Whether it is the node's.
    node: bool,
}

// SAFETY: all is used by one thread only; the bounds come from traits that are made for threads.
unsafe impl Send for End {}
// SAFETY: as above.
unsafe impl Sync for End {}

impl End {
    fn inward(&self) -> usize {
        usize::from(!self.node)
    }

    /// When there is something to receive.
    fn arrival(&self) -> Option<u64> {
        let way = self.cable.ways[self.inward()].borrow();
        let arrives = way.pieces.front().map(|(arrives, _)| *arrives);
        let place = &self.world.places[self.cable.place];
        match arrives {
            Some(arrives) => Some(arrives.max(place.stopped_until.get())),
            None => self.cable.closed.get().then_some(0),
        }
    }
}

impl Stream for End {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.cable.closed.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let len = bytes.len();
        self.world.carry(&self.cable, usize::from(self.node), bytes);
        if self.node {
            self.world.scheduler.pause();
        }
        Ok(len)
    }

    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if self.world.scheduler.random.permille(50) {
            self.world.scheduler.pause();
        }
        if self.arrival().is_none_or(|arrives| arrives > self.world.scheduler.now()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut way = self.cable.ways[self.inward()].borrow_mut();
        let Some((_, bytes)) = way.pieces.front_mut() else { return Ok(0) };
        let mut done = 0;
        for part in parts {
            let len = part.len().min(bytes.len() - done);
            part[..len].copy_from_slice(&bytes[done..done + len]);
            done += len;
        }
        bytes.drain(..done);
        if bytes.is_empty() {
            way.pieces.pop_front();
        }
        Ok(done)
    }

    fn wait(&self, _: Interest, until: u64) {
        let (world, cable, node) = (Rc::clone(&self.world), Rc::clone(&self.cable), self.node);
        let end = End { world, cable, node };
        let ready =
            move || end.arrival().is_some_and(|arrives| arrives <= end.world.scheduler.now());
        let arrival = self.arrival().unwrap_or(u64::MAX);
        self.world.scheduler.wait(until.min(arrival), Some(Box::new(ready)));
    }

    fn shut(&self) {
        self.cable.closed.set(true);
    }

    fn doze(&self, word: &AtomicU32, seen: u32, ns: u64) {
        if word.load(Ordering::SeqCst) == seen {
            self.world.scheduler.wait(self.now() + ns, None);
        }
    }

    fn now(&self) -> u64 {
        self.world.scheduler.now()
    }
}

/// What the client connects through.
pub struct Sky(pub Rc<World>);

// SAFETY: as for `End`.
unsafe impl Send for Sky {}
// SAFETY: as for `End`.
unsafe impl Sync for Sky {}

impl Network for Sky {
    fn connect(&self, node: &NodeAddress, _: u64) -> io::Result<Box<dyn Stream>> {
        let world = &self.0;
        let number = usize::from(node.address.port());
        let there = world.places[number].node.borrow().clone();
        let there = there.ok_or(io::ErrorKind::ConnectionRefused)?;
        let cable =
            Rc::new(Cable { ways: Default::default(), closed: Cell::new(false), place: number });
        world.cables.borrow_mut().push(Rc::clone(&cable));
        let end = |node| Box::new(End { world: Rc::clone(world), cable: Rc::clone(&cable), node });
        let theirs = end(true);
        world.scheduler.spawn(false, move || there.attend(theirs));
        Ok(end(false))
    }

    fn now(&self) -> u64 {
        self.0.scheduler.now()
    }

    fn rest(&self, ns: u64) {
        self.0.scheduler.wait(self.0.scheduler.now() + ns, None);
    }
}
