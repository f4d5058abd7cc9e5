//! How large each section is (Mira, section 3.4): an integer linear programme.
//!
//! Each section has some choices, each with its bytes and with the seconds that it costs. One of each is taken, so
//! that all seconds together are least and at no time the sections that live then have more bytes than there are. Of a
//! group, whose sections share memory, the largest counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, microlp, variable,
};
use thiserror::Error;

/// A size of a section, and what it costs.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Choice {
    /// Bytes of local memory.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
}

/// A section with its choices.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it may be.
    pub choices: Vec<Choice>,
    /// When it lives, in seconds; sections that do not live at the same time share memory.
    pub lives: RangeInclusive<f64>,
    /// The number of the group whose memory it shares, if it is in one.
    pub group: Option<usize>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// For each section the choice that is taken, by its number.
    pub picks: Vec<usize>,
    /// Seconds that all cost together.
    pub seconds: f64,
}

/// There is less memory than the smallest sections take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the smallest sections take {least} bytes, and there are {budget}")]
pub struct NoRoom {
    /// Bytes that the smallest choices take at once.
    pub least: u64,
    /// Bytes that there are.
    pub budget: u64,
}

/// Bytes are counted in units that a solver's numbers suit.
const UNIT: f64 = 65536.0;

/// Finds the best sizes: the solver ends when it has proven that there are none better.
///
/// # Errors
/// If not even the smallest sections fit.
pub fn solve(parts: &[Part], budget: u64) -> Result<Sizes, NoRoom> {
    let least = least_bytes(parts);
    let no_room = NoRoom { least, budget };
    if least > budget {
        return Err(no_room);
    }
    let mut variables = ProblemVariables::new();
    let picked: Vec<Vec<Variable>> = parts
        .iter()
        .map(|part| part.choices.iter().map(|_| variables.add(variable().binary())).collect())
        .collect();
    let groups: BTreeSet<usize> = parts.iter().filter_map(|part| part.group).collect();
    let sizes: BTreeMap<usize, Variable> =
        groups.into_iter().map(|it| (it, variables.add(variable().min(0)))).collect();
    let cost = |of: &dyn Fn(&Choice) -> f64, which: &dyn Fn(&Part) -> bool| -> Expression {
        let all = parts.iter().zip(&picked).filter(|(part, _)| which(part));
        all.flat_map(|(part, picked)| part.choices.iter().zip(picked))
            .map(|(choice, picked)| of(choice) * *picked)
            .sum()
    };
    // Milliseconds, so that what matters is far from the solver's tolerance.
    let objective = cost(&|it| it.seconds * 1e3, &|_| true);
    let mut model = variables.minimise(objective).using(microlp);
    for picked in &picked {
        model = model.with(constraint!(picked.iter().sum::<Expression>() == 1.0));
    }
    // What a group has, which is no less than any of its sections.
    let bytes = |which: &dyn Fn(&Part) -> bool| cost(&|it| it.bytes as f64 / UNIT, which);
    for (at, part) in parts.iter().enumerate() {
        if let Some(size) = part.group.and_then(|group| sizes.get(&group)) {
            let own = bytes(&|it| std::ptr::eq(it, &parts[at]));
            model = model.with(constraint!(own <= *size));
        }
    }
    for moment in moments(parts) {
        let lives = |part: &Part| part.lives.contains(&moment);
        let alone = bytes(&|part| part.group.is_none() && lives(part));
        let is_there = |group: &usize| parts.iter().any(|it| it.group == Some(*group) && lives(it));
        let shared = sizes.iter().filter(|(group, _)| is_there(group));
        let all = alone + shared.map(|(_, size)| *size).sum::<Expression>();
        model = model.with(constraint!(all <= budget as f64 / UNIT));
    }
    // It was seen above that there is a solution.
    let solution = model.solve().map_err(|_| no_room)?;
    let pick = |picked: &Vec<Variable>| {
        let of = |it: &Variable| solution.value(*it);
        (0..picked.len()).max_by(|one, other| of(&picked[*one]).total_cmp(&of(&picked[*other])))
    };
    let picks: Vec<usize> = picked.iter().map(|it| pick(it).unwrap_or(0)).collect();
    let seconds = parts.iter().zip(&picks).map(|(part, pick)| part.choices[*pick].seconds).sum();
    Ok(Sizes { picks, seconds })
}

/// Bytes of the budget that sizes leave over at all times: too few for a larger choice that costs less.
pub fn left_over(parts: &[Part], sizes: &Sizes, budget: u64) -> u64 {
    let taken = parts.iter().zip(&sizes.picks).map(|(part, pick)| part.choices[*pick].bytes);
    let bytes: Vec<u64> = taken.collect();
    let most = moments(parts).into_iter().map(|it| together(parts, &bytes, it)).max();
    budget.saturating_sub(most.unwrap_or(0))
}

/// Moments that tell all sets of sections which live at the same time: when each begins.
fn moments(parts: &[Part]) -> Vec<f64> {
    let mut moments: Vec<f64> = parts.iter().map(|part| *part.lives.start()).collect();
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    moments
}

fn least_bytes(parts: &[Part]) -> u64 {
    let least = |part: &Part| part.choices.iter().map(|it| it.bytes).min().unwrap_or(u64::MAX / 64);
    let least: Vec<u64> = parts.iter().map(least).collect();
    moments(parts).into_iter().map(|moment| together(parts, &least, moment)).max().unwrap_or(0)
}

/// Bytes of all that live at a moment, which have so many each; of a group those of its largest section.
fn together(parts: &[Part], bytes: &[u64], moment: f64) -> u64 {
    let all = || parts.iter().zip(bytes);
    let alive = all().filter(|(part, _)| part.lives.contains(&moment));
    let groups: BTreeSet<usize> = alive.clone().filter_map(|(part, _)| part.group).collect();
    let largest = |group: usize| {
        all().filter(|(part, _)| part.group == Some(group)).map(|(_, it)| *it).max().unwrap_or(0)
    };
    let alone: u64 = alive.filter(|(part, _)| part.group.is_none()).map(|(_, it)| *it).sum();
    alone + groups.into_iter().map(largest).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(choices: &[(u64, f64)], lives: RangeInclusive<f64>) -> Part {
        let choices =
            choices.iter().map(|(bytes, seconds)| Choice { bytes: bytes << 20, seconds: *seconds });
        Part { name: String::new(), choices: choices.collect(), lives, group: None }
    }

    #[test]
    fn sections_that_do_not_live_at_the_same_time_share_memory() {
        let apart =
            [part(&[(1, 9.0), (10, 1.0)], 0.0..=1.0), part(&[(1, 9.0), (10, 1.0)], 2.0..=3.0)];
        assert_eq!(solve(&apart, 10 << 20).unwrap().picks, [1, 1]);
        let together = apart.map(|it| Part { lives: 0.0..=3.0, ..it });
        let found = solve(&together, 11 << 20).unwrap();
        assert_eq!((found.picks.iter().sum::<usize>(), found.seconds), (1, 10.0));
        assert_eq!(solve(&together, 1 << 20), Err(NoRoom { least: 2 << 20, budget: 1 << 20 }));
        assert_eq!(solve(&[], 0).unwrap().picks, [0; 0]);
    }

    #[test]
    fn of_a_group_the_largest_counts() {
        let choices = &[(1, 9.0), (10, 1.0)];
        let apart = [0, 1, 2].map(|_| part(choices, 0.0..=1.0));
        assert_eq!(solve(&apart, 12 << 20).unwrap().picks.iter().sum::<usize>(), 1);
        let mut shared = apart;
        (shared[0].group, shared[2].group) = (Some(7), Some(7));
        assert_eq!(solve(&shared, 11 << 20).unwrap().picks, [1, 0, 1]);
        assert_eq!(solve(&shared, 20 << 20).unwrap().picks, [1, 1, 1]);
        assert_eq!(solve(&shared, 1 << 20), Err(NoRoom { least: 2 << 20, budget: 1 << 20 }));
    }

    #[test]
    fn what_is_left_over_is_so_at_all_times() {
        let left = |parts: &[Part], budget: u64| {
            left_over(parts, &solve(parts, budget << 20).unwrap(), budget << 20) >> 20
        };
        let both = [0, 1].map(|_| part(&[(1, 9.0), (11, 1.0)], 0.0..=1.0));
        assert_eq!([7, 12, 15, 40].map(|budget| left(&both, budget)), [5, 0, 3, 18]);
        let apart = both.clone().map(|it| Part { lives: 2.0..=3.0, ..it });
        let three = [both[0].clone(), both[1].clone(), apart[0].clone()];
        assert_eq!(left(&three, 15), 3);
        let shared = both.map(|it| Part { group: Some(0), ..it });
        assert_eq!(left(&shared, 15), 4);
        assert_eq!(left(&[], 15), 15);
    }

    /// Best of all ways to pick, one after another.
    fn exhaustive(parts: &[Part], budget: u64) -> Option<f64> {
        let ways: usize = parts.iter().map(|it| it.choices.len()).product();
        let seconds = |way: usize| {
            let mut left = way;
            let picks = parts.iter().map(|part| {
                let pick = left % part.choices.len();
                left /= part.choices.len();
                part.choices[pick]
            });
            let picks: Vec<Choice> = picks.collect();
            let bytes: Vec<u64> = picks.iter().map(|it| it.bytes).collect();
            let fits =
                moments(parts).iter().all(|moment| together(parts, &bytes, *moment) <= budget);
            fits.then(|| picks.iter().map(|it| it.seconds).sum::<f64>())
        };
        (0..ways).filter_map(seconds).min_by(f64::total_cmp)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_other_sizes_are_better(
            parts in prop::collection::vec(
                (
                    prop::collection::vec((1..40_u64, 0.0..5.0_f64), 1..6),
                    0..4_u8,
                    0..4_u8,
                    prop::option::of(0..2_usize),
                ),
                1..5,
            ),
            budget in 1..100_u64,
        ) {
            let parts: Vec<Part> = parts
                .into_iter()
                .map(|(choices, from, to, group)| {
                    let lives = f64::from(from.min(to))..=f64::from(from.max(to));
                    Part { group, ..part(&choices, lives) }
                })
                .collect();
            let found = solve(&parts, budget << 20);
            let best = exhaustive(&parts, budget << 20);
            prop_assert_eq!(found.is_ok(), best.is_some());
            if let (Ok(found), Some(best)) = (found, best) {
                prop_assert!((found.seconds - best).abs() < 1e-6, "{} is not {best}", found.seconds);
                let rest = left_over(&parts, &found, budget << 20);
                for larger in 0..parts.len() {
                    let bytes = |(at, (part, pick)): (usize, (&Part, &usize))| {
                        part.choices[*pick].bytes + if at == larger { rest } else { 0 }
                    };
                    let bytes: Vec<u64> = parts.iter().zip(&found.picks).enumerate().map(bytes).collect();
                    let fits = |moment: f64| together(&parts, &bytes, moment) <= budget << 20;
                    prop_assert!(moments(&parts).into_iter().all(fits));
                }
            }
        }
    }
}
