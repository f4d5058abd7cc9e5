//! Time in pages that come, and how long pages stay.

/// As long as pages stay at most, as far as it matters, and at first.
const LONGEST: u16 = 1024;

/// As long as they are taken to stay at least.
const SHORTEST: u16 = 32;

/// Counts the pages that come, and learns how many come while one stays that is not used.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The lowest bits of the number of pages that came.
    now: u16,
    /// Pages that come with the present fault.
    coming: u16,
    /// How many pages come while an unused one stays.
    stay: u16,
}

impl Clock {
    pub const fn new() -> Self {
        Self { now: 0, coming: 0, stay: LONGEST }
    }

    /// A fault, which brings a page if `demand`. No two that bring pages have the same time.
    pub fn tick(&mut self, demand: bool) {
        let coming = std::mem::take(&mut self.coming).saturating_add(u16::from(demand));
        self.now = self.now.wrapping_add(coming);
    }

    pub fn comes(&mut self, pages: u16) {
        self.coming = self.coming.saturating_add(pages);
    }

    pub const fn now(&self) -> u16 {
        self.now
    }

    /// Whether a page that came then would still be here if it had been fetched. A quarter of the time that pages stay is
    /// taken for that: whoever foresees it would have fetched others with it, which would have crowded it out.
    pub const fn is_recent(&self, then: u16) -> bool {
        self.now.wrapping_sub(then) < self.stay / 4
    }

    /// Pages that have room among those that are not used yet: a tenth of them, as in PATH (section 6.3).
    pub const fn room(&self) -> u32 {
        self.stay as u32 / 10
    }

    /// A page that came then left unused now.
    pub fn left(&mut self, then: u16) {
        let stay = self.now.wrapping_sub(then).clamp(SHORTEST, LONGEST);
        let change = (i32::from(stay) - i32::from(self.stay)) / 4;
        self.stay = (i32::from(self.stay) + change) as u16;
    }
}
