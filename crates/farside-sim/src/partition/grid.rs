//! Exact shares in multiples of a chunk, by dynamic programming.

use farside_sharing::Program as _;

use super::Partitioning;

/// Shares above floors that no other multiples of a chunk are better than.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Pages above the floor of each program.
    pub extra: Vec<usize>,
    /// Misses then, weighted.
    pub misses: f64,
}

/// How the misses of a program with a number of chunks are told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// As they are.
    Exact,
    /// As if the program had one page less than another chunk on top. With any shares, rounded down
    /// to chunks, the misses told so are no more than those there are: what no shares can undercut.
    Optimistic,
}

/// The sizes of a program at which it has fewer misses, in chunks above its floor, and the misses.
fn steps(
    partitioning: &Partitioning,
    index: usize,
    floor: usize,
    (chunk, chunks): (usize, usize),
    rounding: Rounding,
) -> Vec<(usize, f64)> {
    let program = &partitioning.programs()[index];
    let slack = if rounding == Rounding::Optimistic { chunk - 1 } else { 0 };
    let misses = |units: usize| program.misses(floor + units * chunk + slack);
    let mut steps = vec![(0, misses(0))];
    let mut units = 0;
    // From step to step of the curve: flat stretches take no time.
    while let Some(pages) = program.next_step(floor + units * chunk + slack) {
        units = (pages - floor - slack).div_ceil(chunk);
        if units > chunks {
            break;
        }
        steps.push((units, misses(units)));
    }
    let weight = partitioning.weight(index);
    steps.into_iter().map(|(units, misses)| (units, weight * misses)).collect()
}

/// Hands out `rest` pages above `floors` in chunks of `chunk` pages: the fewest misses, by dynamic
/// programming over programs and over the steps of their curves. Takes time of programs times steps
/// times chunks, and memory of programs times chunks.
pub fn fill(
    partitioning: &Partitioning,
    floors: &[usize],
    rest: usize,
    chunk: usize,
    rounding: Rounding,
) -> Filled {
    let chunks = rest / chunk;
    // By chunks for the programs so far: the misses, and the choice for the last of them.
    let mut misses = vec![0.0; chunks + 1];
    let mut choices: Vec<Vec<u32>> = Vec::new();
    for (index, floor) in floors.iter().enumerate() {
        let before = std::mem::replace(&mut misses, vec![f64::INFINITY; chunks + 1]);
        let mut choice = vec![0; chunks + 1];
        for (units, own) in steps(partitioning, index, *floor, (chunk, chunks), rounding) {
            let all = misses[units..].iter_mut().zip(&mut choice[units..]).zip(&before);
            for ((best, choice), before) in all {
                if before + own < *best {
                    *best = before + own;
                    *choice = units as u32;
                }
            }
        }
        choices.push(choice);
    }
    let mut left = chunks;
    let mut extra: Vec<usize> = Vec::new();
    for choice in choices.iter().rev() {
        let units = choice[left] as usize;
        extra.push(units * chunk);
        left -= units;
    }
    extra.reverse();
    Filled { extra, misses: misses[chunks] }
}
