//! What a section's lock protects.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::copies::Lent;
use crate::select::Selection;
use crate::shape::Geometry;
use crate::space::Space;
use crate::transfer::{Reading, Writing};
use crate::transit::Transit;

/// Of so many lines that leave because the program is done with them, one is of those that it was done with long ago.
const OLD_TURN: u32 = 16;

/// Most lines that are on their way and that nobody waits for.
pub(crate) const MOST_FLIGHTS: usize = 1024;

/// What only one thread at a time looks at. Nobody waits, or calls the far store, with the lock in hand.
pub(crate) struct Inner {
    pub space: Space,
    /// Lines that are neither here nor far.
    pub transit: Transit,
    /// Lines that were asked for ahead, as they were, and others that have come since.
    pub asked: VecDeque<u32>,
    /// For each set, the way that is looked at next when one has to go.
    pub hands: Vec<u16>,
    /// The same for lines that may be anywhere: a slot.
    pub hand: u32,
    /// Slots from this one on were never used; only if lines may be anywhere, as the next two.
    pub fresh: u32,
    /// Slots that are empty again.
    pub vacant: Vec<u32>,
    /// Slots whose lines the program will not use soon, in the order in which it said so; only if lines may be anywhere.
    pub soon: VecDeque<u32>,
    /// How often one of those that the program is done with was looked for.
    pub done: u32,
    /// Lines in slots beside those of the structure.
    pub extra: FxHashMap<u32, u32>,
    /// How many of these slots there is local memory for, and its pages.
    pub extra_slots: u32,
    pub extra_pages: u64,
    /// Whether somebody was refused memory for more of them just now.
    pub refused: bool,
    /// Pages that somebody reads or writes on behalf of a line that is shorter.
    pub turns: FxHashSet<u64>,
    pub selection: Option<Selection>,
    pub lent: Lent,
    /// Whether the section has the memory of its structure; always, unless it shares it with others.
    pub holds: bool,
}

/// What was in a slot before it was taken.
#[derive(Debug)]
pub(crate) struct Old {
    pub line: u32,
    pub state: u16,
    /// By bits, what of it was written.
    pub blocks: u64,
    /// What has to be stored, if it was written.
    pub writing: Option<Writing>,
}

/// Pages that are read or written on behalf of shorter lines.
pub(crate) type Turns = SmallVec<[u64; 2]>;

/// A line that is fetched into a slot which was taken.
pub(crate) struct Job {
    pub line: u32,
    pub slot: u32,
    pub reading: Reading,
    pub old: Option<Old>,
    pub turns: Turns,
}

/// A line that was asked for, and whose slot was taken.
pub(crate) struct Landing {
    pub line: u32,
    pub slot: u32,
    pub reading: Reading,
    pub turns: Turns,
}

impl Inner {
    pub fn new(geometry: &Geometry, holds: bool) -> Self {
        let hands = if geometry.full || geometry.ways == 1 { 0 } else { geometry.sets as usize };
        Self {
            space: Space::new(geometry.shift),
            transit: Transit::default(),
            asked: VecDeque::new(),
            hands: vec![0; hands],
            hand: 0,
            fresh: 0,
            vacant: Vec::new(),
            soon: VecDeque::new(),
            done: 0,
            extra: FxHashMap::default(),
            extra_slots: 0,
            extra_pages: 0,
            refused: false,
            turns: FxHashSet::default(),
            selection: None,
            lent: Lent::default(),
            holds,
        }
    }

    /// Whether, of the lines that the program is done with, one is to leave that it was done with long ago. It is mostly the
    /// last one that does: of what is gone through again and again, and is too long for the section, a part is still here
    /// then.
    pub fn is_old_turn(&mut self) -> bool {
        self.done = self.done.wrapping_add(1);
        self.done.is_multiple_of(OLD_TURN)
    }

    /// The next slot whose line may be one that the program is done with; only if lines may be anywhere.
    pub fn next_done(&mut self) -> Option<u32> {
        if self.soon.is_empty() {
            None
        } else if self.is_old_turn() {
            self.soon.pop_front()
        } else {
            self.soon.pop_back()
        }
    }

    /// All of the structure is empty, as it was at first.
    pub fn start_anew(&mut self) {
        (self.hand, self.fresh) = (0, 0);
        self.vacant.clear();
        self.soon.clear();
    }

    /// Takes a turn at pages, all or none.
    pub fn take_turns(&mut self, pages: &Turns) -> bool {
        if pages.iter().any(|page| self.turns.contains(page)) {
            return false;
        }
        self.turns.extend(pages.iter().copied());
        true
    }

    /// Ends a turn.
    pub fn end_turns(&mut self, pages: &Turns) {
        for page in pages {
            self.turns.remove(page);
        }
    }
}
