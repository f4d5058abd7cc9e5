//! Which of two policies does better, by what each lets leave of its own part of memory.

/// Whose page it is: one of the first policy's sample, of the second's, or of the rest, which is the first's or the second's.
pub const FIRST: usize = 0;
/// See [`FIRST`].
pub const SECOND: usize = 1;
/// See [`FIRST`].
pub const REST: usize = 2;

/// What a page that the program waits for counts for; one that was fetched ahead counts for one.
pub const DEMANDED: f64 = 4.0;

/// What of the latest rounds counts: each for less the longer it is ago.
const MEMORY: f64 = 0.75;

/// Better is by more than this share.
const MARGIN: f64 = 0.1;

/// Rounds in a row in which a policy must have been better, or no longer.
const PATIENCE: u32 = 2;

/// Rounds after a change that tell nothing, because pages still go over.
const SETTLING: u32 = 4;

/// Least that must have come back for anything to be told by it.
const LEAST: f64 = 64.0;

/// Rounds for which the second policy is not tried again after it did not prove: twice as many each time.
const FIRST_BAR: u32 = 8;
const LONGEST_BAR: u32 = 512;

/// A contest between two policies. The first one is in force until the second one does better.
///
/// The samples are small, and what is in them need not be like all the rest. So if the second policy does better in its
/// sample, it is only tried; whether it has made the rest better is seen beside the first one's sample, which is the same
/// before and after.
#[derive(Clone, Debug)]
pub struct Duel {
    /// What came back since the round began.
    now: [f64; 3],
    /// And in earlier rounds.
    before: [f64; 3],
    second_in_force: bool,
    /// What came back of the rest beside the first policy's sample, when both were the first one's.
    usual: Option<f64>,
    /// Rounds in a row that speak for the other policy.
    against: u32,
    /// Rounds since the last change.
    since: u32,
    /// Rounds until the second policy may be tried.
    barred: u32,
    bar: u32,
}

impl Default for Duel {
    fn default() -> Self {
        Self {
            now: [0.0; 3],
            before: [0.0; 3],
            second_in_force: false,
            usual: None,
            against: 0,
            since: 0,
            barred: 0,
            bar: FIRST_BAR,
        }
    }
}

impl Duel {
    /// The one in force, [`FIRST`] or [`SECOND`].
    pub fn in_force(&self) -> usize {
        usize::from(self.second_in_force)
    }

    /// A page of one of the three came back.
    pub fn returned(&mut self, whose: usize, weight: f64) {
        self.now[whose] += weight;
    }

    /// Ends a round; `shares` are those that the three have of all pages, more than nothing each.
    pub fn end_round(&mut self, shares: [f64; 3]) {
        self.since += 1;
        if self.second_in_force && self.since == SETTLING {
            self.before = [0.0; 3];
            self.now = [0.0; 3];
        }
        for (before, now) in self.before.iter_mut().zip(&mut self.now) {
            *before = *before * MEMORY + std::mem::take(now);
        }
        let speaks = match self.second_in_force {
            false => self.is_second_better(shares),
            true => self.is_second_no_better(shares),
        };
        self.against = if speaks { self.against + 1 } else { 0 };
        if self.against >= PATIENCE {
            self.change();
        }
    }

    fn is_second_better(&mut self, shares: [f64; 3]) -> bool {
        if self.before[FIRST] >= LEAST {
            self.usual = Some(self.before[REST] / self.before[FIRST]);
        }
        self.barred = self.barred.saturating_sub(1);
        let enough = self.before[FIRST] >= LEAST && self.barred == 0;
        let of_page = |whose: usize| self.before[whose] / shares[whose];
        enough && of_page(SECOND) < of_page(FIRST) * (1.0 - MARGIN)
    }

    fn is_second_no_better(&mut self, shares: [f64; 3]) -> bool {
        let enough = self.before.iter().sum::<f64>() >= LEAST;
        let usual = self.usual.unwrap_or(shares[REST] / shares[FIRST]);
        // Half of the margin: what is in force stays when it is about as good.
        let least = usual * (1.0 - MARGIN / 2.0);
        let settled = self.since > SETTLING;
        if self.since > 4 * self.bar {
            self.bar = FIRST_BAR;
        }
        settled && enough && self.before[REST] > self.before[FIRST].max(1.0) * least
    }

    fn change(&mut self) {
        if self.second_in_force {
            self.barred = self.bar;
            self.bar = (2 * self.bar).min(LONGEST_BAR);
        }
        self.second_in_force = !self.second_in_force;
        (self.against, self.since) = (0, 0);
        self.before = [0.0; 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [f64; 3] = [0.1, 0.1, 0.8];

    /// Rounds in which so much came back to the first policy's sample, the second's, and the rest as each would have it.
    fn rounds(duel: &mut Duel, returned: [f64; 2], rest: [f64; 2], count: u32) -> Vec<usize> {
        let each = (0..count).map(|_| {
            duel.returned(FIRST, returned[FIRST]);
            duel.returned(SECOND, returned[SECOND]);
            duel.returned(REST, rest[duel.in_force()]);
            duel.end_round(SHARES);
            duel.in_force()
        });
        each.collect()
    }

    #[test]
    fn the_second_policy_takes_over_where_less_comes_back() {
        let mut duel = Duel::default();
        let still = rounds(&mut duel, [100.0, 95.0], [800.0, 760.0], 50);
        assert!(still.iter().all(|it| *it == FIRST), "too little between them");
        assert_eq!(
            rounds(&mut duel, [100.0, 20.0], [800.0, 160.0], 1),
            [FIRST],
            "it may be chance"
        );
        let after = rounds(&mut duel, [100.0, 20.0], [800.0, 160.0], 60);
        assert!(after[9..].iter().all(|it| *it == SECOND), "{after:?}");
        let after = rounds(&mut duel, [20.0, 100.0], [160.0, 800.0], 60);
        assert!(after[9..].iter().all(|it| *it == FIRST), "{after:?}");
    }

    #[test]
    fn what_is_better_in_its_sample_alone_is_tried_ever_less() {
        let mut duel = Duel::default();
        // Pages that are hardly used happen to be in the second one's sample.
        let tried = rounds(&mut duel, [100.0, 20.0], [800.0, 900.0], 4000);
        let share = tried.iter().filter(|it| **it == SECOND).count() as f64 / 4000.0;
        assert!((0.001..0.03).contains(&share), "{share}");
    }

    #[test]
    fn a_few_pages_tell_nothing() {
        let mut duel = Duel::default();
        assert!(rounds(&mut duel, [8.0, 0.0], [64.0, 0.0], 99).iter().all(|it| *it == FIRST));
    }

    #[test]
    fn samples_are_compared_by_their_shares() {
        let mut duel = Duel::default();
        for _ in 0..20 {
            duel.returned(FIRST, 1000.0);
            duel.returned(SECOND, 500.0);
            duel.end_round([0.2, 0.1, 0.7]);
            assert_eq!(duel.in_force(), FIRST);
        }
    }
}
