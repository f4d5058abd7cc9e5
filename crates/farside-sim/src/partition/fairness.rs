//! The least memory with which nobody is slowed down more than need be.

use super::{Partitioning, Program};

/// The smallest shares with which the greatest slowdown is as small as can be: all others that are
/// as fair have at least as many pages for each program.
pub fn fairest(partitioning: &Partitioning) -> Vec<usize> {
    let slowdown = least_worst(partitioning);
    let share = |program: &Program| {
        let steps = program.curve().steps();
        let misses = |(_, misses): &(usize, u64)| misses - program.footprint();
        let behind = steps.partition_point(|step| program.slowdown_of(misses(step)) > slowdown);
        steps.get(behind).map_or(0, |(pages, _)| *pages).max(program.least())
    };
    partitioning.programs().iter().map(share).collect()
}

/// The smallest greatest slowdown.
///
/// The program that is worst off gets what takes it to the next step of its curve. All shares under
/// which the greatest slowdown is less than its present one give it that much, so nothing is lost
/// by doing so; and when it does not fit, the greatest slowdown is this one.
fn least_worst(partitioning: &Partitioning) -> f64 {
    let programs = partitioning.programs();
    let mut shares: Vec<usize> = programs.iter().map(Program::least).collect();
    let mut slowdowns: Vec<f64> =
        programs.iter().zip(&shares).map(|(program, pages)| program.slowdown(*pages)).collect();
    let mut left = partitioning.memory() - shares.iter().sum::<usize>();
    loop {
        let worst = slowdowns.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((worst, slowdown)) = worst else { return 1.0 };
        let Some(step) = programs[worst].next_step(shares[worst]) else { return slowdown };
        let more = step - shares[worst];
        if more > left {
            return slowdown;
        }
        left -= more;
        shares[worst] = step;
        slowdowns[worst] = programs[worst].slowdown(step);
    }
}
