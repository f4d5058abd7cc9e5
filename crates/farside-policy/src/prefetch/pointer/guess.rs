//! Pages that are foreseen, until it is known whether they were used.

/// Guesses that are remembered, about one for each page that is fetched.
const GUESSES: usize = 1024;

/// Guesses that are compared when one has to make room.
const WAYS: usize = 4;

/// A page that is foreseen, and why.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Guess {
    pub page: u64,
    /// Where the program is to come in.
    pub entry: u64,
    /// Where the pointer lies.
    pub location: u64,
    /// How the program came, or was to come, to where the pointer was looked for.
    pub context: u8,
    /// The number of the link.
    pub link: u8,
    /// As what the page is reached.
    pub reached_as: u8,
    /// Whether it was sent for.
    pub sent: bool,
    /// The chain it belongs to, and its place there.
    pub chain: u32,
    pub step: u32,
    /// How many faults there had been.
    pub made_at: u32,
    /// The number of the array that the pointer is of; 0 if it is of none.
    pub array: u32,
}

/// The latest guesses, in sets of [`WAYS`].
#[derive(Debug)]
pub(super) struct Guesses {
    sets: Box<[[Option<Guess>; WAYS]; GUESSES / WAYS]>,
}

impl Default for Guesses {
    fn default() -> Self {
        Self { sets: Box::new([[None; WAYS]; GUESSES / WAYS]) }
    }
}

impl Guesses {
    fn set(&mut self, page: u64) -> &mut [Option<Guess>; WAYS] {
        let at = page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &mut self.sets[at as usize % (GUESSES / WAYS)]
    }

    /// Takes note of a guess, unless there is one for this page; returns one that is forgotten for it.
    pub fn add(&mut self, guess: Guess) -> Option<Guess> {
        let set = self.set(guess.page);
        if let Some(known) = set.iter_mut().flatten().find(|known| known.page == guess.page) {
            // What was only foreseen is sent for now.
            if guess.sent && !known.sent {
                *known = guess;
            }
            return None;
        }
        let age = |known: &Guess| guess.made_at.wrapping_sub(known.made_at);
        let value = |known: &Option<Guess>| {
            known.map_or((false, u32::MIN), |known| (known.sent, u32::MAX - age(&known)))
        };
        set.iter_mut().min_by_key(|known| value(known))?.replace(guess)
    }

    /// The guess for a page.
    pub fn find(&mut self, page: u64) -> Option<&mut Guess> {
        self.set(page).iter_mut().flatten().find(|guess| guess.page == page)
    }

    /// Takes out the guess for a page.
    pub fn take(&mut self, page: u64) -> Option<Guess> {
        let is_it = |guess: &mut Guess| guess.page == page;
        self.set(page).iter_mut().find_map(|slot| slot.take_if(is_it))
    }
}
