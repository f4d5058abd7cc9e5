//! What a process tells of its faults, as words of a [queue](crate::queue).

/// Why the program had to wait, and what was done.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// The page was far, and fetched.
    Demand,
    /// The page was on its way already.
    Late,
    /// The page had no content yet.
    FirstTouch,
    /// The page was in memory, but unmapped to see whether it is used, or about to leave.
    Unmapped,
    /// The page was mapped, but not for writing.
    Protection,
}

impl Answer {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Demand, Self::Late, Self::FirstTouch, Self::Unmapped, Self::Protection];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Demand => "demand",
            Self::Late => "late",
            Self::FirstTouch => "first-touch",
            Self::Unmapped => "unmapped",
            Self::Protection => "protection",
        }
    }
}

/// A fault that was served.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LoggedFault {
    /// The kernel's id of the thread.
    pub thread: u32,
    /// The address of the page.
    pub page: u64,
    /// The instruction, if it is known here; else 0.
    pub instruction: u64,
    /// Whether the program wanted to write.
    pub write: bool,
    /// What was done.
    pub answer: Answer,
}

/// Words of a fault.
pub const WORDS: usize = 3;

impl LoggedFault {
    /// The words that say this.
    pub fn encode(self) -> [u64; WORDS] {
        let answer = Answer::ALL.iter().position(|answer| *answer == self.answer);
        let answer = answer.unwrap_or_default() as u64;
        let first = u64::from(self.thread) << 32 | answer << 1 | u64::from(self.write);
        [first, self.page, self.instruction]
    }

    /// What the words say; `None` if they make no sense.
    pub fn decode([first, page, instruction]: [u64; WORDS]) -> Option<Self> {
        Some(Self {
            thread: (first >> 32) as u32,
            page,
            instruction,
            write: first & 1 != 0,
            answer: *Answer::ALL.get((first as u32 >> 1) as usize)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_logged_is_understood(
            thread in any::<u32>(),
            (page, instruction) in any::<(u64, u64)>(),
            write in any::<bool>(),
            answer in 0..Answer::ALL.len(),
        ) {
            let fault =
                LoggedFault { thread, page, instruction, write, answer: Answer::ALL[answer] };
            prop_assert_eq!(LoggedFault::decode(fault.encode()), Some(fault));
        }

        #[test]
        fn nonsense_is_no_fault(words in any::<[u64; WORDS]>()) {
            let known = (words[0] as u32 >> 1) < Answer::ALL.len() as u32;
            prop_assert_eq!(LoggedFault::decode(words).is_some(), known);
        }
    }
}
