//! Which of two policies does better, by what each lets leave of its own part of memory.

/// What a page that the program waits for counts for; one that was fetched ahead counts for one.
pub const DEMANDED: f64 = 4.0;

/// What of the latest rounds counts: each for less the longer it is ago.
const MEMORY: f64 = 0.75;

/// Better is by more than this share.
const MARGIN: f64 = 0.1;

/// Rounds in a row in which the other one must have been better.
const PATIENCE: u32 = 2;

/// Fewest pages that came back, of both together, by which something can be told.
const LEAST: f64 = 64.0;

/// A contest between two policies, of which one is in force.
#[derive(Clone, Debug, Default)]
pub struct Duel {
    /// What came back to each since the round began.
    now: [f64; 2],
    /// And in earlier rounds.
    before: [f64; 2],
    /// The one in force.
    leader: usize,
    /// Rounds in a row in which the other one was better.
    better: u32,
}

impl Duel {
    /// The one in force, 0 or 1.
    pub fn leader(&self) -> usize {
        self.leader
    }

    /// A page came back that the policy `which` had let leave.
    pub fn returned(&mut self, which: usize, weight: f64) {
        self.now[which] += weight;
    }

    /// Ends a round; `shares` are those that the two have of all pages, more than nothing each. Tells whether the other one is in force from now on.
    pub fn end_round(&mut self, shares: [f64; 2]) -> bool {
        for (before, now) in self.before.iter_mut().zip(&mut self.now) {
            *before = *before * MEMORY + std::mem::take(now);
        }
        let other = 1 - self.leader;
        let per_page = |which: usize| self.before[which] / shares[which];
        let enough = self.before.iter().sum::<f64>() >= LEAST;
        let is_better = enough && per_page(other) < per_page(self.leader) * (1.0 - MARGIN);
        self.better = if is_better { self.better + 1 } else { 0 };
        let switch = self.better >= PATIENCE;
        if switch {
            (self.leader, self.better) = (other, 0);
        }
        switch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(duel: &mut Duel, returned: [f64; 2], count: usize) -> usize {
        let switches = (0..count).filter(|_| {
            (0..2).for_each(|which| duel.returned(which, returned[which]));
            duel.end_round([0.1, 0.1])
        });
        switches.count()
    }

    #[test]
    fn the_one_that_loses_fewer_pages_is_in_force_after_some_rounds() {
        let mut duel = Duel::default();
        assert_eq!(rounds(&mut duel, [100.0, 99.0], 50), 0, "too little between them");
        assert_eq!(rounds(&mut duel, [100.0, 20.0], 1), 0, "one round may be chance");
        assert_eq!((rounds(&mut duel, [100.0, 20.0], 9), duel.leader()), (1, 1));
        assert_eq!((rounds(&mut duel, [20.0, 100.0], 20), duel.leader()), (1, 0));
    }

    #[test]
    fn a_few_pages_tell_nothing() {
        let mut duel = Duel::default();
        assert_eq!(rounds(&mut duel, [8.0, 0.0], 99), 0);
    }

    #[test]
    fn what_counts_is_the_share_that_each_has() {
        let mut duel = Duel::default();
        for _ in 0..20 {
            duel.returned(0, 1000.0);
            duel.returned(1, 500.0);
            assert!(!duel.end_round([0.2, 0.1]));
        }
    }
}
