//! What is shared out, among whom, and what for.

use std::fmt;

use crate::exchange;
use crate::goal::{Goal, Value};

/// Most programs that memory is shared out among.
pub const MOST_PROGRAMS: usize = 1024;

/// A program that needs a share, as far as the rules have to know it.
pub trait Program {
    /// The fewest pages that its share may have.
    fn least(&self) -> usize;

    /// Misses with so many pages: never more with more of them.
    fn misses(&self, pages: usize) -> f64;

    /// How long it takes with so many pages, as a multiple of the time with enough; at least 1.
    fn slowdown(&self, pages: usize) -> f64;

    /// The smallest memory that is known to have fewer misses than so many pages.
    fn next_step(&self, pages: usize) -> Option<usize>;
}

/// Programs, the memory they have together, and what is wanted.
#[derive(Clone, Debug)]
pub struct Sharing<P> {
    programs: Vec<P>,
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

impl<P: Program> Sharing<P> {
    /// `memory` pages for `programs`.
    ///
    /// # Errors
    /// If the least shares do not fit, or weights and programs do not match.
    pub fn new(programs: Vec<P>, memory: usize, goal: Goal) -> Result<Self, Impossible> {
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
    pub fn programs(&self) -> &[P] {
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
        let least = self.programs.iter().map(P::least).collect();
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
                self.improve(&mut shares, half);
            }
        }
        shares
    }

    /// Exchanges `chunk` pages at a time, then half as many, down to single pages, and at last what takes a program to the
    /// next step of its curve, as long as that makes the whole better.
    pub fn improve(&self, shares: &mut [usize], chunk: usize) {
        exchange::exchange_finer(self, shares, chunk, 1);
        exchange::exchange_steps(self, shares);
    }

    /// What shares are worth: the less, the better.
    pub fn value(&self, shares: &[usize]) -> Value {
        let mut value = Value { worst: 0.0, misses: 0.0 };
        for (index, (program, pages)) in self.programs.iter().zip(shares).enumerate() {
            value.misses += self.weight(index) * program.misses(*pages);
            value.worst = value.worst.max(self.worst_of(program, *pages));
        }
        value
    }

    /// What a miss of a program counts.
    pub fn weight(&self, index: usize) -> f64 {
        match &self.goal {
            Goal::Weights(weights) => weights[index],
            Goal::Throughput | Goal::Fairness => 1.0,
        }
    }

    /// What a program adds to [`Value::worst`].
    pub(crate) fn worst_of(&self, program: &P, pages: usize) -> f64 {
        match self.goal {
            Goal::Fairness => program.slowdown(pages),
            Goal::Throughput | Goal::Weights(_) => 0.0,
        }
    }

    /// Hands out what `shares` leave over, a page at a time to the smallest share.
    pub fn level(&self, mut shares: Vec<usize>) -> Vec<usize> {
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
