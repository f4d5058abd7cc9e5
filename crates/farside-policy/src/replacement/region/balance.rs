//! What the curves of the latest epochs say, and how memory moves by it (PATH, sections 3.2, 4.1.1
//! and 4.2).

use super::curves::Misses;

/// A curve over the latest epochs: each epoch counts for less the longer it is ago.
#[derive(Copy, Clone, Debug)]
pub struct History {
    less: f64,
    present: f64,
    more: f64,
}

impl History {
    /// Nothing so far.
    pub const NONE: Self = Self { less: 0.0, present: 0.0, more: 0.0 };

    /// Adds the misses of an epoch, which count for `weight` each; those before count for `1 - 1 / epochs` of what they
    /// did.
    pub fn add(&mut self, misses: Misses, weight: f64, epochs: f64) {
        self.scale(1.0 - 1.0 / epochs);
        self.less += misses.less as f64 * weight;
        self.present += misses.present as f64 * weight;
        self.more += misses.more as f64 * weight;
    }

    /// All that was counted counts for so many times as much.
    pub fn scale(&mut self, factor: f64) {
        self.less *= factor;
        self.present *= factor;
        self.more *= factor;
    }

    /// Misses with the present memory.
    pub const fn present(&self) -> f64 {
        self.present
    }

    /// Misses less with a step more.
    ///
    /// Section 4.1.1 prints this and the next the other way round, section 4.2 as here.
    pub fn benefit(&self) -> f64 {
        self.present - self.more
    }

    /// Misses more with a step less.
    pub fn penalty(&self) -> f64 {
        self.less - self.present
    }

    /// The region has a step more now. What another one would save is not known yet; half as much
    /// is a guess that the next epochs correct.
    pub fn grown(&mut self) {
        let benefit = self.benefit();
        *self = Self { less: self.present, present: self.more, more: self.more - benefit / 2.0 };
    }

    /// The region has a step less now. Losing another one is taken to cost as much again.
    pub fn shrunk(&mut self) {
        let penalty = self.penalty();
        *self = Self { less: self.less + penalty, present: self.less, more: self.present };
    }
}

/// A region's part in moving memory.
#[derive(Copy, Clone, Debug)]
pub struct Stake {
    /// The curve of its order; `None` once the region has taken part.
    pub curve: Option<History>,
    /// Whether it can lose a step.
    pub gives: bool,
}

/// Misses over the latest epochs up to which a step of memory counts as idle, or of no benefit.
const IDLE: f64 = 1.0;

/// The next step to move: from the region with the lowest penalty to the one with the highest
/// benefit, if that is higher by more than `margin` times. Idle memory goes to a region with more
/// misses even if a step alone does not help it: a loop needs all its memory at once. Each region
/// takes part once.
pub fn next_move(stakes: &mut [Stake], margin: f64) -> Option<(usize, usize)> {
    let to = best(stakes, |_, curve| Some(curve.benefit()))?;
    let cheapest = |stakes: &[Stake], besides: usize| {
        let gives = |index: usize| index != besides && stakes[index].gives;
        best(stakes, |index, curve| gives(index).then(|| -curve.penalty()))
    };
    let (from, penalty) = cheapest(stakes, to.0)?;
    let helps = to.1 > -penalty * (1.0 + margin) + IDLE;
    let (from, to) = if helps { (from, to.0) } else { idle_move(stakes)? };
    stakes[from].curve = None;
    stakes[to].curve = None;
    Some((from, to))
}

/// The step of idle memory whose region misses least, and the region that misses most.
fn idle_move(stakes: &[Stake]) -> Option<(usize, usize)> {
    let (to, most) = best(stakes, |_, curve| Some(curve.present()))?;
    let (from, least) = best(stakes, |index, curve| {
        let idle = index != to && stakes[index].gives && curve.penalty() < IDLE;
        idle.then(|| -curve.present())
    })?;
    (most > -least).then_some((from, to))
}

/// The region that has taken no part yet and is valued highest; the first of equals.
fn best(stakes: &[Stake], value: impl Fn(usize, &History) -> Option<f64>) -> Option<(usize, f64)> {
    let open = stakes.iter().enumerate().filter_map(|(i, stake)| Some((i, stake.curve.as_ref()?)));
    open.filter_map(|(index, curve)| Some((index, value(index, curve)?)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
}
