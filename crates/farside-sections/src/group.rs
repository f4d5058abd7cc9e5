//! Sections that share local memory, since the program does not use them at the same time (Mira, section 3.4).
//!
//! Each section of a group has its own slots, at addresses of their own, but at any time one of them only has the memory
//! behind them. That one *holds* it, and pays nothing for it. Who needs a slot and does not hold it takes it over: the
//! lines of the holder leave, and its pages go back to the kernel before the new one uses as many.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use farside_os::memory::PAGE;
use farside_pager::counters::Counters;

use crate::host::Host;
use crate::section::{Section, SectionError};
use crate::shape::Geometry;

/// Sections that share local memory.
pub(crate) struct Group {
    /// Whether it is somebody's turn.
    taken: AtomicU32,
    /// Only who has the turn looks at it.
    state: Mutex<State>,
}

struct State {
    members: Vec<Member>,
    holder: Option<Weak<Section>>,
}

struct Member {
    section: Weak<Section>,
    need: Need,
}

/// Pages that a section of a group needs.
#[derive(Copy, Clone)]
pub(crate) struct Need {
    /// Those that only the holder has.
    shared: u64,
    /// The last page of the structure, where lines beside it may begin.
    own: u64,
}

/// The right to change who holds the memory, and who is in the group. Whoever has it waits for nobody who waits for it.
pub(crate) struct Turn<'a> {
    group: &'a Group,
    host: &'a dyn Host,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.group.taken.store(0, Release);
        self.host.wake(&self.group.taken);
    }
}

impl Need {
    pub fn of(geometry: &Geometry) -> Self {
        let bytes = u64::from(geometry.slots()) << geometry.shift;
        Self { shared: bytes / PAGE as u64, own: u64::from(!bytes.is_multiple_of(PAGE as u64)) }
    }

    /// Pages of all that share memory.
    fn together(needs: impl Iterator<Item = Self> + Clone) -> u64 {
        needs.clone().map(|need| need.shared).max().unwrap_or(0)
            + needs.map(|need| need.own).sum::<u64>()
    }
}

impl Group {
    /// The group of a section, which holds the memory if it was alone until now.
    pub fn of(section: &Arc<Section>) -> Arc<Self> {
        let alone = || {
            let (need, section) = (Need::of(&section.geometry), Arc::downgrade(section));
            let holder = Some(Weak::clone(&section));
            let state = Mutex::new(State { members: vec![Member { section, need }], holder });
            Arc::new(Self { taken: AtomicU32::new(0), state })
        };
        Arc::clone(section.group.get_or_init(alone))
    }

    /// Waits for the turn.
    pub fn turn<'a>(&'a self, host: &'a dyn Host) -> Turn<'a> {
        while self.taken.compare_exchange(0, 1, AcqRel, Acquire).is_err() {
            host.wait(&self.taken, 1);
        }
        Turn { group: self, host }
    }
}

impl Turn<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.group.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages of local memory that the group needs more with one more section.
    pub fn more_with(&self, need: Need) -> u64 {
        let state = self.state();
        let needs = state.members.iter().map(|member| member.need);
        Need::together(needs.clone().chain([need])) - Need::together(needs)
    }

    /// One more section shares the memory.
    pub fn enter(&self, section: &Arc<Section>) {
        let need = Need::of(&section.geometry);
        self.state().members.push(Member { section: Arc::downgrade(section), need });
    }

    /// A section shares the memory no more; returns how many pages are needed no more.
    pub fn leave(&self, section: &Arc<Section>) -> u64 {
        let state = &mut *self.state();
        let together =
            |state: &State| Need::together(state.members.iter().map(|member| member.need));
        let before = together(state);
        let is_other = |other: &Weak<Section>| other.as_ptr() != Arc::as_ptr(section);
        state.members.retain(|member| is_other(&member.section));
        state.holder = state.holder.take().filter(is_other);
        before - together(state)
    }

    /// The section that holds the memory, unless it was closed.
    fn holder(&self) -> Option<Arc<Section>> {
        self.state().holder.as_ref().and_then(Weak::upgrade)
    }

    /// A section of the group holds the memory from now on.
    fn give_to(&self, section: &Section) {
        let state = &mut *self.state();
        let is_it = |member: &&Member| std::ptr::eq(member.section.as_ptr(), section);
        state.holder = state.members.iter().find(is_it).map(|member| Weak::clone(&member.section));
    }
}

impl Section {
    /// Waits until nobody changes who holds the memory of the section's group.
    pub(crate) fn group_turn(&self) -> Option<Turn<'_>> {
        self.group.get().map(|group| group.turn(&*self.host))
    }

    /// Takes the group's memory over; `None` if its holder has lines pinned. It is not taken away as long as the turn lasts.
    ///
    /// # Errors
    /// If what the holder has cannot be stored: then all is as before.
    pub(crate) fn take_over(&self) -> Result<Option<Turn<'_>>, SectionError> {
        let Some(turn) = self.group_turn() else { return Ok(None) };
        if self.lock().holds {
            return Ok(Some(turn));
        }
        if let Some(holder) = turn.holder()
            && !holder.hand_over()?
        {
            return Ok(None);
        }
        turn.give_to(self);
        self.lock().holds = true;
        Counters::add(&self.counters().section_takeovers, 1);
        Ok(Some(turn))
    }

    /// Has all lines of the structure leave, and gives its memory back. False if one is pinned: then the section holds the
    /// memory still, and what has not left by then is as it was.
    fn hand_over(&self) -> Result<bool, SectionError> {
        let slots = 0..self.geometry.slots();
        let is_pinned = |slot: &u32| self.lines.holds_pinned(*slot);
        // Mostly it is the one that was pinned the last time.
        let known = Some(self.blocker.load(Relaxed));
        if let Some(slot) = known.filter(is_pinned).or_else(|| slots.clone().find(is_pinned)) {
            self.blocker.store(slot, Relaxed);
            return Ok(false);
        }
        self.lock().holds = false;
        let left = self.leave(slots);
        match left {
            Ok(None) => self.give_memory_back(),
            Ok(Some(slot)) => self.blocker.store(slot, Relaxed),
            Err(_) => {}
        }
        if !matches!(left, Ok(None)) {
            self.lock().holds = true;
        }
        self.notify();
        left.map(|pinned| pinned.is_none())
    }

    /// Nothing is in the structure, and nothing comes there before the memory is taken over again.
    fn give_memory_back(&self) {
        self.lock().start_anew();
        self.lines.give_back(Need::of(&self.geometry).shared as usize * PAGE);
    }

    /// Gives up what the section has of its group's memory, as it ends; returns how many pages nobody needs then.
    pub(crate) fn leave_group(self: &Arc<Self>, turn: &Turn<'_>) -> u64 {
        if self.lock().holds {
            self.give_memory_back();
        }
        turn.leave(self)
    }
}
