//! Which faults are pointer-based: what the code says, as far as the sample does not speak against it.

use std::ops::AddAssign;

use farside_symbols::{Derivation, Origin};

use super::moves::{Move, Moves};
use super::noted::Noting;

/// What a fault is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its address had been loaded from memory.
    Pointer,
    /// Its address was computed.
    Other,
    /// It is not known.
    Undecided,
}

/// What the faults of a stream are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All the same.
    All(Class),
    /// What goes through arrays whose beginnings were loaded: pointer-based where it begins.
    Beginnings,
    /// What adds an index to a pointer that was loaded: pointer-based where it stays near.
    Nearness,
}

impl Verdict {
    /// What the code says, and what is left of it when the sample has been heard.
    pub fn of(code: Derivation, moves: &Moves) -> Self {
        let most = |count: u64| count * 2 > moves.known();
        match code.origin {
            // What was loaded is not the address.
            Origin::Loaded if most(moves.away) => Self::All(Class::Undecided),
            Origin::Loaded => Self::All(Class::Pointer),
            Origin::Computed if code.is_based => Self::Nearness,
            Origin::Computed if !code.advances => Self::All(Class::Other),
            Origin::Computed if code.begins_loaded => Self::Beginnings,
            // It does not go on evenly.
            Origin::Computed if most(moves.afresh) => Self::All(Class::Undecided),
            Origin::Computed => Self::All(Class::Other),
            Origin::Undecided => Self::All(Class::Undecided),
        }
    }

    /// What a fault is.
    pub fn class(self, moved: Move) -> Class {
        match (self, moved) {
            (Self::All(class), _) => class,
            (_, Move::Unknown) => Class::Undecided,
            (Self::Beginnings, Move::Afresh) => Class::Pointer,
            (Self::Beginnings, Move::Away | Move::Along) => Class::Other,
            (Self::Nearness, Move::Afresh | Move::Along) => Class::Pointer,
            (Self::Nearness, Move::Away) => Class::Other,
        }
    }
}

/// Demand faults, or parts of them where one stream is called from several places.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Pointer-based.
    pub pointer: f64,
    /// Not pointer-based.
    pub other: f64,
    /// Not decided.
    pub undecided: f64,
    /// Of those that are not pointer-based, those whose page was chosen by an index that had been loaded.
    pub indexed: f64,
    /// Of those that are pointer-based, those whose page was that of the loaded pointer.
    pub named: f64,
    /// Those for which the sample says what the code does.
    pub agreed: f64,
    /// Those at which the sample says something else.
    pub contradicted: f64,
}

impl Counts {
    /// Those of one stream.
    pub fn of(noting: &Noting, code: Derivation) -> Self {
        let Noting { faults, moves, .. } = noting;
        let faults = *faults as f64;
        let [away, along, afresh] =
            [moves.away, moves.along, moves.afresh].map(|count| count as f64);
        let verdict = Verdict::of(code, moves);
        let is_of = |class| if verdict == Verdict::All(class) { faults } else { 0.0 };
        let mut counts = Self {
            pointer: is_of(Class::Pointer),
            other: is_of(Class::Other),
            undecided: is_of(Class::Undecided),
            ..Self::default()
        };
        match verdict {
            // What goes along may be a list whose nodes lie one after the other: that proves nothing.
            Verdict::All(Class::Pointer) => {
                (counts.named, counts.agreed) = (along + afresh, afresh);
            }
            Verdict::All(Class::Other) => {
                // What an index leads to lies anywhere, but not where the array begins.
                counts.agreed = if code.advances { away + along } else { away };
                counts.indexed = if code.is_indexed { faults } else { 0.0 };
            }
            Verdict::All(Class::Undecided) => {
                counts.contradicted = if code.origin == Origin::Undecided { 0.0 } else { faults };
            }
            Verdict::Beginnings => {
                (counts.pointer, counts.other) = (afresh, away + along);
                counts.undecided = faults - afresh - away - along;
                (counts.named, counts.agreed) = (afresh, away + along + afresh);
            }
            Verdict::Nearness => {
                (counts.pointer, counts.other) = (along + afresh, away);
                counts.undecided = faults - afresh - away - along;
                counts.indexed = if code.is_indexed { away } else { 0.0 };
                (counts.named, counts.agreed) = (along + afresh, away + afresh);
            }
        }
        counts
    }

    /// So many faults of which nothing is known.
    pub fn unseen(faults: u64) -> Self {
        Self { undecided: faults as f64, ..Self::default() }
    }

    /// A part of them.
    pub fn times(self, part: f64) -> Self {
        Self {
            pointer: self.pointer * part,
            other: self.other * part,
            undecided: self.undecided * part,
            indexed: self.indexed * part,
            named: self.named * part,
            agreed: self.agreed * part,
            contradicted: self.contradicted * part,
        }
    }

    /// All of them.
    pub fn all(self) -> f64 {
        self.pointer + self.other + self.undecided
    }

    /// The share that is pointer-based; none if there are no faults.
    pub fn share(self) -> Option<f64> {
        (self.all() > 0.0).then(|| self.pointer / self.all())
    }

    /// What most of them are; none if there are no faults.
    pub fn most(self) -> Option<Class> {
        let half = self.all() / 2.0;
        (half > 0.0).then_some(match self {
            Self { pointer, .. } if pointer > half => Class::Pointer,
            Self { other, .. } if other > half => Class::Other,
            _ => Class::Undecided,
        })
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.pointer += other.pointer;
        self.other += other.other;
        self.undecided += other.undecided;
        self.indexed += other.indexed;
        self.named += other.named;
        self.agreed += other.agreed;
        self.contradicted += other.contradicted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(origin: Origin, begins_loaded: bool, advances: bool) -> Derivation {
        Derivation { origin, begins_loaded, advances, ..Derivation::UNDECIDED }
    }

    fn moves(away: u64, along: u64, afresh: u64) -> Moves {
        let mut moves = Moves::default();
        (moves.away, moves.along, moves.afresh) = (away, along, afresh);
        moves
    }

    #[test]
    fn the_sample_may_speak_against_the_code() {
        let loaded = code(Origin::Loaded, false, false);
        assert_eq!(Verdict::of(loaded, &moves(0, 5, 5)), Verdict::All(Class::Pointer));
        assert_eq!(Verdict::of(loaded, &moves(6, 0, 4)), Verdict::All(Class::Undecided));
        assert_eq!(Verdict::of(loaded, &moves(0, 0, 0)), Verdict::All(Class::Pointer));
        let advances = code(Origin::Computed, false, true);
        assert_eq!(Verdict::of(advances, &moves(0, 9, 1)), Verdict::All(Class::Other));
        assert_eq!(Verdict::of(advances, &moves(0, 1, 9)), Verdict::All(Class::Undecided));
        // A hash need not go on evenly.
        let hashed = code(Origin::Computed, false, false);
        assert_eq!(Verdict::of(hashed, &moves(0, 1, 9)), Verdict::All(Class::Other));
    }

    #[test]
    fn arrays_that_were_loaded_are_pointer_based_where_they_begin() {
        let verdict = Verdict::of(code(Origin::Computed, true, true), &moves(0, 1, 9));
        let classes = [Move::Afresh, Move::Along, Move::Away, Move::Unknown]
            .map(|moved| verdict.class(moved));
        assert_eq!(classes, [Class::Pointer, Class::Other, Class::Other, Class::Undecided]);
    }

    #[test]
    fn a_small_index_leaves_the_page_to_the_pointer() {
        let code = Derivation { is_based: true, ..code(Origin::Computed, true, false) };
        let verdict = Verdict::of(code, &moves(5, 1, 4));
        let classes = [Move::Afresh, Move::Along, Move::Away, Move::Unknown]
            .map(|moved| verdict.class(moved));
        assert_eq!(classes, [Class::Pointer, Class::Pointer, Class::Other, Class::Undecided]);
    }
}
