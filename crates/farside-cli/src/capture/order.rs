//! The threads' words, put into the one order in which things happened.

use super::stream::{Lane, RING_WORDS, Run, Stream, Word};

/// How far ahead of what is expected next a thread may be read.
const WINDOW: u64 = 1 << 16;

/// Words of a stretch that are read before their room is given back.
const PIECE: u64 = 1 << 14;

/// Kind of the message that says which thread has a lane.
const THREAD: u64 = 1;

/// What is told in order.
pub trait Listener {
    /// A thread made accesses.
    fn run(&mut self, thread: u32, run: Run);
    /// A message of this kind, with its words.
    fn message(&mut self, kind: u64, words: &[u64]);
}

/// The words of a lane make no sense: the program wrote into memory that is not its own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Damaged;

/// What waits for its place in the order.
#[derive(Clone, Debug, Default)]
enum Waiting {
    #[default]
    Nothing,
    Run(u32, Run),
    Message(Box<(u64, Vec<u64>)>),
    /// Something that was dealt with already.
    Done,
}

/// What is known of a lane.
#[derive(Copy, Clone, Debug, Default)]
struct Reading {
    thread: u32,
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
}

impl Order {
    /// Nothing was told yet.
    pub fn new() -> Self {
        let window = vec![Waiting::Nothing; WINDOW as usize];
        Self { expected: 1, window, lanes: Vec::new(), stretch: None }
    }

    /// Reads what there is and tells what is at its place. Returns whether anything was read.
    pub fn advance(
        &mut self,
        stream: &Stream,
        listener: &mut impl Listener,
    ) -> Result<bool, Damaged> {
        let lanes = stream.lanes();
        self.lanes.resize(lanes.len(), Reading::default());
        let mut progress = false;
        for (index, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.in_use()) {
            let ended = lane.ended();
            progress |= self.read(index, lane, listener)?;
            if ended && lane.tail() == lane.head() {
                lane.release();
            }
        }
        Ok(progress)
    }

    fn read(
        &mut self,
        index: usize,
        lane: &Lane,
        listener: &mut impl Listener,
    ) -> Result<bool, Damaged> {
        let (start, head) = (lane.tail(), lane.head());
        if head.wrapping_sub(start) > RING_WORDS as u64 {
            return Err(Damaged);
        }
        let mut position = start;
        while position < head {
            let before = (position, self.expected);
            if self.stretch == Some(index) {
                let end = head.min(position + PIECE);
                position = self.read_stretch(index, lane, position, end, listener);
            } else {
                position = self.read_placed(index, lane, position, head, listener)?;
            }
            self.tell(listener);
            lane.give_back(position);
            if before == (position, self.expected) {
                break;
            }
        }
        Ok(position != start)
    }

    /// Tells the words of a stretch; returns the position after the last one.
    fn read_stretch(
        &mut self,
        index: usize,
        lane: &Lane,
        start: u64,
        end: u64,
        listener: &mut impl Listener,
    ) -> u64 {
        let thread = self.lanes[index].thread;
        for position in start..end {
            let Word::Run(run) = Word::decode(lane.word(position)) else {
                self.stretch = None;
                self.expected += 1;
                return position + 1;
            };
            listener.run(thread, run);
        }
        end
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
                Word::Stretch(place) if place == self.expected => {
                    self.stretch = Some(index);
                    return Ok(position + 1);
                }
                Word::Stretch(_) => return Ok(position),
                Word::Ticket(place) if place >= self.expected.saturating_add(WINDOW) => {
                    return Ok(position);
                }
                Word::Ticket(place) => {
                    position = self.take(index, lane, place, position + 1, head, listener)?;
                }
                _ => return Err(Damaged),
            }
        }
        Ok(position)
    }

    /// Takes what is at `position` and has this place; returns the position after it.
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
        match Word::decode(lane.word(position)) {
            Word::Run(run) if left > 0 => {
                self.take_run(index, place, run, listener);
                Ok(position + 1)
            }
            Word::Message(kind, count) if count < left => {
                let end = position + 1 + count;
                let words: Vec<u64> = (position + 1..end).map(|at| lane.word(at)).collect();
                if kind == THREAD {
                    let thread = words.first().map_or(0, |&number| number as u32);
                    self.lanes[index] = Reading { thread, lent: 0 };
                    self.put(place, Waiting::Done);
                } else {
                    self.put(place, Waiting::Message(Box::new((kind, words))));
                }
                Ok(end)
            }
            _ => Err(Damaged),
        }
    }

    /// Takes a run, except for what of it was told before.
    fn take_run(&mut self, index: usize, place: u64, run: Run, listener: &mut impl Listener) {
        let reading = &mut self.lanes[index];
        let told = reading.lent.min(u64::from(run.weight));
        reading.lent -= told;
        let (thread, rest) = (reading.thread, Run { weight: run.weight - told as u32, ..run });
        if place < self.expected {
            if rest.weight > 0 {
                listener.run(thread, rest);
            }
        } else if rest.weight > 0 {
            self.put(place, Waiting::Run(thread, rest));
        } else {
            self.put(place, Waiting::Done);
        }
    }

    fn put(&mut self, place: u64, what: Waiting) {
        self.window[(place % WINDOW) as usize] = what;
    }

    /// Tells what is at its place.
    fn tell(&mut self, listener: &mut impl Listener) {
        loop {
            match std::mem::take(&mut self.window[(self.expected % WINDOW) as usize]) {
                Waiting::Nothing => return,
                Waiting::Run(thread, run) => listener.run(thread, run),
                Waiting::Message(message) => listener.message(message.0, &message.1),
                Waiting::Done => {}
            }
            self.expected += 1;
        }
    }

    /// Goes on where everybody waits for a run that does not end: tells what has happened of it so
    /// far. Its thread may compute without memory for long, or may have no processor. Returns whether
    /// there was such a run.
    pub fn lend(&mut self, stream: &Stream, listener: &mut impl Listener) -> bool {
        for (index, lane) in stream.lanes().iter().enumerate().take(self.lanes.len()) {
            let open = lane.open_run().filter(|open| open.place == self.expected);
            if let (true, Some(open)) = (lane.in_use(), open) {
                let reading = &mut self.lanes[index];
                reading.lent += u64::from(open.run.weight);
                listener.run(reading.thread, open.run);
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
            while self.advance(stream, listener)? {}
            if let Some(index) = self.stretch.take() {
                if let Some(open) = stream.lanes()[index].open_run() {
                    listener.run(self.lanes[index].thread, open.run);
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
        let unread = stream.lanes().iter().filter(|lane| lane.tail() < lane.head());
        let unread = unread.filter_map(|lane| match Word::decode(lane.word(lane.tail())) {
            Word::Ticket(place) | Word::Stretch(place) => Some(place),
            _ => None,
        });
        let open = stream.lanes().iter().filter_map(Lane::open_run).map(|open| open.place);
        early.into_iter().chain(unread).chain(open).filter(|&place| place > self.expected).min()
    }

    /// What came to runs after they were lent.
    fn tell_rests(&mut self, stream: &Stream, listener: &mut impl Listener) {
        for (reading, lane) in self.lanes.iter().zip(stream.lanes()) {
            let Some(open) = lane.open_run().filter(|_| reading.lent > 0) else { continue };
            let rest = u64::from(open.run.weight).saturating_sub(reading.lent);
            if let Ok(weight @ 1..) = u32::try_from(rest) {
                listener.run(reading.thread, Run { weight, ..open.run });
            }
        }
    }
}
