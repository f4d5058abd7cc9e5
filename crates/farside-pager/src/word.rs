//! The state of a page in one atomic word.

use farside_policy::replacement::Slot;

/// Where a page is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Never written; nothing anywhere.
    Untouched = 0,
    /// Written once, and known to hold zeros only; nothing anywhere.
    Zero = 1,
    /// Held only by the far store.
    Far = 2,
    /// Owned by a transition; others wait for it to end.
    Busy = 3,
    /// Mapped.
    Resident = 4,
    /// Unmapped, but its frame is still here, in the frame area.
    Watched = 5,
    /// Not managed: the program mapped something else there.
    Foreign = 6,
    /// Unmapped and being written back; its frame is still good, in the frame area.
    Leaving = 7,
}

/// Width of the frame-area position in a word, in bits.
pub const POSITION_BITS: u32 = 24;

const STATE: u64 = 0b111;
const WRITABLE: u64 = 1 << 3;
const STORED: u64 = 1 << 4;
const PREFETCHED: u64 = 1 << 5;
const WAITERS: u64 = 1 << 6;
const FLIGHT: u64 = 1 << 7;
/// No page is both in flight and leaving.
const RETURNED: u64 = FLIGHT;
/// Nor is one that is here.
const EXPOSED: u64 = FLIGHT;
const POSITION_SHIFT: u32 = 8;
/// Lowest bit of the position, which only watched and leaving pages have.
const MARKED: u64 = 1 << POSITION_SHIFT;
/// The bits above it, of resident pages: how often they are pinned.
const PIN: u64 = MARKED << 1;
const PINS: u64 = POSITION & !MARKED;
const POSITION: u64 = ((1 << POSITION_BITS) - 1) << POSITION_SHIFT;
const SLOT_SHIFT: u32 = 32;

/// Bits of [`Word::shown`].
const SHOWN_HERE: u8 = 1;
const SHOWN_WRITABLE: u8 = 2;

/// A page's word: state, flags, position in the frame area while watched or leaving, slot in the
/// replacement policy while resident or watched.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Word(pub u64);

macro_rules! flags {
    ($($(#[$doc:meta])* $get:ident, $with:ident, $without:ident, $bit:ident;)*) => {
        impl Word {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $get(self) -> bool {
                    self.0 & $bit != 0
                }

                /// The word with that flag set.
                #[inline]
                #[must_use]
                pub fn $with(self) -> Self {
                    Word(self.0 | $bit)
                }

                /// The word with that flag cleared.
                #[inline]
                #[must_use]
                pub fn $without(self) -> Self {
                    Word(self.0 & !$bit)
                }
            )*
        }
    };
}

flags! {
    /// Mapped so that the program can write to it unseen: it may differ from the stored copy.
    writable, with_writable, without_writable, WRITABLE;
    /// The far store holds the content the page had when it arrived here.
    stored, with_stored, without_stored, STORED;
    /// Brought in by a prefetcher, and not touched since as far as is known.
    prefetched, with_prefetched, without_prefetched, PREFETCHED;
    /// Somebody waits for the transition to end, and must be woken.
    waiters, with_waiters, without_waiters, WAITERS;
    /// Busy because a fetch that nobody waits for is on its way.
    in_flight, with_flight, without_flight, FLIGHT;
    /// Leaving, but mapped again meanwhile, write-protected.
    returned, with_returned, without_returned, RETURNED;
    /// Resident, or watched, and fetched to be read, but mapped so that it can be written: whether it was shows when it leaves.
    /// Frames cannot be moved in write-protected; and to protect them then is not enough, since another thread may have
    /// written meanwhile, or have had the kernel pin a page for what a device is to write.
    exposed, with_exposed, without_exposed, EXPOSED;
    /// Resident, or in flight, and half-way through what was read ahead: a hint at it is to read on.
    marked, with_mark, without_mark, MARKED;
}

impl Word {
    /// A word in `state` without flags.
    pub const fn new(state: State) -> Self {
        Word(state as u64)
    }

    /// The page's state.
    #[inline]
    pub fn state(self) -> State {
        match self.0 & STATE {
            0 => State::Untouched,
            1 => State::Zero,
            2 => State::Far,
            3 => State::Busy,
            4 => State::Resident,
            5 => State::Watched,
            6 => State::Foreign,
            _ => State::Leaving,
        }
    }

    /// Whether the content of a page that is here is what the far store holds.
    #[inline]
    pub fn is_as_stored(self) -> bool {
        self.stored() && !self.writable() && !self.exposed()
    }

    /// The word in another state, flags kept.
    #[inline]
    #[must_use]
    pub fn in_state(self, state: State) -> Self {
        Word(self.0 & !STATE | state as u64)
    }

    /// The page's slot in the replacement policy.
    #[inline]
    pub fn slot(self) -> Slot {
        Slot((self.0 >> SLOT_SHIFT) as u32)
    }

    /// The word with another slot.
    #[inline]
    #[must_use]
    pub fn with_slot(self, slot: Slot) -> Self {
        Word(self.0 & ((1 << SLOT_SHIFT) - 1) | u64::from(slot.0) << SLOT_SHIFT)
    }

    /// The position of the page's frame in the frame area.
    #[inline]
    pub fn position(self) -> u32 {
        ((self.0 & POSITION) >> POSITION_SHIFT) as u32
    }

    /// The word with another position.
    #[inline]
    #[must_use]
    pub fn with_position(self, position: u32) -> Self {
        Word(self.0 & !POSITION | u64::from(position) << POSITION_SHIFT & POSITION)
    }

    /// How often a resident page is pinned: it is not to be evicted.
    pub fn pins(self) -> u64 {
        (self.0 & PINS) / PIN
    }

    /// What the program is shown of the page (`farside.h`): whether it can use it, and write it, without waiting, if
    /// nothing is to be read ahead there.
    #[inline]
    pub fn shown(self) -> u8 {
        match self.state() == State::Resident && !self.marked() {
            true => SHOWN_HERE | if self.writable() { SHOWN_WRITABLE } else { 0 },
            false => 0,
        }
    }

    /// Whether a page is resident and may be evicted.
    pub fn may_leave(self) -> bool {
        self.state() == State::Resident && self.pins() == 0
    }

    /// The word of a resident page that is pinned so often, at most as often as can be counted.
    #[must_use]
    pub fn with_pins(self, pins: u64) -> Self {
        Word((self.0 & !PINS) | (pins.min(PINS / PIN) * PIN))
    }

    /// The word of a page to which the program could write unseen, if it could.
    #[must_use]
    pub fn opened(self, opened: bool) -> Self {
        if opened { self.with_writable() } else { self }
    }

    /// Whether the page has content of its own somewhere.
    pub fn is_touched(self) -> bool {
        !matches!(self.state(), State::Untouched | State::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_disturb_each_other() {
        let word = Word::new(State::Watched)
            .with_slot(Slot(u32::MAX))
            .with_position((1 << POSITION_BITS) - 1)
            .with_writable()
            .with_waiters();
        assert_eq!(word.state(), State::Watched);
        assert_eq!(word.slot(), Slot(u32::MAX));
        assert_eq!(word.position(), (1 << POSITION_BITS) - 1);
        assert!(word.writable() && word.waiters() && !word.stored());
        let word = word.in_state(State::Far).with_position(0).with_slot(Slot(3)).without_waiters();
        assert_eq!(word, Word::new(State::Far).with_slot(Slot(3)).with_writable());
        let word = Word::new(State::Resident).with_slot(Slot(7)).with_mark().with_pins(u64::MAX);
        assert!(
            word.marked() && !word.may_leave() && word.pins() == (1 << (POSITION_BITS - 1)) - 1
        );
        assert_eq!(word.without_mark().with_pins(0), Word::new(State::Resident).with_slot(Slot(7)));
    }
}
