//! Whether a program has become faster, or its times only scatter.

/// What a comparison says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The new times are shorter.
    Faster,
    /// The new times are longer.
    Slower,
    /// It cannot be told from so many runs.
    Open,
}

/// How likely times that do not differ may be to look as they do in a single comparison, of so many after each of which more runs
/// are made if it does not tell, so that one time in twenty or less is taken for faster by the end (as Pocock, 1977; the values
/// were found by trying with runs of which some take much longer than others).
pub fn level(looks: u32) -> f64 {
    match looks {
        0..=1 => 0.05,
        2..=4 => 0.03,
        5..=7 => 0.016,
        _ => 0.012,
    }
}

/// Compares two sets of times (Mann and Whitney, 1947: one-sided, exact, without an assumption on how they scatter).
fn compare(old: &[f64], new: &[f64], level: f64) -> Verdict {
    if p_less(new, old) <= level {
        Verdict::Faster
    } else if p_less(old, new) <= level {
        Verdict::Slower
    } else {
        Verdict::Open
    }
}

/// Compares times of runs that were made in turn, each beside the one at the same place of the other list. What slows down a
/// machine for a while does so with both of them: their ratios tell more (Wilcoxon's signed ranks, 1945: one-sided, exact)
/// than all times together, if there are enough. A difference tells that is this unlikely by chance.
pub fn compare_in_turn(old: &[f64], new: &[f64], level: f64) -> Verdict {
    let verdict = compare(old, new, level);
    if verdict != Verdict::Open || old.len() != new.len() {
        return verdict;
    }
    let ratios: Vec<f64> = old.iter().zip(new).map(|(old, new)| (new / old).ln()).collect();
    let mirrored: Vec<f64> = ratios.iter().map(|it| -it).collect();
    if p_below(&ratios) <= level {
        Verdict::Faster
    } else if p_below(&mirrored) <= level {
        Verdict::Slower
    } else {
        Verdict::Open
    }
}

/// How likely it is, if each is as likely above 0 as below, that those above have so small ranks, by their distance from 0.
fn p_below(differences: &[f64]) -> f64 {
    let mut sorted: Vec<f64> =
        differences.iter().copied().filter(|it| it.is_finite() && *it != 0.0).collect();
    sorted.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
    // Twice the ranks: of those that are equal, their mean.
    let (mut ranks, mut above, mut start) = (Vec::new(), 0, 0);
    for equal in sorted.chunk_by(|one, other| one.abs() == other.abs()) {
        let twice = 2 * start + equal.len() + 1;
        ranks.extend(std::iter::repeat_n(twice, equal.len()));
        above += twice * equal.iter().filter(|it| **it > 0.0).count();
        start += equal.len();
    }
    // Of all choices of some of them, how many have each sum.
    let mut sums = vec![0.0; ranks.iter().sum::<usize>() + 1];
    sums[0] = 1.0;
    for rank in &ranks {
        for sum in (*rank..sums.len()).rev() {
            sums[sum] += sums[sum - rank];
        }
    }
    sums[..=above].iter().sum::<f64>() / sums.iter().sum::<f64>()
}

/// How likely it is, if both come from the same, that so few pairs, one of each, have the one of `less` greater.
fn p_less(less: &[f64], more: &[f64]) -> f64 {
    if less.is_empty() || more.is_empty() {
        return 1.0;
    }
    // Of equal ones, half a pair is; halves count towards the same.
    let pairs = less.iter().flat_map(|one| more.iter().map(move |other| (one, other)));
    let twice: usize = pairs
        .map(|(one, other)| match one.total_cmp(other) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Greater => 2,
        })
        .sum();
    let counts = orders(less.len(), more.len());
    let few: f64 = counts.iter().take(twice.div_ceil(2) + 1).sum();
    few / counts.iter().sum::<f64>()
}

/// Of all orders of so many and so many, how many have each number of pairs in which the first is greater.
fn orders(one: usize, other: usize) -> Vec<f64> {
    // By how many of the first there are: the last in order is one of the first, greater than all of the others, or
    // not.
    let mut table = vec![vec![1.0]; other + 1];
    for taken in 1..=one {
        let mut next = vec![vec![1.0]];
        for others in 1..=other {
            let mut counts = vec![0.0; taken * others + 1];
            for (pairs, count) in table[others].iter().enumerate() {
                counts[pairs + others] += count;
            }
            for (pairs, count) in next[others - 1].iter().enumerate() {
                counts[pairs] += count;
            }
            next.push(counts);
        }
        table = next;
    }
    table.swap_remove(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: f64 = 0.05;

    fn compare(old: &[f64], new: &[f64]) -> Verdict {
        super::compare(old, new, LEVEL)
    }

    fn compare_in_turn(old: &[f64], new: &[f64]) -> Verdict {
        super::compare_in_turn(old, new, LEVEL)
    }

    #[test]
    fn times_apart_are_told_apart_and_others_are_not() {
        assert_eq!(compare(&[3.0, 3.1, 3.2], &[2.0, 2.1, 2.9]), Verdict::Faster);
        assert_eq!(compare(&[2.0, 2.1, 2.9], &[3.0, 3.1, 3.2]), Verdict::Slower);
        assert_eq!(compare(&[2.0, 3.1, 2.9], &[3.0, 2.5, 3.2]), Verdict::Open);
        // Two of each cannot tell.
        assert_eq!(compare(&[3.0, 3.1], &[1.0, 1.1]), Verdict::Open);
        assert_eq!(compare(&[], &[1.0]), Verdict::Open);
        assert_eq!(compare(&[1.0; 5], &[1.0; 5]), Verdict::Open);
    }

    #[test]
    fn runs_in_turn_are_told_apart_though_the_machine_slows_down() {
        let old = [1.0, 1.3, 1.2, 1.6, 1.1];
        let faster = old.map(|it| 0.95 * it);
        assert_eq!(compare(&old, &faster), Verdict::Open);
        assert_eq!(compare_in_turn(&old, &faster), Verdict::Faster);
        assert_eq!(compare_in_turn(&faster, &old), Verdict::Slower);
        // Of four pairs one in sixteen is so by chance; not all that were made have another one beside them.
        assert_eq!(compare_in_turn(&old[..4], &faster[..4]), Verdict::Open);
        assert_eq!(compare_in_turn(&old, &faster[..4]), Verdict::Open);
        assert_eq!(compare_in_turn(&old, &old), Verdict::Open);
        // What is told apart without that is.
        assert_eq!(compare_in_turn(&[3.0, 3.1, 3.2], &[2.0, 2.1, 2.9]), Verdict::Faster);
    }

    /// Of so many comparisons of what does not differ, how many take one for faster, if it is looked after each of `looks` runs
    /// from the third on, of which one in ten takes much longer.
    fn taken_for_faster(level: f64, looks: usize, comparisons: u32) -> u32 {
        let mut state = 7_u64;
        let mut chance = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / f64::from(1 << 31)
        };
        let mut run = move || {
            let scatter = (0..12).map(|_| chance()).sum::<f64>() - 6.0;
            let held_up = if chance() < 0.1 { 0.2 * chance() } else { 0.0 };
            (0.03 * scatter + held_up).exp()
        };
        let mut compare = || {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            for round in 1..looks + 3 {
                old.push(run());
                new.push(run());
                match super::compare_in_turn(&old, &new, level) {
                    Verdict::Open => {}
                    verdict if round >= 3 => return verdict,
                    _ => {}
                }
            }
            Verdict::Open
        };
        (0..comparisons).map(|_| u32::from(compare() == Verdict::Faster)).sum()
    }

    #[test]
    fn to_look_often_does_not_make_chance_likelier() {
        for looks in [1, 4, 7, 11] {
            let taken = taken_for_faster(level(looks), looks as usize, 2000);
            assert!(taken <= 120, "{taken} of 2000 with {looks} looks");
        }
        assert!(taken_for_faster(LEVEL, 7, 2000) > 160, "the level for one look");
    }

    #[test]
    fn all_signs_are_counted() {
        assert_eq!(p_below(&[-0.1, -0.2, -0.3, -0.4, -0.5]), 1.0 / 32.0);
        assert_eq!(p_below(&[0.1, -0.2, -0.3, -0.4, -0.5]), 2.0 / 32.0);
        // 0, 1, 2, and 3 in two ways.
        assert_eq!(p_below(&[-0.1, -0.2, 0.3, -0.4, -0.5]), 5.0 / 32.0);
        // Two share the lowest ranks, 1.5 each.
        assert_eq!(p_below(&[0.1, -0.1, -0.3]), 3.0 / 8.0);
        assert_eq!(p_below(&[]), 1.0);
    }

    #[test]
    fn all_orders_are_counted() {
        assert_eq!(orders(3, 3), [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0]);
        assert_eq!(orders(1, 2), [1.0, 1.0, 1.0]);
        assert_eq!(orders(5, 4).iter().sum::<f64>(), 126.0);
    }
}
