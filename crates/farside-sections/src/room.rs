//! Which line leaves when another one comes.

use farside_pager::counters::Counters;

use crate::inner::{Inner, Old};
use crate::lines::{AHEAD, BUSY, DIRTY, EMPTY, EXTRA, NONE, PINS, READY, SOON, STATE};
use crate::section::Section;
use crate::transfer;

/// Where a line can go.
pub(crate) enum Room {
    /// Into this slot, which is busy on our behalf now; and what was there.
    Slot(u32, Option<Old>),
    /// The one place is that of a line which nobody waits for: it has to land first.
    Land(u32),
    /// Somebody deals with what is in all places.
    Wait,
    /// Into a slot beside the structure, for which there is no memory yet.
    Borrow,
    /// Into the structure, when the section has taken its memory over.
    TakeOver,
    /// Nowhere: all is pinned.
    None,
}

impl Section {
    /// The slot of a line that is here, as long as nobody moves it, if it is where programs look.
    pub(crate) fn slot_in_structure(&self, line: u32) -> Option<u32> {
        match &self.index {
            Some(index) => {
                index.find(&self.lines, line).filter(|slot| self.lines.holds(*slot, line))
            }
            None => {
                let first = self.geometry.first_slot(line);
                (first..first + self.geometry.ways).find(|slot| self.lines.holds(*slot, line))
            }
        }
    }

    /// The slot of a line that is here.
    pub(crate) fn find(&self, inner: &Inner, line: u32) -> Option<u32> {
        let extra = || inner.extra.get(&line).copied().filter(|slot| self.lines.holds(*slot, line));
        self.slot_in_structure(line).or_else(extra)
    }

    /// Makes room for a line that is not here; beside the structure only if somebody waits for it. `beside`: if others hold
    /// the structure's memory, they cannot give it up.
    pub(crate) fn room(&self, inner: &mut Inner, line: u32, ahead: bool, beside: bool) -> Room {
        if !inner.holds {
            return match (beside, ahead) {
                (false, _) => Room::TakeOver,
                (true, true) => Room::None,
                (true, false) => self.room_beside(inner),
            };
        }
        let chosen = if self.index.is_some() {
            self.choose_anywhere(inner)
        } else {
            self.choose_in_set(inner, line, ahead)
        };
        match chosen {
            Some((slot, None)) => Room::Slot(slot, None),
            Some((slot, Some(state))) => Room::Slot(slot, Some(self.vacate(inner, slot, state))),
            None if ahead => Room::None,
            None => self.no_room(inner, line),
        }
    }

    /// Takes an empty slot.
    fn take_empty(&self, slot: u32) -> bool {
        let empty = self.lines.state(slot) & STATE == EMPTY;
        if empty {
            self.lines.set_state(slot, BUSY);
        }
        empty
    }

    /// Whether a slot holds a line that may leave.
    fn may_leave(&self, slot: u32) -> bool {
        self.lines.state(slot) & (STATE | PINS) == READY
    }

    /// Of a set: an empty slot; a line that the program is done with; the first, from the hand on, that was not used since
    /// the hand passed it. What is only wanted `ahead` takes no place of what was, and is still to be used: one of them
    /// would be waited for all the same. So it is for who waits to end what was sent for and never is used.
    fn choose_in_set(
        &self,
        inner: &mut Inner,
        line: u32,
        ahead: bool,
    ) -> Option<(u32, Option<u16>)> {
        let (first, ways) = (self.geometry.first_slot(line), self.geometry.ways);
        let mut slots = first..first + ways;
        if let Some(slot) = slots.clone().find(|slot| self.take_empty(*slot)) {
            return Some((slot, None));
        }
        let may_leave = |slot| self.may_leave(slot) && !(ahead && self.is_to_be_used(slot));
        if ways == 1 {
            let state = may_leave(first).then(|| self.lines.claim(first))??;
            return Some((first, Some(state)));
        }
        let set = (first / ways) as usize;
        if slots.any(|slot| self.is_done_with(slot))
            && let Some(found) = self.choose_done(inner, first, set)
        {
            return Some(found);
        }
        for step in 0..2 * ways {
            let way = (u32::from(inner.hands[set]) + step) % ways;
            let slot = first + way;
            if !may_leave(slot) {
                continue;
            }
            if !self.lines.is_unproven(slot) {
                self.lines.doubt(slot);
            } else if let Some(state) = self.lines.claim(slot) {
                inner.hands[set] = ((way + 1) % ways) as u16;
                return Some((slot, Some(state)));
            }
        }
        None
    }

    /// Whether a line was sent for and not used yet, and the program did not say that it is done with it.
    fn is_to_be_used(&self, slot: u32) -> bool {
        self.lines.state(slot) & (AHEAD | SOON) == AHEAD
    }

    /// Whether the program is done with the line in a slot.
    fn is_done_with(&self, slot: u32) -> bool {
        self.lines.state(slot) & (STATE | SOON) == READY | SOON
    }

    /// Of a set, a line that the program is done with. The first one is where the last line came that it was done with.
    fn choose_done(&self, inner: &mut Inner, first: u32, set: usize) -> Option<(u32, Option<u16>)> {
        let ways = self.geometry.ways;
        let is_old_turn = inner.is_old_turn();
        let from = if is_old_turn { u32::from(inner.hands[set]) } else { 0 };
        (0..ways).map(|step| (from + step) % ways).find_map(|way| {
            let slot = first + way;
            let state = self.is_done_with(slot).then(|| self.lines.claim(slot))??;
            if is_old_turn {
                inner.hands[set] = ((way + 1) % ways) as u16;
            }
            Some((slot, Some(state)))
        })
    }

    /// Of all slots: as in a set, but two hands go round. What the first one passes is *inactive* until it is used; what
    /// still is when the second one comes leaves.
    fn choose_anywhere(&self, inner: &mut Inner) -> Option<(u32, Option<u16>)> {
        let slots = self.geometry.slots();
        if let Some(slot) = inner.vacant.pop() {
            self.lines.set_state(slot, BUSY);
            return Some((slot, None));
        }
        if inner.fresh < slots {
            inner.fresh += 1;
            self.lines.set_state(inner.fresh - 1, BUSY);
            return Some((inner.fresh - 1, None));
        }
        while let Some(slot) = inner.next_done() {
            if self.is_done_with(slot)
                && let Some(state) = self.lines.claim(slot)
            {
                return Some((slot, Some(state)));
            }
        }
        let gap = slots.div_ceil(4);
        for _ in 0..2 * slots + gap {
            let (slot, front) = (inner.hand, (inner.hand + gap) % slots);
            inner.hand = (slot + 1) % slots;
            if self.may_leave(front) {
                self.lines.doubt(front);
            }
            if self.may_leave(slot)
                && self.lines.is_unproven(slot)
                && let Some(state) = self.lines.claim(slot)
            {
                return Some((slot, Some(state)));
            }
        }
        None
    }

    /// Nothing may leave from where a line could be.
    fn no_room(&self, inner: &mut Inner, line: u32) -> Room {
        let first = self.geometry.first_slot(line);
        let own = first..first + self.geometry.ways;
        let flights = inner.transit.flights().filter(|(_, slot)| own.contains(slot));
        if let Some((line, _)) = flights.min() {
            return Room::Land(line);
        }
        if own.clone().any(|slot| self.lines.state(slot) & STATE == BUSY) {
            return Room::Wait;
        }
        // Somebody may have unpinned a line meanwhile.
        if own.clone().any(|slot| self.may_leave(slot)) {
            return Room::Wait;
        }
        self.room_beside(inner)
    }

    fn room_beside(&self, inner: &mut Inner) -> Room {
        let first = self.geometry.slots();
        let slots = first..first + inner.extra_slots;
        if let Some(slot) = slots.clone().find(|slot| self.take_empty(*slot)) {
            return Room::Slot(slot, None);
        }
        if inner.extra_slots < EXTRA && !std::mem::take(&mut inner.refused) {
            return Room::Borrow;
        }
        let left = slots.clone().find_map(|slot| Some((slot, self.lines.claim(slot)?)));
        match left {
            Some((slot, state)) => Room::Slot(slot, Some(self.vacate(inner, slot, state))),
            None if slots.clone().any(|slot| self.lines.state(slot) & STATE == BUSY) => Room::Wait,
            None => Room::None,
        }
    }

    /// Whether a line that is beside the structure could be in it, whose memory the section has.
    pub(crate) fn has_room(&self, line: u32) -> bool {
        let first = self.geometry.first_slot(line);
        // Of all slots a few are looked at.
        let slots = first..first + self.geometry.ways.min(64);
        let is_empty = |slot| self.lines.state(slot) & STATE == EMPTY;
        slots.into_iter().any(|slot| is_empty(slot) || self.may_leave(slot))
    }

    /// Takes the line out of a slot that was claimed in this state.
    pub(crate) fn vacate(&self, inner: &mut Inner, slot: u32, state: u16) -> Old {
        let line = self.lines.line(slot);
        match &self.index {
            Some(index) if slot < self.geometry.slots() => index.remove(&self.lines, line, slot),
            _ if slot >= self.geometry.slots() => _ = inner.extra.remove(&line),
            _ => {}
        }
        self.lines.set_tag(slot, NONE);
        let blocks = self.lines.take_written(slot, state);
        let writing = (state & DIRTY != 0).then(|| {
            let (store, selection) = (self.host.store(), inner.selection.as_ref());
            transfer::writing(store, &inner.space, &self.geometry, selection, (line, blocks))
        });
        if writing.is_some() {
            inner.transit.deal_with(line);
        }
        Old { line, state, blocks, writing }
    }

    /// Puts a line back that was [taken out](Self::vacate) and could not be stored. One that need not be stored is gone:
    /// somebody may have fetched it again meanwhile.
    pub(crate) fn put_back(&self, inner: &mut Inner, slot: u32, old: Old) {
        if old.writing.is_none() {
            self.count_evicted(&old);
            return self.leave_empty(inner, slot);
        }
        self.lines.put_written(slot, old.blocks);
        inner.transit.end(old.line);
        let state = old.state & (DIRTY | SOON | AHEAD);
        self.publish(inner, old.line, slot, state, false);
    }

    /// Counts a line that left.
    pub(crate) fn count_evicted(&self, old: &Old) {
        let counters = self.counters();
        Counters::add(&counters.section_evicted, 1);
        if old.state & DIRTY == 0 {
            Counters::add(&counters.section_evicted_clean, 1);
        }
        if old.state & AHEAD != 0 {
            Counters::add(&counters.section_ahead_unused, 1);
        }
    }

    /// A slot that is busy on our behalf is empty.
    pub(crate) fn leave_empty(&self, inner: &mut Inner, slot: u32) {
        self.lines.set_state(slot, EMPTY);
        if self.index.is_some() && slot < self.geometry.slots() {
            inner.vacant.push(slot);
        }
    }

    /// What is in a slot that is busy on our behalf is a line that can be used.
    pub(crate) fn publish(
        &self,
        inner: &mut Inner,
        line: u32,
        slot: u32,
        state: u16,
        proven: bool,
    ) {
        self.lines.set_tag(slot, if proven { line } else { line | crate::lines::UNPROVEN });
        self.lines.set_state(slot, READY | state);
        match &self.index {
            Some(index) if slot < self.geometry.slots() => index.insert(line, slot),
            _ if slot >= self.geometry.slots() => _ = inner.extra.insert(line, slot),
            _ => {}
        }
    }
}
