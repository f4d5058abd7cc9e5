//! What a process tells of its faults, and of the pointers that are followed because of them, as words of a
//! [queue](crate::queue).

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
    /// The chain of pages, each fetched because of a pointer in one before, that this fault begins or goes on with; 0 if
    /// none.
    pub chain: u32,
}

/// What came of a pointer, or of looking for them.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deed {
    /// A place was looked at.
    Scanned,
    /// A pointer to a far page was found.
    Candidate,
    /// A page was sent for.
    Fetched,
    /// Such a page was used.
    Used,
    /// The program came to one that was still on its way.
    Late,
    /// One left without having been used.
    Unused,
}

impl Deed {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Scanned, Self::Candidate, Self::Fetched, Self::Used, Self::Late, Self::Unused];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scanned => "scanned",
            Self::Candidate => "candidates",
            Self::Fetched => "fetched",
            Self::Used => "used",
            Self::Late => "late",
            Self::Unused => "unused",
        }
    }
}

/// A deed of who follows pointers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LoggedDeed {
    /// What was done.
    pub deed: Deed,
    /// The address of the page.
    pub page: u64,
    /// The chain of pages that it belongs to; 0 if none.
    pub chain: u32,
}

/// What a process tells.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Logged {
    /// A fault that was served.
    Fault(LoggedFault),
    /// Something that was done about pointers.
    Deed(LoggedDeed),
}

/// Words of a fault or a deed.
pub const WORDS: usize = 4;

/// The lowest bits of the first word: whether the program wanted to write, and above it the number of the answer, or,
/// from here on, of the deed.
const DEEDS: usize = 16;

impl Logged {
    /// The words that say this.
    pub fn encode(self) -> [u64; WORDS] {
        match self {
            Self::Fault(fault) => {
                let answer = Answer::ALL.iter().position(|answer| *answer == fault.answer);
                let what = (answer.unwrap_or_default() as u64) << 1 | u64::from(fault.write);
                let first = u64::from(fault.thread) << 32 | what;
                [first, fault.page, fault.instruction, u64::from(fault.chain)]
            }
            Self::Deed(LoggedDeed { deed, page, chain }) => {
                let deed = Deed::ALL.iter().position(|one| *one == deed).unwrap_or_default();
                [((DEEDS + deed) as u64) << 1, page, 0, u64::from(chain)]
            }
        }
    }

    /// What the words say; `None` if they make no sense.
    pub fn decode([first, page, instruction, chain]: [u64; WORDS]) -> Option<Self> {
        let (what, chain) = ((first as u32 >> 1) as usize, u32::try_from(chain).ok()?);
        if let Some(deed) = what.checked_sub(DEEDS) {
            let deed = *Deed::ALL.get(deed)?;
            return Some(Self::Deed(LoggedDeed { deed, page, chain }));
        }
        Some(Self::Fault(LoggedFault {
            thread: (first >> 32) as u32,
            page,
            instruction,
            write: first & 1 != 0,
            answer: *Answer::ALL.get(what)?,
            chain,
        }))
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
            (page, instruction, chain) in any::<(u64, u64, u32)>(),
            write in any::<bool>(),
            (answer, deed) in (0..Answer::ALL.len(), 0..Deed::ALL.len()),
        ) {
            let answer = Answer::ALL[answer];
            let fault =
                Logged::Fault(LoggedFault { thread, page, instruction, write, answer, chain });
            prop_assert_eq!(Logged::decode(fault.encode()), Some(fault));
            let deed = Logged::Deed(LoggedDeed { deed: Deed::ALL[deed], page, chain });
            prop_assert_eq!(Logged::decode(deed.encode()), Some(deed));
        }

        #[test]
        fn nonsense_is_nothing(words in any::<[u64; WORDS]>(), what in 0..64_u64) {
            let [first, page, instruction, chain] = words;
            prop_assert_eq!(Logged::decode([first, page, instruction, chain | 1 << 32]), None);
            let first = first >> 32 << 32 | what;
            let known = (what >> 1) < Answer::ALL.len() as u64
                || (16..16 + Deed::ALL.len() as u64).contains(&(what >> 1));
            let decoded = Logged::decode([first, page, instruction, chain >> 32]);
            prop_assert_eq!(decoded.is_some(), known);
        }
    }
}
