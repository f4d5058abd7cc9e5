//! Connections that delay, damage, repeat, cut and cut off.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use farside_wire::transport::{Interest, Stream};

use crate::scheduler::{Random, Scheduler};

/// How bad a network is: in a thousand pieces, how many are treated so.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// Bits are changed: of what goes to the other side, and of what comes back.
    pub damaged: [u64; 2],
    pub late: u64,
    /// So many nanoseconds at most.
    pub latest_ns: u64,
    pub repeated: u64,
    pub cut: u64,
    pub cut_short: u64,
}

impl Weather {
    /// As bad as it may be, in some ways or in none.
    pub fn draw(random: &Random) -> Self {
        let bad = |most: u64| if random.permille(400) { random.below(most) } else { 0 };
        Self {
            damaged: [bad(60), bad(60)],
            late: bad(60),
            latest_ns: 40_000_000,
            repeated: bad(40),
            cut: bad(20),
            cut_short: bad(20),
        }
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Way {
    /// Bytes, and when they arrive.
    pieces: VecDeque<(u64, Vec<u8>)>,
    last: u64,
}

struct Cable {
    /// To the other side, and back.
    ways: [RefCell<Way>; 2],
    closed: Cell<bool>,
    place: usize,
}

/// The connections to some places.
pub struct Cables {
    pub scheduler: Rc<Scheduler>,
    weather: RefCell<Weather>,
    /// By place: nothing moves from or to there before this time.
    still_until: Vec<Cell<u64>>,
    cables: RefCell<Vec<Rc<Cable>>>,
    /// Whether who connected is gone.
    ended: Cell<bool>,
}

impl Cables {
    pub fn new(scheduler: &Rc<Scheduler>, places: usize, weather: Weather) -> Rc<Self> {
        Rc::new(Self {
            scheduler: Rc::clone(scheduler),
            weather: RefCell::new(weather),
            still_until: (0..places).map(|_| Cell::new(0)).collect(),
            cables: RefCell::default(),
            ended: Cell::new(false),
        })
    }

    /// A new connection to a place: this end of it, and the other one.
    pub fn connect(self: &Rc<Self>, place: usize) -> io::Result<(End, End)> {
        if self.ended.get() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let cable = Rc::new(Cable { ways: Default::default(), closed: Cell::new(false), place });
        self.cables.borrow_mut().push(Rc::clone(&cable));
        let end = |there| End(Side { cables: Rc::clone(self), cable: Rc::clone(&cable), there });
        Ok((end(false), end(true)))
    }

    /// Who connected is gone: all connections end, and there are no new ones.
    pub fn end(&self) {
        self.ended.set(true);
        self.cables.borrow().iter().for_each(|cable| cable.closed.set(true));
    }

    /// The network is as good or bad as this from now on.
    pub fn turn(&self, weather: Weather) {
        *self.weather.borrow_mut() = weather;
    }

    /// All connections to a place end.
    pub fn cut(&self, place: usize) {
        for cable in self.cables.borrow().iter().filter(|cable| cable.place == place) {
            cable.closed.set(true);
        }
    }

    /// Nothing moves from or to a place for a while.
    pub fn hold(&self, place: usize, ns: u64) {
        self.still_until[place].set(self.scheduler.now() + ns);
    }

    /// Puts bytes on their way.
    fn carry(&self, cable: &Cable, way: usize, mut bytes: Vec<u8>) {
        let Weather { damaged, late, latest_ns, repeated, cut, cut_short } = *self.weather.borrow();
        let random = &self.scheduler.random;
        if random.permille(cut) {
            cable.closed.set(true);
            return;
        }
        if random.permille(damaged[way]) && !bytes.is_empty() {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        if random.permille(cut_short) {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
            cable.closed.set(true);
        }
        let mut delay = 2_000 + random.below(20_000);
        if random.permille(late) {
            delay += random.below(latest_ns);
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

/// One end of a connection, which ends with it.
pub struct End(Side);

#[derive(Clone)]
struct Side {
    cables: Rc<Cables>,
    cable: Rc<Cable>,
    /// Whether it is the other one.
    there: bool,
}

// SAFETY: all is used by one thread only; the bounds come from traits that are made for threads.
unsafe impl Send for End {}
// SAFETY: as above.
unsafe impl Sync for End {}

impl Drop for End {
    fn drop(&mut self) {
        self.0.cable.closed.set(true);
    }
}

impl Side {
    fn inward(&self) -> usize {
        usize::from(!self.there)
    }

    /// When there is something to receive.
    fn arrival(&self) -> Option<u64> {
        let way = self.cable.ways[self.inward()].borrow();
        let arrives = way.pieces.front().map(|(arrives, _)| *arrives);
        let still_until = self.cables.still_until[self.cable.place].get();
        match arrives {
            Some(arrives) => Some(arrives.max(still_until)),
            None => self.cable.closed.get().then_some(0),
        }
    }
}

impl Stream for End {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let Self(Side { cables, cable, there }) = self;
        if cable.closed.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let len = bytes.len();
        cables.carry(cable, usize::from(*there), bytes);
        if *there {
            cables.scheduler.pause();
        }
        Ok(len)
    }

    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Self(side) = self;
        let scheduler = &side.cables.scheduler;
        if scheduler.random.permille(50) {
            scheduler.pause();
        }
        if side.arrival().is_none_or(|arrives| arrives > scheduler.now()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut way = side.cable.ways[side.inward()].borrow_mut();
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
        let side = self.0.clone();
        self.0.cables.scheduler.wait(until, Some(Box::new(move || side.arrival())));
    }

    fn shut(&self) {
        self.0.cable.closed.set(true);
    }

    fn doze(&self, word: &AtomicU32, seen: u32, ns: u64) {
        if word.load(Ordering::SeqCst) == seen {
            self.0.cables.scheduler.wait(self.now() + ns, None);
        }
    }

    fn now(&self) -> u64 {
        self.0.cables.scheduler.now()
    }
}
