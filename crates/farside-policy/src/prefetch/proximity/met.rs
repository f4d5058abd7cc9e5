//! Which slots were met of late.

use crate::replacement::Slot;

/// A slot that was met, and in which round.
#[derive(Copy, Clone, Debug, Default)]
struct Meeting {
    slot: u32,
    /// Zero if there was none.
    round: u32,
    is_over: bool,
}

/// The slots that were met in this round: a table with open addressing, at most half full, of a fixed size.
#[derive(Clone, Debug)]
pub(super) struct Met {
    meetings: Vec<Meeting>,
    round: u32,
}

impl Met {
    /// Room for so many slots in a round.
    pub fn new(most: usize) -> Self {
        let size = (2 * most).next_power_of_two().max(2);
        Self { meetings: vec![Meeting::default(); size], round: 1 }
    }

    /// Begins a round in which none has been met.
    pub fn next_round(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.meetings.fill(Meeting::default());
            self.round = 1;
        }
    }

    /// Notes that a slot is met; whether it is for the first time in this round.
    pub fn meet(&mut self, slot: Slot) -> bool {
        let place = self.place(slot);
        let is_new = self.meetings[place].round != self.round;
        self.meetings[place] = Meeting { slot: slot.0, round: self.round, is_over: false };
        is_new
    }

    /// Whether a slot was met in this round, and not taken out.
    pub fn has(&self, slot: Slot) -> bool {
        let meeting = self.meetings[self.place(slot)];
        meeting.round == self.round && !meeting.is_over
    }

    /// Takes a slot out; whether it was met.
    pub fn take(&mut self, slot: Slot) -> bool {
        let had = self.has(slot);
        if had {
            let place = self.place(slot);
            self.meetings[place].is_over = true;
        }
        had
    }

    /// Where a slot is, or may be put.
    fn place(&self, slot: Slot) -> usize {
        let mask = self.meetings.len() - 1;
        let mut place = slot.0.wrapping_mul(0x9E37_79B9) as usize >> 8 & mask;
        while self.meetings[place].round == self.round && self.meetings[place].slot != slot.0 {
            place = (place + 1) & mask;
        }
        place
    }
}
