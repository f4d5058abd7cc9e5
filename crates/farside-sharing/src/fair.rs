//! Shares by weight alone.

/// What somebody may have of a whole.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Claim {
    /// What it has in any case.
    pub least: usize,
    /// What it can use.
    pub most: usize,
    /// Its weight, a number above 0.
    pub weight: f64,
}

/// Halvings in the search for the level: as many as a number has digits.
const ROUNDS: usize = 128;

/// Shares out `total` by weights: nobody has less than the least, nor more than it can use while another could use more.
/// What nobody can use is shared out by weights too, so that nothing is left. `None` if there is less than all must have.
pub fn fair(total: usize, claims: &[Claim]) -> Option<Vec<usize>> {
    let sum = |of: fn(&Claim) -> usize| claims.iter().map(of).fold(0, usize::saturating_add);
    if sum(|claim| claim.least) > total {
        return None;
    }
    if sum(|claim| claim.most.max(claim.least)) >= total {
        return Some(level(total, claims));
    }
    let all = |claim: &Claim| Claim {
        least: claim.most.max(claim.least),
        most: usize::MAX,
        weight: claim.weight,
    };
    Some(level(total, &claims.iter().map(all).collect::<Vec<_>>()))
}

/// The shares under the highest level, times their weights, at which they fit.
fn level(total: usize, claims: &[Claim]) -> Vec<usize> {
    let at = |level: f64, claim: &Claim| {
        // A cast of what is too large gives the largest there is.
        let share = (level * claim.weight) as usize;
        share.max(claim.least).min(claim.most.max(claim.least))
    };
    let sum = |level| claims.iter().fold(0, |sum: usize, it| sum.saturating_add(at(level, it)));
    let lightest = claims.iter().map(|claim| claim.weight).fold(f64::INFINITY, f64::min);
    let (mut low, mut high) = (0.0, (total as f64 + 1.0) / lightest);
    for _ in 0..ROUNDS {
        let middle = low + (high - low) / 2.0;
        if sum(middle) <= total {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut shares: Vec<usize> = claims.iter().map(|claim| at(low, claim)).collect();
    // What rounding left over, less than one for each.
    let mut left = total - shares.iter().sum::<usize>().min(total);
    for (share, claim) in shares.iter_mut().zip(claims) {
        let more = left.min(1).min(claim.most.saturating_sub(*share));
        *share += more;
        left -= more;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(least: usize, most: usize, weight: f64) -> Claim {
        Claim { least, most, weight }
    }

    #[test]
    fn who_needs_less_leaves_the_rest_to_others() {
        let claims = [claim(0, 10, 1.0), claim(0, 500, 1.0), claim(0, 500, 1.0)];
        assert_eq!(fair(110, &claims), Some(vec![10, 50, 50]));
        let weighted = [claim(0, 500, 3.0), claim(0, 500, 1.0)];
        assert_eq!(fair(100, &weighted), Some(vec![75, 25]));
        let floors = [claim(60, 500, 1.0), claim(0, 500, 1.0)];
        assert_eq!(fair(100, &floors), Some(vec![60, 40]));
        assert_eq!(fair(100, &[claim(60, 70, 1.0), claim(41, 50, 1.0)]), None);
        assert_eq!(fair(100, &[claim(0, 10, 1.0), claim(0, 10, 1.0)]), Some(vec![50, 50]));
        assert_eq!(fair(7, &[]), Some(vec![]));
    }

    proptest! {
        #[test]
        fn shares_are_the_whole_and_keep_what_must_be(
            total in 0..100_000usize,
            claims in prop::collection::vec((0..3_000usize, 0..9_000usize, 0.01..100.0), 1..40),
        ) {
            let claims: Vec<_> = claims.into_iter().map(|(a, b, w)| claim(a, b, w)).collect();
            let least: usize = claims.iter().map(|claim| claim.least).sum();
            match fair(total, &claims) {
                None => prop_assert!(least > total),
                Some(shares) => {
                    prop_assert_eq!(shares.iter().sum::<usize>(), total);
                    let floors = shares.iter().zip(&claims);
                    prop_assert!(floors.clone().all(|(share, claim)| *share >= claim.least));
                    // Who has more than it can use takes that from nobody who could.
                    let has_surplus = |(share, claim): (&usize, &Claim)| *share > claim.most.max(claim.least);
                    let lacks = |(share, claim): (&usize, &Claim)| *share < claim.most;
                    prop_assert!(!floors.clone().any(has_surplus) || !floors.clone().any(lacks));
                }
            }
        }
    }
}
