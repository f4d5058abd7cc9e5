//! How many neighbouring faults it takes to begin a stream.

/// Neighbouring faults in a row that make a stream, as long as first windows prove useful.
const SHORTEST: u32 = 2;

/// The same after first windows kept going to waste.
const LONGEST: u32 = 6;

/// Steps of caution for one fault more. Of one stream in eight a page is watched.
const STEPS: u32 = 8;

/// What a stream teaches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Lesson {
    /// It went on after its first window, or a page of that was seen to be used soon.
    WentOn,
    /// What it fetched went to waste.
    Mistake,
    /// Nothing was heard of it.
    Silence,
}

/// Grows with streams that come to nothing.
#[derive(Clone, Debug)]
pub(super) struct Caution {
    steps: u32,
}

impl Caution {
    pub const fn new() -> Self {
        Self { steps: SHORTEST * STEPS }
    }

    /// Neighbouring faults that it takes now.
    pub const fn approach(&self) -> u32 {
        self.steps / STEPS
    }

    pub fn learn(&mut self, lesson: Lesson) {
        let steps = match lesson {
            Lesson::WentOn => self.steps - STEPS,
            Lesson::Mistake => self.steps + STEPS,
            Lesson::Silence => self.steps + 1,
        };
        self.steps = steps.clamp(SHORTEST * STEPS, LONGEST * STEPS);
    }
}
