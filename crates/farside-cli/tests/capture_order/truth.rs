//! What the virtual threads did, by place, and whether it is told as it was.

use std::collections::VecDeque;

use farside_cli::capture::order::Listener;
use farside_cli::capture::stream::Run;

/// Accesses of a thread to a page.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub page: u64,
    pub weight: u64,
    pub wrote: bool,
}

impl From<Run> for Made {
    fn from(run: Run) -> Self {
        Self { page: run.page, weight: run.weight.into(), wrote: run.wrote }
    }
}

/// What has a place in the order.
#[derive(Clone, Debug)]
enum Item {
    /// A place that was taken; nobody could know what for.
    Taken,
    /// A run that is going on.
    Open(usize),
    /// A run in the ring, or what of it is left to tell.
    Run(usize, Made),
    Stretch {
        thread: usize,
        runs: VecDeque<Made>,
        ended: bool,
    },
    Message(u64, Vec<u64>),
    /// Nothing to tell.
    Silent,
}

/// A thread of the program.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// Its open run.
    run: Option<Made>,
    /// What of the open run was told before its end.
    lent: u64,
    /// What has to be told of a lent run before anything else of the thread.
    rest: Option<Made>,
}

/// Everything that happened.
#[derive(Debug, Default)]
pub struct Truth {
    items: Vec<Item>,
    /// The first item that was not told, or not all of it.
    front: usize,
    threads: Vec<Thread>,
    /// Whether runs that go on may be told of.
    pub lending: bool,
    pub made: u64,
    pub told: u64,
    pub messages: u64,
    /// Runs told of before they ended, and those whose end was told later.
    pub lent: u64,
    pub rests: u64,
    pub stretches: u64,
}

impl Truth {
    pub fn new_thread(&mut self) -> usize {
        self.threads.push(Thread::default());
        self.threads.len() - 1
    }

    /// A place was taken, the next one.
    pub fn taken(&mut self, place: u64) {
        self.items.push(Item::Taken);
        assert_eq!(place, self.items.len() as u64, "places are given one by one");
    }

    fn at(&mut self, place: u64) -> &mut Item {
        &mut self.items[place as usize - 1]
    }

    /// A run began, which is not known yet.
    pub fn began(&mut self, thread: usize, page: u64, wrote: bool) {
        self.made += 1;
        self.threads[thread].run = Some(Made { page, weight: 1, wrote });
    }

    /// More accesses to the page of the open run.
    pub fn went_on(&mut self, thread: usize, accesses: u64, wrote: bool) {
        self.made += accesses;
        let run = self.threads[thread].run.as_mut().expect("an open run");
        run.weight += accesses;
        run.wrote |= wrote;
    }

    /// The open run can be seen from now on.
    pub fn shown(&mut self, thread: usize, place: u64) {
        *self.at(place) = Item::Open(thread);
    }

    /// The open run cannot be seen any more, and is not in the ring.
    pub fn hidden(&mut self, thread: usize, place: u64) {
        if matches!(self.at(place), Item::Open(_)) {
            *self.at(place) = Item::Taken;
        }
        self.threads[thread].run = None;
    }

    /// A piece of a run is in the ring. The first one has the run's place.
    pub fn piece(&mut self, thread: usize, place: u64, piece: Made) {
        let state = &mut self.threads[thread];
        let told = state.lent.min(piece.weight);
        state.lent -= told;
        let left = Made { weight: piece.weight - told, ..piece };
        let is_past = place as usize <= self.front;
        assert!(!is_past || told > 0, "the place of a piece that is unknown was told");
        if is_past {
            self.threads[thread].rest = Some(left).filter(|left| left.weight > 0);
        } else {
            let silent = left.weight == 0;
            *self.at(place) = if silent { Item::Silent } else { Item::Run(thread, left) };
        }
    }

    pub fn stretch_began(&mut self, thread: usize, place: u64) {
        self.stretches += 1;
        *self.at(place) = Item::Stretch { thread, runs: VecDeque::new(), ended: false };
    }

    /// A run of a stretch is in the ring.
    pub fn stretch_run(&mut self, place: u64, made: Made) {
        let Item::Stretch { runs, .. } = self.at(place) else { panic!("no stretch at {place}") };
        runs.push_back(made);
    }

    pub fn stretch_ended(&mut self, place: u64) {
        let Item::Stretch { ended, .. } = self.at(place) else { panic!("no stretch at {place}") };
        *ended = true;
    }

    pub fn message(&mut self, place: u64, kind: u64, words: &[u64]) {
        // Which thread has a lane is told by the thread of each run.
        let is_told = kind > 1;
        *self.at(place) = if is_told { Item::Message(kind, words.to_vec()) } else { Item::Silent };
    }

    /// All threads are gone at once. `left` is what the memory has of a thread's open run.
    pub fn killed(&mut self, left: impl Fn(usize) -> Option<Made>) {
        for item in &mut self.items[self.front..] {
            match item {
                Item::Taken => *item = Item::Silent,
                Item::Stretch { thread, runs, ended } if !*ended => {
                    runs.extend(left(*thread));
                    *ended = true;
                }
                _ => {}
            }
        }
        for thread in &mut self.threads {
            let Some(run) = thread.run.filter(|run| thread.lent > 0 && run.weight > thread.lent)
            else {
                continue;
            };
            assert_eq!(thread.rest, None);
            thread.rest = Some(Made { weight: run.weight - thread.lent, ..run });
        }
    }

    /// Goes past what has nothing to tell.
    fn settle(&mut self) {
        while let Some(item) = self.items.get(self.front) {
            match item {
                Item::Silent => {}
                Item::Stretch { runs, ended: true, .. } if runs.is_empty() => {}
                _ => return,
            }
            self.front += 1;
        }
    }

    /// Checks that what is in the rings was told.
    pub fn assert_up_to_date(&mut self) {
        self.settle();
        let late = match self.items.get(self.front) {
            Some(Item::Run(..) | Item::Message(..)) => true,
            Some(Item::Stretch { runs, .. }) => !runs.is_empty(),
            _ => false,
        };
        assert!(!late, "not told: {:?} at place {}", self.items[self.front], self.front + 1);
        let rest = self.threads.iter().find(|thread| thread.rest.is_some());
        assert!(rest.is_none(), "not told: the rest of {rest:?}");
    }

    /// Checks that all was told.
    pub fn assert_complete(&mut self) {
        self.assert_up_to_date();
        assert_eq!(self.front, self.items.len(), "not told: {:?}", self.items.get(self.front));
    }

    fn front_run(&mut self, thread: usize, told: Made) {
        let place = self.front + 1;
        let item = self.items.get_mut(self.front);
        match item.unwrap_or_else(|| panic!("{told:?} of thread {thread} never was")) {
            Item::Run(of, made) => {
                assert_eq!((thread, told), (*of, *made), "place {place}");
                self.front += 1;
            }
            Item::Stretch { thread: of, runs, .. } => {
                let made = runs.pop_front();
                assert_eq!((thread, Some(told)), (*of, made), "in the stretch at place {place}");
            }
            Item::Open(of) if self.lending => {
                let run = self.threads[*of].run.expect("an open run");
                assert_eq!((thread, told), (*of, run), "lent from place {place}");
                self.threads[thread].lent = told.weight;
                self.lent += 1;
                self.front += 1;
            }
            item => panic!("{told:?} of thread {thread} in place of {item:?} at place {place}"),
        }
    }
}

impl Listener for Truth {
    fn run(&mut self, thread: u32, run: Run) {
        let (thread, told) = (thread as usize, Made::from(run));
        self.told += told.weight;
        self.settle();
        if let Some(rest) = self.threads[thread].rest.take() {
            assert_eq!(told, rest, "the rest of a run that was lent by thread {thread}");
            self.rests += 1;
        } else {
            self.front_run(thread, told);
        }
    }

    fn message(&mut self, kind: u64, words: &[u64]) {
        self.settle();
        match self.items.get(self.front) {
            Some(Item::Message(of, made)) => {
                assert_eq!((kind, words), (*of, &made[..]), "place {}", self.front + 1);
            }
            item => panic!("message {kind} in place of {item:?} at place {}", self.front + 1),
        }
        self.front += 1;
        self.messages += 1;
    }
}
