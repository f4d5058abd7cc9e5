//! PATH's greedy rule: pages from the program that loses least by it to the one that gains most.

use std::cmp::Ordering;

use crate::goal::Value;
use crate::sharing::{Program, Sharing};

/// Most exchanges with one size of chunk. Each makes the whole better, so that there is an end
/// anyway; this bounds the time until then.
const MOST_ROUNDS: usize = 1 << 20;

/// What is gained has to be more than such a part of the misses that there are: less is what is rounded.
const ROUNDED: f64 = 1e-12;

/// Exchanges chunks of `chunk` pages, then half as many, down to `finest` pages.
pub fn exchange_finer<P: Program>(
    sharing: &Sharing<P>,
    shares: &mut [usize],
    chunk: usize,
    finest: usize,
) {
    let mut chunk = chunk.max(1);
    loop {
        exchange(sharing, shares, chunk);
        if chunk <= finest.max(1) {
            break;
        }
        chunk /= 2;
    }
}

/// Exchanges what takes the program that gets it to the next step of its curve.
pub fn exchange_steps<P: Program>(sharing: &Sharing<P>, shares: &mut [usize]) {
    for _ in 0..MOST_ROUNDS {
        let step = |to: &usize| {
            let next = sharing.programs()[*to].next_step(shares[*to])?;
            exchange_to(sharing, shares, *to, next - shares[*to])
        };
        let best = (0..shares.len()).filter_map(|to| step(&to));
        let best = best.min_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        let Some((_, better)) = best else { return };
        shares.copy_from_slice(&better);
    }
}

/// What the whole is worth, and the shares, after the best exchange that gives `pages` pages to
/// `to`;
/// `None` if none makes it better.
fn exchange_to<P: Program>(
    sharing: &Sharing<P>,
    shares: &[usize],
    to: usize,
    pages: usize,
) -> Option<(Value, Vec<usize>)> {
    let mut best = (sharing.value(shares), None);
    for (from, program) in sharing.programs().iter().enumerate() {
        if from == to || shares[from] < program.least().saturating_add(pages) {
            continue;
        }
        let mut changed = shares.to_vec();
        changed[from] -= pages;
        changed[to] += pages;
        let value = sharing.value(&changed);
        if value < best.0 {
            best = (value, Some(changed));
        }
    }
    best.1.map(|shares| (best.0, shares))
}

/// Exchanges chunks of `chunk` pages until no exchange of two programs makes the whole better.
pub fn exchange<P: Program>(sharing: &Sharing<P>, shares: &mut [usize], chunk: usize) {
    let index: Vec<usize> = (0..shares.len()).collect();
    let mut states: Vec<_> =
        index.iter().map(|i| State::of(sharing, *i, shares[*i], chunk)).collect();
    for _ in 0..MOST_ROUNDS {
        let Some((from, to)) = best(&states) else { return };
        shares[from] -= chunk;
        shares[to] += chunk;
        for i in [from, to] {
            states[i] = State::of(sharing, i, shares[i], chunk);
        }
    }
}

/// What a program is worth with its share, with a chunk less and with a chunk more.
struct State {
    now: Value,
    less: Option<Value>,
    more: Value,
}

impl State {
    fn of<P: Program>(sharing: &Sharing<P>, index: usize, pages: usize, chunk: usize) -> Self {
        let program = &sharing.programs()[index];
        let value = |pages: usize| Value {
            worst: sharing.worst_of(program, pages),
            misses: sharing.weight(index) * program.misses(pages),
        };
        let less = pages.checked_sub(chunk).filter(|less| *less >= program.least());
        Self { now: value(pages), less: less.map(value), more: value(pages.saturating_add(chunk)) }
    }
}

impl State {
    /// What a chunk more saves.
    fn benefit(&self) -> f64 {
        self.now.misses - self.more.misses
    }

    /// What a chunk less costs, if it can be given.
    fn penalty(&self) -> Option<f64> {
        self.less.map(|less| less.misses - self.now.misses)
    }
}

/// The exchange that makes the whole best, if one makes it better: the programs that give and get.
fn best(states: &[State]) -> Option<(usize, usize)> {
    if states.iter().all(|state| state.now.worst == 0.0) {
        return best_of_misses(states);
    }
    let now = states.iter().map(|state| state.now.worst).fold(0.0, f64::max);
    let worst = three_worst(states);
    let mut best = (Value { worst: now, misses: -rounded(states) }, None);
    for (to, gets) in states.iter().enumerate() {
        for (from, gives) in states.iter().enumerate().filter(|(from, _)| *from != to) {
            let (Some(less), Some(penalty)) = (gives.less, gives.penalty()) else { continue };
            let others = worst.iter().find(|(index, _)| *index != from && *index != to);
            let others = others.map_or(0.0, |(_, worst)| *worst);
            let value = Value {
                worst: others.max(less.worst).max(gets.more.worst),
                misses: penalty - gets.benefit(),
            };
            if value < best.0 {
                best = (value, Some((from, to)));
            }
        }
    }
    best.1
}

/// The same where only misses count: the least penalty, and the greatest benefit of another program.
fn best_of_misses(states: &[State]) -> Option<(usize, usize)> {
    let penalty = |(index, state): (usize, &State)| Some((index, state.penalty()?));
    let mut least: Vec<(usize, f64)> = states.iter().enumerate().filter_map(penalty).collect();
    least.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut best = (-rounded(states), None);
    for (to, gets) in states.iter().enumerate() {
        let Some((from, penalty)) = least.iter().find(|(from, _)| *from != to) else { continue };
        if penalty - gets.benefit() < best.0 {
            best = (penalty - gets.benefit(), Some((*from, to)));
        }
    }
    best.1
}

/// By how much sums of misses may be off.
fn rounded(states: &[State]) -> f64 {
    ROUNDED * states.iter().map(|state| state.now.misses).fold(0.0, f64::max)
}

/// The three programs that are worst off: one of them is in no exchange of two.
fn three_worst(states: &[State]) -> Vec<(usize, f64)> {
    let mut worst: Vec<_> = states.iter().map(|state| state.now.worst).enumerate().collect();
    worst.sort_by(|a, b| b.1.total_cmp(&a.1));
    worst.truncate(3);
    worst
}
