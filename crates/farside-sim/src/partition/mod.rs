//! Memory shared out among programs that run side by side (PATH section 4.2).
//!
//! Each program is known by its miss-rate curve and gets a share of its own, which it keeps for the
//! whole run: the trace of one program says nothing of when the others run. Three ways to choose
//! the shares:
//!
//! - [`Partitioning::equal`]: the same for each;
//! - [`Partitioning::greedy`]: PATH's exchanges, from the equal shares on;
//! - [`Partitioning::optimum`]: no other shares are better.
//!
//! [`pool`] simulates what systems do otherwise: one memory, and one policy over all programs.

mod exchange;
mod fairness;
mod goal;
mod grid;
mod optimum;
pub mod pool;
mod program;

pub use goal::{Goal, Value};
pub use optimum::Optimum;
pub use program::Program;

use std::fmt;

/// Most programs that memory is shared out among.
pub const MOST_PROGRAMS: usize = 64;

/// Programs, the memory they have together, and what is wanted.
#[derive(Clone, Debug)]
pub struct Partitioning {
    programs: Vec<Program>,
    memory: usize,
    goal: Goal,
}

/// What cannot be shared out.
#[derive(Clone, Debug, PartialEq)]
pub enum Impossible {
    /// No program, or more than [`MOST_PROGRAMS`].
    Programs(usize),
    /// Less memory than the programs' least shares.
    TooLittle {
        /// Pages there are.
        memory: usize,
        /// Pages of the least shares.
        least: usize,
    },
    /// Not one weight for each program.
    Weights {
        /// Weights that were given.
        given: usize,
        /// Programs there are.
        programs: usize,
    },
    /// A weight that is no number above 0.
    Weight(f64),
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Programs(count) => {
                write!(f, "{count} programs; memory is shared among 1 to {MOST_PROGRAMS}")
            }
            Self::TooLittle { memory, least } => write!(
                f,
                "a memory of {memory} pages is too little: the least shares take {least} pages"
            ),
            Self::Weights { given, programs } => {
                write!(f, "{given} weights for {programs} programs: give one for each, in order")
            }
            Self::Weight(weight) => write!(f, "weight {weight}: give a number above 0"),
        }
    }
}

impl std::error::Error for Impossible {}

impl Partitioning {
    /// `memory` pages for `programs`.
    ///
    /// # Errors
    /// If the least shares do not fit, or weights and programs do not match.
    pub fn new(programs: Vec<Program>, memory: usize, goal: Goal) -> Result<Self, Impossible> {
        if programs.is_empty() || programs.len() > MOST_PROGRAMS {
            return Err(Impossible::Programs(programs.len()));
        }
        if let Goal::Weights(weights) = &goal {
            if weights.len() != programs.len() {
                let given = weights.len();
                return Err(Impossible::Weights { given, programs: programs.len() });
            }
            if let Some(weight) = weights.iter().find(|w| !(**w > 0.0 && w.is_finite())) {
                return Err(Impossible::Weight(*weight));
            }
        }
        let least = programs.iter().fold(0, |sum: usize, p| sum.saturating_add(p.least()));
        if memory < least {
            return Err(Impossible::TooLittle { memory, least });
        }
        Ok(Self { programs, memory, goal })
    }

    /// The programs.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Pages there are.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// What is wanted.
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// The same pages for each program, as far as least shares allow.
    pub fn equal(&self) -> Vec<usize> {
        let least = self.programs.iter().map(Program::least).collect();
        self.level(least)
    }

    /// PATH's greedy rule (section 4.2): from equal shares on, pages go from the program that loses
    /// least by it to the one that gains most, as long as that gains more than the other loses.
    ///
    /// With `chunk`, so many pages move at a time: PATH's `g`. The rule sees no further than that:
    /// where a curve is flat for `g` pages and falls behind them, as those of loops do, it stops in
    /// front of the cliff. Without it pages move first by halves of an equal share, and, when that
    /// gains nothing any more, by half as many, down to single pages, and at last by what takes a
    /// program to the next step of its curve: cliffs are seen, and the shares are exact to the
    /// page. A cliff that only several programs together could pay for still is not, nor one that
    /// pays only if several programs change places.
    pub fn greedy(&self, chunk: Option<usize>) -> Vec<usize> {
        let mut shares = self.equal();
        match chunk {
            Some(chunk) => exchange::exchange(self, &mut shares, chunk.max(1)),
            None => {
                let half = self.memory / (2 * self.programs.len());
                exchange::exchange_finer(self, &mut shares, half);
            }
        }
        shares
    }

    /// The best shares there are: see [`Optimum`].
    pub fn optimum(&self) -> Optimum {
        optimum::optimum(self)
    }

    /// What shares are worth: the less, the better.
    pub fn value(&self, shares: &[usize]) -> Value {
        let mut value = Value { worst: 0.0, misses: 0.0 };
        for (index, (program, pages)) in self.programs.iter().zip(shares).enumerate() {
            value.misses += self.weight(index) * program.misses(*pages) as f64;
            value.worst = value.worst.max(self.worst_of(program, *pages));
        }
        value
    }

    /// What a miss of a program counts.
    fn weight(&self, index: usize) -> f64 {
        match &self.goal {
            Goal::Weights(weights) => weights[index],
            Goal::Throughput | Goal::Fairness => 1.0,
        }
    }

    /// What a program adds to [`Value::worst`].
    fn worst_of(&self, program: &Program, pages: usize) -> f64 {
        match self.goal {
            Goal::Fairness => program.slowdown(pages),
            Goal::Throughput | Goal::Weights(_) => 0.0,
        }
    }

    /// Hands out what `shares` leave over, a page at a time to the smallest share.
    fn level(&self, mut shares: Vec<usize>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|index| shares[*index]);
        let mut left = self.memory - shares.iter().sum::<usize>();
        // The smallest shares rise together to the next larger one, until nothing is left.
        for rising in 1..=order.len() {
            let level = shares[order[0]];
            let next = order.get(rising).map_or(usize::MAX, |index| shares[*index]);
            let rise = (next - level).min(left / rising);
            order[..rising].iter().for_each(|index| shares[*index] += rise);
            left -= rise * rising;
            if shares[order[0]] < next {
                order[..left].iter().for_each(|index| shares[*index] += 1);
                break;
            }
        }
        shares
    }
}
