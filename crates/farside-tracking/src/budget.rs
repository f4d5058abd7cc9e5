//! How much tracking may cost.

/// What to do about the sample.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Tracking costs too much: half of the pages must do.
    Fewer,
    /// It may stay as it is.
    Same,
    /// Twice as many pages can be afforded.
    More,
}

/// So much of what is allowed may be in use if twice as many pages are to be tracked: twice as much would still be less
/// than what is allowed.
const MORE_BELOW: f64 = 0.4;

/// Looks in a row that have to agree before more pages are tracked.
const PATIENCE: u32 = 5;

/// How much each look counts beside the one after it: programs have phases that last for some looks.
const FADES: f64 = 0.9;

/// So many times what is allowed is too much at a single look.
const FAR_TOO_MUCH: f64 = 8.0;

/// Sees to it that tracking takes no more than a share of the time, over some looks together.
///
/// To track more pages takes several looks, since a program may only have been resting.
#[derive(Copy, Clone, Debug)]
pub struct Budget {
    share: f64,
    affordable: u32,
    /// What was spent, and in which time; older looks count for less.
    spent: f64,
    elapsed: f64,
}

impl Budget {
    /// This share of the time, from 0 to 1.
    pub fn new(share: f64) -> Self {
        Self { share: share.clamp(0.0, 1.0), affordable: 0, spent: 0.0, elapsed: 0.0 }
    }

    /// What to do after so much time, in which tracking took so much.
    pub fn look(&mut self, spent_ns: u64, elapsed_ns: u64) -> Verdict {
        let (spent, elapsed) = (spent_ns as f64, elapsed_ns as f64);
        self.spent = self.spent * FADES + spent;
        self.elapsed = self.elapsed * FADES + elapsed;
        let allowed = self.share * self.elapsed;
        if self.spent > allowed || spent > FAR_TOO_MUCH * self.share * elapsed {
            self.affordable = 0;
            // As if it had been half as much all the time.
            self.spent = self.spent.min(allowed) / 2.0;
            return Verdict::Fewer;
        }
        self.affordable = if self.spent < MORE_BELOW * allowed { self.affordable + 1 } else { 0 };
        if self.affordable < PATIENCE {
            return Verdict::Same;
        }
        self.affordable = 0;
        self.spent *= 2.0;
        Verdict::More
    }
}

/// What something takes as a rule: half of what came lately took more.
///
/// Where a machine does other work, some take a thousand times as long, which says nothing of what they cost.
#[derive(Copy, Clone, Debug)]
pub struct Typical {
    ns: f64,
}

/// By so much of it what is typical changes with each.
const STEP: f64 = 1.0 / 32.0;

impl Typical {
    /// So much until more is known.
    pub fn new(ns: u64) -> Self {
        Self { ns: ns.max(1) as f64 }
    }

    /// One took so much; returns what they take as a rule.
    pub fn note(&mut self, ns: u64) -> u64 {
        let ns = ns as f64;
        self.ns *= if ns > self.ns { 1.0 + STEP } else { 1.0 - STEP };
        self.ns = self.ns.max(1.0);
        self.ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typical_is_not_what_takes_long_now_and_then() {
        let mut typical = Typical::new(4_000);
        let mut noted = 0;
        for turn in 0..1_000u64 {
            // One of five waits for a turn of something else.
            noted = typical.note(if turn % 5 == 0 { 8_000_000 } else { 9_000 + turn * 7 % 1_000 });
        }
        assert!((8_500..11_000).contains(&noted), "{noted}");
        for _ in 0..1_000 {
            noted = typical.note(0);
        }
        assert_eq!(noted, 1);
    }

    #[test]
    fn tracking_takes_no_more_than_its_share() {
        // So much is spent for each page that is tracked; the program changes what that is.
        for cost in [1_000, 50_000, 3_000_000] {
            let (mut budget, mut pages, mut spent, mut late) = (Budget::new(0.02), 1024, 0, 0);
            for look in 0..200 {
                let now = cost * pages / 1024;
                spent += now;
                late += if look >= 100 { now } else { 0 };
                match budget.look(now, 10_000_000) {
                    Verdict::Fewer => pages = (pages / 2).max(1),
                    Verdict::More => pages = (pages * 2).min(1 << 20),
                    Verdict::Same => {}
                }
            }
            assert!(spent < 2_000_000_000 / 25, "{cost}: {spent}");
            assert!(late <= 100 * 200_000, "{cost}: {late}");
            assert!(late > 100 * 50_000, "{cost}: {late} is less than can be afforded");
        }
    }
}
