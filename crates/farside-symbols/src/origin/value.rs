//! What a value is made of.

/// Stands for no round of a loop that the value depends on.
const NO_CYCLE: usize = usize::MAX;

/// What takes part in a value. With nothing at all it is fixed: a constant, the stack's place, or what a loop does not
/// change.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Eight bytes that were loaded from memory, added with at most an offset.
    pub loaded: bool,
    /// Something loaded that was scaled, or is smaller than an address.
    pub index: bool,
    /// What goes on by a constant with each round of a loop.
    pub advanced: bool,
    /// The result of other computations.
    pub computed: bool,
    /// What other functions return, and what is not followed.
    pub unknown: bool,
    /// There are several ways to it, of which some are loads and some are not.
    pub mixed: bool,
    /// Registers that hold an address when the function begins, as bits by their numbers.
    pub arguments: u16,
    /// The same for those that hold something to be scaled.
    pub indices: u16,
    /// The outermost of the definitions that are being looked at which this value comes from, one round before.
    cycle: usize,
}

impl Value {
    /// What does not change.
    pub const FIXED: Self = Self {
        loaded: false,
        index: false,
        advanced: false,
        computed: false,
        unknown: false,
        mixed: false,
        arguments: 0,
        indices: 0,
        cycle: NO_CYCLE,
    };
    /// What nobody knows.
    pub const UNKNOWN: Self = Self { unknown: true, ..Self::FIXED };
    /// The result of a computation.
    pub const COMPUTED: Self = Self { computed: true, ..Self::FIXED };
    /// What goes on evenly.
    pub const ADVANCED: Self = Self { advanced: true, ..Self::FIXED };
    /// An index that was loaded.
    pub const INDEX: Self = Self { index: true, ..Self::FIXED };

    /// Something read from memory, of so many bytes.
    pub fn read(bytes: usize) -> Self {
        match bytes {
            8 => Self { loaded: true, ..Self::FIXED },
            _ => Self::INDEX,
        }
    }

    /// An argument of the function, in the register with this number.
    pub fn argument(number: usize) -> Self {
        Self { arguments: 1 << number, ..Self::FIXED }
    }

    /// The value of a definition that is being looked at, one round before.
    pub fn cycle(definition: usize) -> Self {
        Self { cycle: definition, ..Self::FIXED }
    }

    /// The same, when the definitions from this one on have been looked at.
    pub fn closed(self, definition: usize) -> Self {
        if self.cycle >= definition { Self { cycle: NO_CYCLE, ..self } } else { self }
    }

    fn is_cycle(self) -> bool {
        self.cycle != NO_CYCLE
    }

    /// Whether nothing takes part that changes.
    pub fn is_fixed(self) -> bool {
        self == Self::FIXED
    }

    /// Whether it is what was loaded, with at most an offset.
    pub fn is_loaded(self) -> bool {
        self.loaded && self == Self { loaded: true, ..Self::FIXED }
    }

    /// Whether what it is depends on what called the function. An index into what was loaded is one whoever chose it.
    pub fn depends_on_caller(self) -> bool {
        self.arguments != 0 || self.indices != 0 && !self.loaded
    }

    /// What takes part besides arguments.
    pub fn without_arguments(self) -> Self {
        Self { arguments: 0, indices: 0, ..self }
    }

    fn or(self, other: Self) -> Self {
        Self {
            loaded: self.loaded | other.loaded,
            index: self.index | other.index,
            advanced: self.advanced | other.advanced,
            computed: self.computed | other.computed,
            unknown: self.unknown | other.unknown,
            mixed: self.mixed | other.mixed,
            arguments: self.arguments | other.arguments,
            indices: self.indices | other.indices,
            cycle: self.cycle.min(other.cycle),
        }
    }

    /// The sum of two.
    pub fn plus(self, other: Self) -> Self {
        let both = Self { cycle: NO_CYCLE, ..self.or(other) };
        let step = match (self.is_cycle(), other.is_cycle()) {
            (false, false) => return both,
            (true, false) => other,
            (false, true) => self,
            (true, true) => Self::COMPUTED,
        };
        // What is added in each round makes it go on evenly, if it is always the same.
        match step.is_fixed() {
            true => Self { advanced: true, ..both },
            false => {
                Self { computed: true, loaded: false, index: both.index | both.loaded, ..both }
            }
        }
    }

    /// Either of two.
    pub fn either(self, other: Self) -> Self {
        let is_other = |one: Self| !one.loaded && !Self { cycle: NO_CYCLE, ..one }.is_fixed();
        let mixed = self.loaded && is_other(other) || other.loaded && is_other(self);
        let both = self.or(other);
        Self { mixed: both.mixed | mixed, ..both }
    }

    /// What fits into less than an address, so that it is none, whatever it was made of.
    pub fn narrowed(self) -> Self {
        Self {
            loaded: false,
            mixed: false,
            unknown: false,
            index: self.index | self.loaded,
            computed: self.computed | self.unknown,
            arguments: 0,
            indices: self.indices | self.arguments,
            ..self
        }
    }

    /// A multiple, or a part.
    pub fn scaled(self) -> Self {
        let narrowed = self.narrowed();
        Self { computed: narrowed.computed | self.is_cycle(), cycle: NO_CYCLE, ..narrowed }
    }

    /// The result of a computation with it: an index, whoever called the function.
    pub fn processed(self) -> Self {
        Self { computed: true, ..self.scaled().without_arguments() }
    }
}
