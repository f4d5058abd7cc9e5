//! The threads' words, put into the one order in which things happened.

use std::ops::Range;

use super::stream::{Lane, OpenRun, RING_WORDS, Run, RunWord, Stream, Word};

/// How far ahead of what is expected next a thread may be read.
const WINDOW: u64 = 1 << 16;

/// Words of a stretch that are read before their room is given back.
const PIECE: u64 = 1 << 14;

/// Runs of a stretch that are told at once; they fit into a processor's first cache.
const AT_ONCE: usize = 1 << 10;

/// Kind of the message that ends a stretch.
const END: u64 = 0;

/// Kind of the message that says which thread has a lane.
const THREAD: u64 = 1;

/// What is told in order.
pub trait Listener {
    /// A thread made accesses.
    fn run(&mut self, thread: u32, run: Run);
    /// A thread made accesses, and no other did meanwhile.
    fn runs(&mut self, thread: u32, runs: &[RunWord]) {
        runs.iter().for_each(|run| self.run(thread, run.run()));
    }
    /// A message of this kind, with its words.
    fn message(&mut self, kind: u64, words: &[u64]);
}

/// The words of a lane make no sense: the program wrote into memory that is not its own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Damaged;

/// What waits for its place in the order. Messages wait in their rings, as they may be long.
#[derive(Copy, Clone, Debug, Default)]
enum Waiting {
    #[default]
    Nothing,
    Run(u32, Run),
    /// A run that was told already.
    Done,
}

/// What is known of a lane.
#[derive(Copy, Clone, Debug, Default)]
struct Reading {
    thread: u32,
    /// Number of words read since ever; what the shared memory says of it may be damaged.
    position: u64,
    /// Accesses of the run to be handed over next that were told already.
    lent: u64,
}

/// Puts words into order.
#[derive(Debug)]
pub struct Order {
    /// The place that comes next.
    expected: u64,
    /// What came early, by place.
    window: Vec<Waiting>,
    lanes: Vec<Reading>,
    /// The lane whose stretch is at its place.
    stretch: Option<usize>,
    /// The runs of a stretch that are told.
    told: Box<[RunWord; AT_ONCE]>,
    /// The words of the message that is told.
    message: Vec<u64>,
}

impl Default for Order {
    fn default() -> Self {
        Self::new()
    }
}

impl Order {
    /// Nothing was told yet.
    pub fn new() -> Self {
        let window = vec![Waiting::Nothing; WINDOW as usize];
        let told = Box::new([RunWord::FIRST; AT_ONCE]);
        let (lanes, message) = (Vec::new(), Vec::new());
        Self { expected: 1, window, lanes, stretch: None, told, message }
    }

    /// Reads what there is and tells what is at its place. Returns how many words were read.
    pub fn advance(
        &mut self,
        stream: &Stream,
        listener: &mut impl Listener,
    ) -> Result<u64, Damaged> {
        let lanes = stream.lanes();
        if lanes.len() > self.lanes.len() {
            self.lanes.resize(lanes.len(), Reading::default());
        }
        let mut words = 0;
        for (index, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.in_use()) {
            let ended = lane.ended();
            words += self.read(index, lane, listener)?;
            if ended && self.lanes[index].position == lane.head() {
                lane.release();
            }
        }
        Ok(words)
    }

    fn read(
        &mut self,
        index: usize,
        lane: &Lane,
        listener: &mut impl Listener,
    ) -> Result<u64, Damaged> {
        let (start, head) = (self.lanes[index].position, lane.head());
        if head < start || head - start > RING_WORDS as u64 {
            return Err(Damaged);
        }
        let mut position = start;
        while position < head {
            let before = (position, self.expected);
            if self.stretch == Some(index) {
                let end = head.min(position + PIECE);
                position = self.read_stretch(index, lane, position, end, listener)?;
            } else {
                position = self.read_placed(index, lane, position, head, listener)?;
            }
            self.tell(listener);
            self.lanes[index].position = position;
            lane.give_back(position);
            if before == (position, self.expected) {
                break;
            }
        }
        Ok(position - start)
    }

    /// Tells the words of a stretch; returns the position after the last one.
    fn read_stretch(
        &mut self,
        index: usize,
        lane: &Lane,
        start: u64,
        end: u64,
        listener: &mut impl Listener,
    ) -> Result<u64, Damaged> {
        let thread = self.lanes[index].thread;
        let mut position = start;
        while position < end {
            let words = (position..end).map_while(|at| RunWord::of(lane.word(at)));
            let count = self.told.iter_mut().zip(words).map(|(place, run)| *place = run).count();
            listener.runs(thread, &self.told[..count]);
            position += count as u64;
            if count < AT_ONCE && position < end {
                if Word::decode(lane.word(position)) != Word::Message(END, 0) {
                    return Err(Damaged);
                }
                self.stretch = None;
                self.expected += 1;
                return Ok(position + 1);
            }
        }
        Ok(end)
    }

    /// Takes words with places of their own, until one has to wait; returns its position.
    fn read_placed(
        &mut self,
        index: usize,
        lane: &Lane,
        start: u64,
        head: u64,
        listener: &mut impl Listener,
    ) -> Result<u64, Damaged> {
        let mut position = start;
        while position < head {
            match Word::decode(lane.word(position)) {
                Word::Stretch(place) if self.is_due(place) => {
                    self.stretch = Some(index);
                    return Ok(position + 1);
                }
                Word::Stretch(place) if place >= self.expected => return Ok(position),
                Word::Ticket(place) if place >= self.expected.saturating_add(WINDOW) => {
                    return Ok(position);
                }
                Word::Ticket(place) => {
                    let ticket = position;
                    position = self.take(index, lane, place, ticket + 1, head, listener)?;
                    if position == ticket {
                        return Ok(ticket);
                    }
                }
                _ => return Err(Damaged),
            }
        }
        Ok(position)
    }

    /// Whether it is the turn of what has this place, with nothing told of it.
    fn is_due(&self, place: u64) -> bool {
        let waiting = self.window[(place % WINDOW) as usize];
        place == self.expected && matches!(waiting, Waiting::Nothing)
    }

    /// Takes what is at `position` and has this place; returns the position after it, or that of the
    /// ticket before it if it has to wait.
    fn take(
        &mut self,
        index: usize,
        lane: &Lane,
        place: u64,
        position: u64,
        head: u64,
        listener: &mut impl Listener,
    ) -> Result<u64, Damaged> {
        let left = head - position;
        // The word before it was written with it.
        let word = if left > 0 { Word::decode(lane.word(position)) } else { return Err(Damaged) };
        match word {
            Word::Run(run) => {
                self.take_run(index, place, run, listener)?;
                Ok(position + 1)
            }
            Word::Message(kind, count) if count < left && place >= self.expected => {
                if !self.is_due(place) {
                    return Ok(position - 1);
                }
                let end = position + 1 + count;
                self.tell_message(index, kind, lane, position + 1..end, listener);
                Ok(end)
            }
            _ => Err(Damaged),
        }
    }

    /// Tells a message that is at its place.
    fn tell_message(
        &mut self,
        index: usize,
        kind: u64,
        lane: &Lane,
        words: Range<u64>,
        listener: &mut impl Listener,
    ) {
        self.message.clear();
        self.message.extend(words.map(|at| lane.word(at)));
        if kind == THREAD {
            let reading = &mut self.lanes[index];
            reading.thread = self.message.first().map_or(0, |&number| number as u32);
            reading.lent = 0;
        } else {
            listener.message(kind, &self.message);
        }
        self.expected += 1;
        self.tell(listener);
    }

    /// Takes a run, except for what of it was told before.
    fn take_run(
        &mut self,
        index: usize,
        place: u64,
        run: Run,
        listener: &mut impl Listener,
    ) -> Result<(), Damaged> {
        let reading = &mut self.lanes[index];
        if place < self.expected && reading.lent == 0 {
            return Err(Damaged);
        }
        let told = reading.lent.min(u64::from(run.weight));
        reading.lent -= told;
        let (thread, rest) = (reading.thread, Run { weight: run.weight - told as u32, ..run });
        if place < self.expected {
            if rest.weight > 0 {
                listener.run(thread, rest);
            }
            return Ok(());
        }
        let waiting = &mut self.window[(place % WINDOW) as usize];
        if !matches!(waiting, Waiting::Nothing) {
            return Err(Damaged);
        }
        *waiting = if rest.weight > 0 { Waiting::Run(thread, rest) } else { Waiting::Done };
        Ok(())
    }

    /// Tells what is at its place.
    fn tell(&mut self, listener: &mut impl Listener) {
        loop {
            match std::mem::take(&mut self.window[(self.expected % WINDOW) as usize]) {
                Waiting::Nothing => return,
                Waiting::Run(thread, run) => listener.run(thread, run),
                Waiting::Done => {}
            }
            self.expected += 1;
        }
    }

    /// Goes on where everybody waits for a run that does not end: tells what has happened of it so
    /// far. Its thread may compute without memory for long, or may have no processor. Returns whether
    /// there was such a run.
    pub fn lend(&mut self, stream: &Stream, listener: &mut impl Listener) -> bool {
        for (reading, lane) in self.lanes.iter_mut().zip(stream.lanes()) {
            // The rest of an earlier run that was lent is in the ring by now, and comes first.
            let may_lend = lane.in_use() && reading.lent == 0;
            let open = lane.open_run().filter(|open| may_lend && open.place == self.expected);
            if let Some(open) = open {
                reading.lent = open.weight;
                tell_open(reading.thread, open, open.weight, listener);
                self.expected += 1;
                self.tell(listener);
                return true;
            }
        }
        false
    }

    /// Tells the rest once the program is gone, also what it was doing when it was killed.
    pub fn finish(&mut self, stream: &Stream, listener: &mut impl Listener) -> Result<(), Damaged> {
        loop {
            while self.advance(stream, listener)? > 0 {}
            if let Some(index) = self.stretch.take() {
                if let Some(open) = stream.lanes().get(index).and_then(Lane::open_run) {
                    tell_open(self.lanes[index].thread, open, open.weight, listener);
                }
                self.expected += 1;
                self.tell(listener);
            } else if !self.lend(stream, listener) {
                match self.next_place(stream) {
                    Some(place) => self.expected = place,
                    None => break,
                }
                self.tell(listener);
            }
        }
        self.tell_rests(stream, listener);
        Ok(())
    }

    /// The next place that anything has; those before it were taken by threads killed at once.
    fn next_place(&self, stream: &Stream) -> Option<u64> {
        let early = (self.expected..self.expected.saturating_add(WINDOW))
            .find(|place| !matches!(self.window[(place % WINDOW) as usize], Waiting::Nothing));
        let lanes = self.lanes.iter().zip(stream.lanes());
        let unread = lanes.filter(|(reading, lane)| reading.position < lane.head());
        let unread =
            unread.filter_map(|(reading, lane)| match Word::decode(lane.word(reading.position)) {
                Word::Ticket(place) | Word::Stretch(place) => Some(place),
                _ => None,
            });
        let open = stream.lanes().iter().filter_map(Lane::open_run).map(|open| open.place);
        early.into_iter().chain(unread).chain(open).filter(|&place| place > self.expected).min()
    }

    /// What came to runs after they were lent.
    fn tell_rests(&mut self, stream: &Stream, listener: &mut impl Listener) {
        for (reading, lane) in self.lanes.iter().zip(stream.lanes()) {
            if let Some(open) = lane.open_run().filter(|_| reading.lent > 0) {
                let rest = open.weight.saturating_sub(reading.lent);
                tell_open(reading.thread, open, rest, listener);
            }
        }
    }
}

/// Tells of so many accesses of a run that is going on.
fn tell_open(thread: u32, open: OpenRun, weight: u64, listener: &mut impl Listener) {
    let OpenRun { page, wrote, .. } = open;
    let mut left = weight;
    while left > 0 {
        let weight = u32::try_from(left).unwrap_or(u32::MAX);
        listener.run(thread, Run { page, weight, wrote });
        left -= u64::from(weight);
    }
}
