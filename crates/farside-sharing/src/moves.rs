//! From the limits that are to those that are to be, so that all together never have more than there is.

use crate::fair::{Claim, fair};

/// Where a program stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What it has, or may have, or has been promised: the greatest of these.
    pub claim: usize,
    /// The fewest pages that it can run with.
    pub least: usize,
    /// What it is to have.
    pub target: usize,
}

/// What is to be ordered now, for each program; `None` for those that stay as they are.
///
/// Limits are lowered at once. They are raised as far as `total` is more than all claims together, which were there before
/// anything was lowered: what is lowered counts as claimed until it is seen to have been given up.
pub fn orders(total: usize, standings: &[Standing]) -> Vec<Option<usize>> {
    let claimed = standings.iter().fold(0, |sum: usize, it| sum.saturating_add(it.claim));
    let free = total.saturating_sub(claimed);
    let wants = |it: &Standing| it.target.saturating_sub(it.claim);
    let claims: Vec<Claim> =
        standings.iter().map(|it| Claim { least: 0, most: wants(it), weight: 1.0 }).collect();
    let wanted = claims.iter().fold(0, |sum: usize, it| sum.saturating_add(it.most));
    let given = fair(free.min(wanted), &claims).unwrap_or_default();
    let order = |(it, given): (&Standing, usize)| match it.target {
        target if target < it.claim => Some(target),
        // Less than that it could not run with.
        _ if given > 0 && it.claim + given >= it.least.min(it.target) => Some(it.claim + given),
        _ => None,
    };
    standings.iter().zip(given).map(order).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn standing(claim: usize, target: usize) -> Standing {
        Standing { claim, least: 1, target }
    }

    #[test]
    fn what_is_lowered_first_is_what_others_get_then() {
        let first = orders(100, &[standing(80, 30), standing(20, 70)]);
        assert_eq!(first, [Some(30), None]);
        // Some of it has been given up.
        let then = orders(100, &[standing(55, 30), standing(20, 70)]);
        assert_eq!(then, [Some(30), Some(45)]);
        assert_eq!(orders(100, &[standing(30, 30), standing(70, 70)]), [None, None]);
    }

    #[test]
    fn who_joins_gets_no_less_than_it_can_run_with() {
        let joins = Standing { claim: 0, least: 10, target: 50 };
        assert_eq!(orders(100, &[standing(95, 50), joins])[1], None);
        assert_eq!(orders(100, &[standing(90, 50), joins])[1], Some(10));
    }

    /// A program that takes its time to obey.
    #[derive(Clone, Debug)]
    struct Slow {
        limit: usize,
        ordered: usize,
        resident: usize,
    }

    proptest! {
        #[test]
        fn all_together_never_have_more_than_there_is(
            targets in prop::collection::vec(prop::collection::vec(1..100usize, 8), 1..12),
            speeds in prop::collection::vec(1..40usize, 8),
        ) {
            let total = 400;
            let mut programs = vec![Slow { limit: 0, ordered: 0, resident: 0 }; 8];
            for round in &targets {
                let sum: usize = round.iter().sum();
                for step in 0..200 {
                    let standings: Vec<_> = programs.iter().zip(round).map(|(program, target)| {
                        let claim = program.limit.max(program.resident).max(program.ordered);
                        Standing { claim, least: 1, target: target * total / sum.max(total) }
                    }).collect();
                    for (program, order) in programs.iter_mut().zip(orders(total, &standings)) {
                        program.ordered = order.unwrap_or(program.ordered);
                    }
                    for (program, speed) in programs.iter_mut().zip(&speeds) {
                        program.limit = program.ordered.max(program.limit.saturating_sub(*speed));
                        // It uses all it may, and gives up what it may not.
                        program.resident = program.limit;
                    }
                    let has: usize = programs.iter().map(|it| it.limit.max(it.resident)).sum();
                    prop_assert!(has <= total, "{has} in step {step}: {programs:?}");
                }
                for (program, target) in programs.iter().zip(round) {
                    prop_assert_eq!(program.limit, target * total / sum.max(total));
                }
            }
        }
    }
}
