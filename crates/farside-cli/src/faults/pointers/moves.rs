//! How the register moves that holds an address: what a sample says for and against what the code says.

use farside_os::memory::PAGE;

/// Bytes that an address may be away from what a pointer to it holds.
const NEAR: u64 = PAGE as u64;

/// Bytes that an array is gone through by, from one fault to the next: pages in between may have been in memory.
const STEP: u64 = 4 * PAGE as u64;

/// Places that one instruction goes on from in turn, as one that merges does.
const CURSORS: usize = 8;

/// How a fault's address lies to the register that holds it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// The register is not known.
    Unknown,
    /// The register holds another place: the address is far from it.
    Away,
    /// It holds about this address, and a little before it held one beside it, or as far from it as the one before that.
    Along,
    /// It holds about this address, and nothing like it before.
    Afresh,
}

/// The moves of one instruction.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// Faults whose address was far from the register.
    pub away: u64,
    /// Faults at which it had gone on evenly.
    pub along: u64,
    /// Faults at which it held something new.
    pub afresh: u64,
    /// Latest values, the last one first.
    latest: Vec<u64>,
    stride: u64,
}

impl Moves {
    /// Takes note of a fault.
    pub fn add(&mut self, address: u64, register: Option<u64>) -> Move {
        let Some(value) = register else { return Move::Unknown };
        let last = self.latest.first().copied().unwrap_or(value);
        let stride = value.wrapping_sub(last);
        let goes_on = (stride != 0 && stride == self.stride)
            || self.latest.iter().any(|before| before.abs_diff(value) <= STEP);
        self.stride = stride;
        // One that goes on takes the place of where it was.
        if let Some(index) = self.latest.iter().position(|one| one.abs_diff(value) <= STEP) {
            self.latest.remove(index);
        }
        self.latest.insert(0, value);
        self.latest.truncate(CURSORS);
        let is_near = value.abs_diff(address) < NEAR || value / NEAR == address / NEAR;
        match (is_near, goes_on) {
            (false, _) => {
                self.away += 1;
                Move::Away
            }
            (true, true) => {
                self.along += 1;
                Move::Along
            }
            (true, false) => {
                self.afresh += 1;
                Move::Afresh
            }
        }
    }

    /// Faults of which the register is known.
    pub fn known(&self) -> u64 {
        self.away + self.along + self.afresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = PAGE as u64;

    fn of(values: impl IntoIterator<Item = (u64, u64)>) -> (u64, u64, u64) {
        let mut moves = Moves::default();
        values.into_iter().for_each(|(address, register)| {
            moves.add(address, Some(register));
        });
        (moves.away, moves.along, moves.afresh)
    }

    #[test]
    fn an_array_is_gone_along_and_a_list_is_not() {
        let (away, along, afresh) = of((0..100).map(|i| (i * SIZE, i * SIZE)));
        assert_eq!((away, along, afresh), (0, 99, 1));
        let (_, along, afresh) = of((0..100).map(|i| (i * 50 * SIZE, i * 50 * SIZE)));
        assert_eq!((along, afresh), (98, 2));
        let nodes = (1..101u64).map(|i| (i * i * 40 * SIZE + 8, i * i * 40 * SIZE));
        assert_eq!(of(nodes), (0, 0, 100));
    }

    #[test]
    fn the_beginning_of_an_array_is_away_from_most_of_it() {
        assert_eq!(of((0..100).map(|i| ((1 << 30) + i * SIZE, 1 << 30))), (99, 0, 1));
    }

    #[test]
    fn several_arrays_may_be_gone_through_in_turn() {
        let both = (0..100).flat_map(|i| [i * SIZE, (1 << 30) + i * SIZE]);
        assert_eq!(of(both.map(|address| (address, address))), (0, 198, 2));
    }

    #[test]
    fn nothing_is_known_without_registers() {
        let mut moves = Moves::default();
        assert_eq!((moves.add(1, None), moves.known()), (Move::Unknown, 0));
    }
}
