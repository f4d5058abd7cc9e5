//! How long what is fetched ahead has to stay, for policies that evict what came last.

/// Half of what was fetched ahead is used within some arrivals, the rest within as many again, and a half more for chance.
const STAYS: u32 = 3;

/// Periods are so many times as long as pages stay, so that each pass is heard of in each.
const PERIOD: u32 = 4;

/// Where one in so many windows is not met, what is fetched ahead may leave too early.
const MISSED: u32 = 4;

/// With fewer windows nothing is known.
const LEAST: u32 = 4;

/// How long what is fetched ahead stays until the program comes to it, by the windows that it has met: all counted in
/// arrivals.
///
/// What left before is not met, and nobody knows how long it would have had to stay: twice as long is tried.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// The longest of this period, and what is known from before it.
    stays: [u32; 2],
    met: u32,
    missed: u32,
    /// Arrivals before which the period began.
    since: u32,
}

impl Ahead {
    /// For how many arrivals what is fetched ahead has to stay; 0 if nothing is.
    pub fn stays(&self) -> u32 {
        self.stays[0].max(self.stays[1])
    }

    /// The program is half-way through a window that came so many arrivals ago.
    pub fn meet(&mut self, age: u32) {
        self.met += 1;
        self.stays[0] = self.stays[0].max(age.saturating_mul(STAYS));
    }

    /// The program began a window where it had none.
    pub fn miss(&mut self) {
        self.missed += 1;
    }

    /// There were so many arrivals by now, and pages stay for `trial` of them: ends the period if it is over, and returns
    /// whether that changes anything.
    pub fn pass(&mut self, arrivals: u32, trial: u32) -> bool {
        let before = self.stays();
        if arrivals.wrapping_sub(self.since) < trial.saturating_mul(PERIOD) {
            return false;
        }
        let windows = self.met + self.missed;
        let are_missed = windows >= LEAST && self.missed * MISSED > windows;
        let known = if are_missed { trial.saturating_mul(2) } else { self.stays[0] };
        *self = Self { stays: [0, known], since: arrivals, ..Self::default() };
        self.stays() != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends a period in which so many windows were met, all at one age, and missed, and in which pages stayed for as long as
    /// they have to, from 100 to 1000 arrivals.
    fn period(ahead: &mut Ahead, age: u32, met: u32, missed: u32) -> u32 {
        (0..met).for_each(|_| ahead.meet(age));
        (0..missed).for_each(|_| ahead.miss());
        let trial = ahead.stays().clamp(100, 1000);
        assert!(!ahead.pass(ahead.since.wrapping_add(PERIOD * trial - 1), trial));
        ahead.pass(ahead.since.wrapping_add(PERIOD * trial), trial);
        ahead.stays()
    }

    #[test]
    fn it_is_three_times_what_is_met_and_twice_as_much_where_little_is() {
        let mut ahead = Ahead::default();
        assert_eq!(period(&mut ahead, 0, 0, 3), 0, "three windows tell nothing");
        assert_eq!(period(&mut ahead, 0, 0, 9), 200);
        assert_eq!(period(&mut ahead, 20, 4, 9), 400);
        assert_eq!(period(&mut ahead, 300, 9, 1), 900);
        assert_eq!(period(&mut ahead, 50, 9, 0), 150);
        assert_eq!(period(&mut ahead, 0, 0, 0), 0);
    }

    #[test]
    fn what_is_always_missed_does_not_make_periods_ever_longer() {
        let mut ahead = Ahead::default();
        assert_eq!((0..99).map(|_| period(&mut ahead, 0, 0, 9)).max(), Some(2000));
        assert_eq!(period(&mut ahead, 0, 0, 0), 0);
    }

    #[test]
    fn what_is_longer_is_known_at_once_and_forgotten_after_two_periods() {
        let mut ahead = Ahead::default();
        ahead.meet(100);
        assert_eq!(ahead.stays(), 300);
        assert!(!ahead.pass(1200, 300), "it has to be as long for another period");
        assert!(!ahead.pass(2399, 300) && ahead.pass(2400, 300));
        assert_eq!(ahead.stays(), 0);
    }
}
