//! The best shares.

use farside_sharing::fairness::fairest;

use super::grid::{Rounding, fill};
use super::{Goal, Partitioning, Program, Value};

/// Most chunks that memory is divided into: one of this many pages (64 MiB) is shared out exactly.
const MOST_CHUNKS: usize = 1 << 14;

/// The best shares, and how far from the best they can be.
///
/// The greatest slowdown is exact always. The misses are exact if `chunk` is 1: no shares have
/// fewer. In larger memories the best shares of whole chunks are found, improved by exchanges of
/// parts of a chunk; no shares at all have fewer misses than `bound`.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Pages for each program; together the whole memory.
    pub shares: Vec<usize>,
    /// What they are worth.
    pub value: Value,
    /// What [`Value::misses`] cannot be less than, where the greatest slowdown is `value.worst`.
    pub bound: f64,
    /// Pages in a chunk.
    pub chunk: usize,
}

impl Optimum {
    /// Whether no shares can be better.
    pub fn is_exact(&self) -> bool {
        self.bound >= self.value.misses
    }
}

/// The best shares there are.
pub fn optimum(partitioning: &Partitioning) -> Optimum {
    let programs = partitioning.programs();
    let floors = match partitioning.goal() {
        Goal::Fairness => fairest(partitioning),
        Goal::Throughput | Goal::Weights(_) => {
            programs.iter().map(farside_sharing::Program::least).collect()
        }
    };
    let rest = partitioning.memory() - floors.iter().sum::<usize>();
    let wanted = |(program, floor): (&Program, &usize)| program.enough().saturating_sub(*floor);
    let wanted: Vec<usize> = programs.iter().zip(&floors).map(wanted).collect();
    let all = wanted.iter().fold(0, |sum: usize, pages| sum.saturating_add(*pages));
    if all <= rest {
        return finish(partitioning, floors.iter().zip(&wanted).map(|(a, b)| a + b).collect());
    }
    let chunk = rest.div_ceil(MOST_CHUNKS).max(1);
    let filled = fill(partitioning, &floors, rest, chunk, Rounding::Exact);
    let found =
        finish(partitioning, floors.iter().zip(&filled.extra).map(|(a, b)| a + b).collect());
    if chunk == 1 {
        return found;
    }
    let bound = fill(partitioning, &floors, rest, chunk, Rounding::Optimistic).misses;
    improve(partitioning, Optimum { bound, chunk, ..found })
}

/// The optimum with these shares, and what they leave over handed out.
fn finish(partitioning: &Partitioning, shares: Vec<usize>) -> Optimum {
    let shares = partitioning.level(shares);
    let value = partitioning.value(&shares);
    Optimum { shares, value, bound: value.misses, chunk: 1 }
}

/// Moves parts of chunks; what the greedy rule finds is taken if it is better.
fn improve(partitioning: &Partitioning, found: Optimum) -> Optimum {
    let Optimum { mut shares, bound, chunk, .. } = found;
    partitioning.improve(&mut shares, chunk);
    let mut value = partitioning.value(&shares);
    let greedy = partitioning.greedy(None);
    if partitioning.value(&greedy) < value {
        value = partitioning.value(&greedy);
        shares = greedy;
    }
    Optimum { shares, value, bound, chunk }
}
