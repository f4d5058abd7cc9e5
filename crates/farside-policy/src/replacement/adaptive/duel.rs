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
const MEMORY: f64 = 0.8;

/// The second policy must be better by more than this share to be tried.
const BETTER: f64 = 0.15;

/// And the rest by more than this share, with it, to stay with it.
const PROVED: f64 = 0.05;

/// If it is worse by more than this share, it does not even have its sample for a while.
const WORSE: f64 = 0.25;

/// Rounds in a row that have to speak for the second policy, and against it.
const PATIENCE_FOR: u32 = 6;
const PATIENCE_AGAINST: u32 = 2;

/// Rounds after a change that tell nothing, because pages still go over.
const SETTLING: u32 = 4;

/// Least that must have come back for anything to be told by it.
const LEAST: f64 = 64.0;

/// Rounds for which the second policy is out after it was worse: twice as many each time.
const FIRST_OUT: u32 = 8;
const LONGEST_OUT: u32 = 512;

/// What the second policy has.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Second {
    /// Nothing, for so many more rounds.
    Out(u32),
    /// Its sample.
    Sampled,
    /// Its sample, and the rest.
    InForce,
}

/// A contest between two policies. The first one is in force until the second one does better.
///
/// The samples are small, and what is in them need not be like all the rest. So if the second policy does better in its
/// sample, it is only tried; whether it has made the rest better is seen beside the first one's sample, which is the same
/// before and after. And there are programs with which it is many times as bad, so that even its sample costs: then the
/// first one has that, too, most of the time.
#[derive(Clone, Debug)]
pub struct Duel {
    second: Second,
    /// What came back since the round began.
    now: [f64; 3],
    /// And in earlier rounds.
    before: [f64; 3],
    /// What came back of the rest beside the first policy's sample, when both were the first one's.
    usual: Option<f64>,
    /// Rounds in a row that speak for the second policy, and against it.
    for_it: u32,
    against_it: u32,
    /// Rounds since the last change.
    since: u32,
    /// Rounds for which the second policy is out next time.
    out: u32,
}

impl Default for Duel {
    fn default() -> Self {
        Self {
            second: Second::Sampled,
            now: [0.0; 3],
            before: [0.0; 3],
            usual: None,
            for_it: 0,
            against_it: 0,
            since: 0,
            out: FIRST_OUT,
        }
    }
}

impl Duel {
    /// What the second policy has; all else is the first one's.
    pub fn second(&self) -> Second {
        self.second
    }

    /// A page of one of the three came back.
    pub fn returned(&mut self, whose: usize, weight: f64) {
        self.now[whose] += weight;
    }

    /// Ends a round; `shares` are those that the three have of all pages, more than nothing each.
    pub fn end_round(&mut self, shares: [f64; 3]) {
        self.since += 1;
        for (before, now) in self.before.iter_mut().zip(&mut self.now) {
            *before = *before * MEMORY + std::mem::take(now);
        }
        if self.since <= SETTLING {
            self.before = [0.0; 3];
            return;
        }
        let speaks = match self.second {
            Second::Out(rounds) => return self.stay_out(rounds),
            Second::Sampled => self.sampled(shares),
            Second::InForce => self.in_force(shares),
        };
        self.for_it = if speaks == Some(true) { self.for_it + 1 } else { 0 };
        self.against_it = if speaks == Some(false) { self.against_it + 1 } else { 0 };
        if self.for_it >= PATIENCE_FOR && self.second == Second::Sampled {
            self.change(Second::InForce);
        } else if self.against_it >= PATIENCE_AGAINST {
            self.change(Second::Out(self.out));
            self.out = (2 * self.out).min(LONGEST_OUT);
        }
    }

    fn stay_out(&mut self, rounds: u32) {
        self.note_usual();
        match rounds.checked_sub(1) {
            Some(left) => self.second = Second::Out(left),
            None => self.change(Second::Sampled),
        }
    }

    /// Takes note of how much comes back of what is the first policy's.
    fn note_usual(&mut self) {
        if self.before[FIRST] >= LEAST {
            self.usual = Some(self.before[REST] / self.before[FIRST]);
        }
    }

    /// Whether the samples speak for the second policy, or against it.
    fn sampled(&mut self, shares: [f64; 3]) -> Option<bool> {
        self.note_usual();
        let of_page = |whose: usize| self.before[whose] / shares[whose];
        let (first, second) = (of_page(FIRST), of_page(SECOND));
        if self.before[FIRST] >= LEAST && second < first * (1.0 - BETTER) {
            return Some(true);
        }
        let is_worse = self.before[SECOND] >= LEAST && second > first * (1.0 + WORSE);
        is_worse.then_some(false)
    }

    /// Whether the rest speaks for the second policy, or against it.
    fn in_force(&mut self, shares: [f64; 3]) -> Option<bool> {
        if self.before.iter().sum::<f64>() < LEAST {
            return None;
        }
        if self.since > 4 * self.out {
            self.out = FIRST_OUT;
        }
        let usual = self.usual.unwrap_or(shares[REST] / shares[FIRST]);
        Some(self.before[REST] < self.before[FIRST].max(1.0) * usual * (1.0 - PROVED))
    }

    fn change(&mut self, second: Second) {
        self.second = second;
        (self.for_it, self.against_it, self.since) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [f64; 3] = [0.1, 0.1, 0.8];

    /// Whether the second policy is in force after each of some rounds in which so much came back to the first policy's
    /// sample, the second's, and the rest as each would have it.
    fn rounds(duel: &mut Duel, returned: [f64; 2], rest: [f64; 2], count: u32) -> Vec<bool> {
        let each = (0..count).map(|_| {
            let is_out = matches!(duel.second(), Second::Out(_));
            let is_in_force = duel.second() == Second::InForce;
            duel.returned(FIRST, returned[0]);
            duel.returned(SECOND, returned[usize::from(!is_out)]);
            duel.returned(REST, rest[usize::from(is_in_force)]);
            duel.end_round(SHARES);
            duel.second() == Second::InForce
        });
        each.collect()
    }

    #[test]
    fn the_second_policy_takes_over_where_less_comes_back() {
        let mut duel = Duel::default();
        let still = rounds(&mut duel, [100.0, 95.0], [800.0, 760.0], 50);
        assert!(still.iter().all(|it| !it), "too little between them");
        assert_eq!(
            rounds(&mut duel, [100.0, 20.0], [800.0, 160.0], 1),
            [false],
            "it may be chance"
        );
        let after = rounds(&mut duel, [100.0, 20.0], [800.0, 160.0], 60);
        assert!(after[15..].iter().all(|it| *it), "{after:?}");
        let after = rounds(&mut duel, [20.0, 100.0], [160.0, 800.0], 60);
        assert!(after[15..].iter().all(|it| !it), "{after:?}");
    }

    #[test]
    fn what_is_better_in_its_sample_alone_is_tried_ever_less() {
        let mut duel = Duel::default();
        // Pages that are hardly used happen to be in the second one's sample.
        let tried = rounds(&mut duel, [100.0, 20.0], [800.0, 900.0], 4000);
        let share = tried.iter().filter(|it| **it).count() as f64 / 4000.0;
        assert!((0.001..0.03).contains(&share), "{share}");
    }

    #[test]
    fn what_is_much_worse_has_its_sample_ever_less() {
        let mut duel = Duel::default();
        let mut sampled = 0;
        for _ in 0..4000 {
            sampled += u32::from(duel.second() == Second::Sampled);
            rounds(&mut duel, [100.0, 1400.0], [800.0, 11_000.0], 1);
        }
        assert!((20..120).contains(&sampled), "{sampled}");
    }

    #[test]
    fn a_few_pages_tell_nothing() {
        let mut duel = Duel::default();
        assert!(rounds(&mut duel, [8.0, 0.0], [64.0, 0.0], 99).iter().all(|it| !it));
    }

    #[test]
    fn samples_are_compared_by_their_shares() {
        let mut duel = Duel::default();
        for _ in 0..40 {
            duel.returned(FIRST, 1000.0);
            duel.returned(SECOND, 500.0);
            duel.end_round([0.2, 0.1, 0.7]);
            assert_eq!(duel.second(), Second::Sampled);
        }
    }
}
