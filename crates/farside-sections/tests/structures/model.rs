//! What each structure does, said in another way.

/// A line in a slot of the model.
#[derive(Clone, Debug)]
pub struct Held {
    pub line: u32,
    pub used: bool,
    pub ahead: bool,
    pub dirty: bool,
    pub soon: bool,
    pub pins: u32,
    pub flies: bool,
}

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub misses: u64,
    pub ahead: u64,
    pub ahead_used: u64,
    pub ahead_unused: u64,
    pub evicted: u64,
    pub clean: u64,
    pub written: u64,
}

impl Counted {
    pub fn add(&mut self, other: &Self) {
        self.misses += other.misses;
        self.ahead += other.ahead;
        self.ahead_used += other.ahead_used;
        self.ahead_unused += other.ahead_unused;
        self.evicted += other.evicted;
        self.clean += other.clean;
        self.written += other.written;
    }
}

/// Sets of slots; with `full` there is one, in which two hands go round.
pub struct Model {
    ways: usize,
    full: bool,
    sets: Vec<Vec<Option<Held>>>,
    hands: Vec<usize>,
    /// Slots that were emptied, and were said to be done with, in this order; only if `full`.
    vacant: Vec<usize>,
    soon: Vec<usize>,
    /// How often one of those that are done with was looked for: each sixteenth time it is an old one.
    done: usize,
    /// Lines that were asked for ahead; whether they are put in place when others are asked for.
    asked: Vec<u32>,
    lands: bool,
    pub counted: Counted,
}

impl Model {
    pub fn new(sets: usize, ways: usize, full: bool, lands: bool) -> Self {
        let vacant = if full { (0..ways).rev().collect() } else { Vec::new() };
        Self {
            ways,
            full,
            sets: vec![vec![None; ways]; sets],
            hands: vec![0; sets],
            vacant,
            soon: Vec::new(),
            done: 0,
            asked: Vec::new(),
            lands,
            counted: Counted::default(),
        }
    }

    pub fn ways(&self) -> usize {
        self.ways
    }

    fn set(&self, line: u32) -> usize {
        line as usize % self.sets.len()
    }

    fn find(&mut self, line: u32) -> Option<&mut Held> {
        let set = self.set(line);
        self.sets[set].iter_mut().flatten().find(|held| held.line == line)
    }

    pub fn pinned_in_set_of(&self, line: u32) -> usize {
        self.sets[self.set(line)].iter().flatten().filter(|held| held.pins > 0).count()
    }

    pub fn is_pinned(&mut self, line: u32) -> bool {
        self.find(line).is_some_and(|held| held.pins > 0)
    }

    /// The line is used.
    pub fn touch(&mut self, line: u32, write: bool, pin: bool) {
        if self.find(line).is_none() {
            self.counted.misses += 1;
            self.place(line, true);
        }
        let mut ahead_used = 0;
        if let Some(held) = self.find(line) {
            if !held.used {
                ahead_used = u64::from(held.ahead);
                (held.used, held.ahead, held.soon) = (true, false, false);
            }
            held.flies = false;
            held.dirty |= write;
            held.pins += u32::from(pin);
        }
        self.counted.ahead_used += ahead_used;
    }

    pub fn fetch(&mut self, line: u32) {
        let mut landed = 0;
        while self.lands && landed < 2 && !self.asked.is_empty() {
            let first = self.asked.remove(0);
            if let Some(held) = self.find(first).filter(|held| held.flies) {
                held.flies = false;
                landed += 1;
            }
        }
        if self.find(line).is_none() && self.place(line, false) {
            self.counted.ahead += 1;
            self.asked.push(line);
        }
    }

    pub fn unpin(&mut self, line: u32) {
        if let Some(held) = self.find(line) {
            held.pins -= 1;
        }
    }

    pub fn flush(&mut self, line: u32) {
        let mut written = 0;
        if let Some(held) = self.find(line)
            && held.dirty
            && held.pins == 0
        {
            held.dirty = false;
            written = 1;
        }
        self.counted.written += written;
    }

    pub fn let_leave(&mut self, line: u32) {
        let set = self.set(line);
        let slot = self.sets[set]
            .iter()
            .position(|held| held.as_ref().is_some_and(|held| held.line == line && !held.flies));
        if let Some(slot) = slot
            && let Some(held) = &mut self.sets[set][slot]
        {
            if !held.soon {
                self.soon.push(slot);
            }
            (held.soon, held.used) = (true, false);
        }
    }

    /// All that was asked for has come.
    pub fn land(&mut self) {
        self.sets.iter_mut().flatten().flatten().for_each(|held| held.flies = false);
    }

    /// All lines leave; they are stored before, if they were written.
    pub fn leave(&mut self) {
        for held in self.sets.iter_mut().flatten().filter_map(Option::take) {
            self.counted.evicted += 1;
            self.counted.clean += 1;
            self.counted.written += u64::from(held.dirty);
            self.counted.ahead_unused += u64::from(held.ahead);
        }
        self.soon.clear();
        if self.full {
            (self.vacant, self.hands) = ((0..self.ways).rev().collect(), vec![0]);
        }
    }

    /// Puts a line where another one leaves; false if none may, for a line that is only wanted ahead.
    fn place(&mut self, line: u32, used: bool) -> bool {
        let set = self.set(line);
        loop {
            if let Some(slot) = self.choose(set, !used) {
                if let Some(old) = self.sets[set][slot].take() {
                    self.counted.evicted += 1;
                    self.counted.clean += u64::from(!old.dirty);
                    self.counted.written += u64::from(old.dirty);
                    self.counted.ahead_unused += u64::from(old.ahead);
                }
                let (ahead, flies) = (!used, !used);
                let held = Held { line, used, ahead, dirty: false, soon: false, pins: 0, flies };
                self.sets[set][slot] = Some(held);
                return true;
            }
            if !used {
                return false;
            }
            // What was only wanted ahead has to come first.
            let flying = self.sets[set].iter_mut().flatten().filter(|held| held.flies);
            let first = flying.min_by_key(|held| held.line).expect("something may leave");
            first.flies = false;
        }
    }

    /// Of lines that are wanted `ahead`, none takes the place of another one.
    fn choose(&mut self, set: usize, ahead: bool) -> Option<usize> {
        if self.full {
            return self.choose_anywhere();
        }
        let slots = &mut self.sets[set];
        if let Some(slot) = slots.iter().position(Option::is_none) {
            return Some(slot);
        }
        let free = |held: &Option<Held>| {
            held.as_ref().is_some_and(|h| h.pins == 0 && !h.flies && !(ahead && h.ahead && !h.soon))
        };
        if self.ways == 1 {
            return free(&slots[0]).then_some(0);
        }
        let soon = |held: &Option<Held>| held.as_ref().is_some_and(|held| held.soon);
        if slots.iter().any(soon) {
            self.done += 1;
            let old = self.done.is_multiple_of(16);
            let from = if old { self.hands[set] } else { 0 };
            let mut order = (from..self.ways).chain(0..from);
            if let Some(slot) = order.find(|slot| free(&slots[*slot]) && soon(&slots[*slot])) {
                if old {
                    self.hands[set] = (slot + 1) % self.ways;
                }
                return Some(slot);
            }
        }
        for step in 0..2 * self.ways {
            let slot = (self.hands[set] + step) % self.ways;
            if !free(&slots[slot]) {
                continue;
            }
            let held = slots[slot].as_mut()?;
            if !held.used {
                self.hands[set] = (slot + 1) % self.ways;
                return Some(slot);
            }
            held.used = false;
        }
        None
    }

    fn choose_anywhere(&mut self) -> Option<usize> {
        if let Some(slot) = self.vacant.pop() {
            return Some(slot);
        }
        let slots = &mut self.sets[0];
        let free = |held: &Option<Held>| held.as_ref().is_some_and(|h| h.pins == 0 && !h.flies);
        while !self.soon.is_empty() {
            self.done += 1;
            let at = if self.done.is_multiple_of(16) { 0 } else { self.soon.len() - 1 };
            let slot = self.soon.remove(at);
            if free(&slots[slot]) && slots[slot].as_ref().is_some_and(|held| held.soon) {
                return Some(slot);
            }
        }
        let gap = self.ways.div_ceil(4);
        for _ in 0..2 * self.ways + gap {
            let (slot, front) = (self.hands[0], (self.hands[0] + gap) % self.ways);
            self.hands[0] = (slot + 1) % self.ways;
            if free(&slots[front]) {
                slots[front].as_mut()?.used = false;
            }
            if free(&slots[slot]) && !slots[slot].as_ref()?.used {
                return Some(slot);
            }
        }
        None
    }
}
