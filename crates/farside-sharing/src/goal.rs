//! What memory is shared out for.

use std::cmp::Ordering;

/// What is wanted of the shares.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// The fewest misses of all programs together. As every miss takes the same time, and work is
    /// the same in any memory, this is the least sum of projected times (PATH sections 4.2 and
    /// 6.2).
    Throughput,
    /// Miss rates in balance (PATH section 4.2): the program that is slowed down most is slowed
    /// down as little as can be, and among the shares that do this those with the fewest misses.
    ///
    /// The paper leaves open what a rate is measured against; here it is the program's work, so
    /// that the rate of misses is the slowdown less one, in units of a miss.
    Fairness,
    /// The fewest misses, those of each program times its weight: the priority of PATH section 4.2.
    Weights(Vec<f64>),
}

/// What shares are worth. The lesser is the better one: first by `worst`, then by `misses`.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Value {
    /// The greatest slowdown of a program, if that matters for the goal; else 0.
    pub worst: f64,
    /// Misses, weighted if weights are given.
    pub misses: f64,
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let worst = self.worst.partial_cmp(&other.worst)?;
        Some(worst.then(self.misses.partial_cmp(&other.misses)?))
    }
}
