//! Shares of programs that run now, and are known by what was seen of them lately.

use std::collections::BTreeMap;

use crate::ahead::grow;
use crate::exchange::exchange_finer;
use crate::fair::{Claim, fair};
use crate::fairness::fairest;
use crate::goal::Goal;
use crate::sharing::{Program, Sharing};

/// Parts of the whole that are the least that moves.
const PARTS: usize = 1 << 12;

/// How much better new shares have to be than those that are, as a share of all misses or of the greatest slowdown.
const WORTH: f64 = 0.05;

/// The same for shares found by looking ahead, beside those of exchanges.
const FARTHER: f64 = 0.01;

/// The same for any shares beside those by weights: by less, programs are alike.
const ALIKE: f64 = 0.0005;

/// By how much shares that follow from weights may be off before they are changed, as a share of them.
const SLACK: f64 = 0.0625;

/// Misses by memory, as a program that runs was seen to make them.
///
/// Whatever is told of a program, its curve never rises, and is made of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenCurve {
    /// Pages, ascending, and misses in a second of the program's work.
    points: Vec<(usize, f64)>,
    /// Seconds that a miss takes.
    miss_seconds: f64,
}

/// Most misses in a second that are believed.
const MOST_MISSES: f64 = 1e12;

/// Longest time, in seconds, that a miss is taken to last.
const LONGEST_MISS: f64 = 10.0;

impl SeenCurve {
    /// A curve through points of pages and misses in a second of work, each of which takes so long.
    pub fn new(points: impl IntoIterator<Item = (usize, f64)>, miss_seconds: f64) -> Self {
        let mut sorted: Vec<(usize, f64)> = points.into_iter().collect();
        sorted.sort_by_key(|(pages, _)| *pages);
        sorted.dedup_by_key(|(pages, _)| *pages);
        let mut least = MOST_MISSES;
        for (_, misses) in &mut sorted {
            // Numbers that are none count as nothing.
            least = if misses.is_nan() { 0.0 } else { misses.clamp(0.0, least) };
            *misses = least;
        }
        let each = if miss_seconds.is_nan() { 0.0 } else { miss_seconds.clamp(0.0, LONGEST_MISS) };
        Self { points: sorted, miss_seconds: each }
    }

    /// Whether it has any misses to save.
    pub fn is_telling(&self) -> bool {
        self.points.first().is_some_and(|(_, misses)| *misses > 0.0)
    }

    /// Misses in a second of work with so many pages.
    pub fn misses(&self, pages: usize) -> f64 {
        let after = self.points.partition_point(|(size, _)| *size <= pages);
        let Some((above, low)) = self.points.get(after) else {
            return self.points.last().map_or(0.0, |(_, misses)| *misses);
        };
        let Some((below, high)) = after.checked_sub(1).map(|before| self.points[before]) else {
            return self.points[0].1;
        };
        let part = (pages - below) as f64 / (above - below) as f64;
        high + (low - high) * part
    }

    /// How much longer the program takes with so many pages than with enough; at least 1.
    pub fn slowdown(&self, pages: usize) -> f64 {
        1.0 + self.misses(pages) * self.miss_seconds
    }

    fn next_step(&self, pages: usize) -> Option<usize> {
        let now = self.misses(pages);
        let after = self.points.partition_point(|(size, _)| *size <= pages);
        let falls = self.points[after..].iter().find(|(_, misses)| *misses < now);
        falls.map(|(pages, _)| *pages)
    }
}

/// How memory is shared out among programs that run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The fewest misses of all together, each times the weight of its program.
    Throughput,
    /// The program that is slowed down most is slowed down as little as can be.
    Fairness,
    /// By weights alone, whatever programs miss.
    Weights,
}

/// A program that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What it misses, if that is known.
    pub curve: Option<SeenCurve>,
    /// The fewest pages that it can run with.
    pub least: usize,
    /// The fewest that it is to have, as far as there are so many.
    pub floor: usize,
    /// Pages that it uses or may soon use.
    pub need: usize,
    /// Its weight, a number above 0.
    pub weight: f64,
    /// To whom it belongs: what one user's programs want concerns no other's.
    pub user: u32,
}

/// There is less memory than programs can run with.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TooLittle {
    /// Pages that they need at least.
    pub least: usize,
}

/// Shares out `total` pages. `before` are the shares that the same programs have had: they stay if others are not much
/// better.
///
/// First memory is divided among users: each the same, as far as its programs can use it. Within what a user has, programs
/// whose curves are not known get their share by weight, and the others share the rest by the rule.
///
/// # Errors
/// If programs could not run.
pub fn share_out(
    total: usize,
    rule: Rule,
    members: &[Member],
    before: Option<&[usize]>,
) -> Result<Vec<usize>, TooLittle> {
    let floors = floors(total, members)?;
    let users = users(total, members, &floors);
    let mut shares = vec![0; members.len()];
    for (user, whole) in users {
        let own: Vec<usize> =
            (0..members.len()).filter(|index| members[*index].user == user).collect();
        let group = Group {
            total: whole,
            rule,
            members: own.iter().map(|index| &members[*index]).collect(),
            floors: own.iter().map(|index| floors[*index]).collect(),
        };
        let before: Option<Vec<usize>> = before
            .filter(|before| before.len() == members.len())
            .map(|before| own.iter().map(|index| before[*index]).collect());
        let its = group.share_out(before.as_deref());
        own.iter().zip(its).for_each(|(index, share)| shares[*index] = share);
    }
    Ok(shares)
}

/// What each has at least: its floor, as far as all together allow.
fn floors(total: usize, members: &[Member]) -> Result<Vec<usize>, TooLittle> {
    let least = members.iter().fold(0, |sum: usize, it| sum.saturating_add(it.least));
    let wanted: Vec<usize> = members.iter().map(|it| it.floor.max(it.least)).collect();
    if wanted.iter().fold(0, |sum: usize, it| sum.saturating_add(*it)) <= total {
        return Ok(wanted);
    }
    let claim = |(member, most): (&Member, &usize)| Claim {
        least: member.least,
        most: *most,
        weight: member.weight,
    };
    let claims: Vec<Claim> = members.iter().zip(&wanted).map(claim).collect();
    fair(total, &claims).ok_or(TooLittle { least })
}

/// What the programs of each user have together.
fn users(total: usize, members: &[Member], floors: &[usize]) -> BTreeMap<u32, usize> {
    let mut claims: BTreeMap<u32, Claim> = BTreeMap::new();
    for (member, floor) in members.iter().zip(floors) {
        let none = Claim { least: 0, most: 0, weight: 1.0 };
        let claim = claims.entry(member.user).or_insert(none);
        claim.least = claim.least.saturating_add(*floor);
        claim.most = claim.most.saturating_add(member.need.max(*floor));
    }
    let of: Vec<Claim> = claims.values().copied().collect();
    // Floors have been made to fit.
    let shares = fair(total, &of).unwrap_or_else(|| of.iter().map(|claim| claim.least).collect());
    claims.into_keys().zip(shares).collect()
}

/// The programs of a user, and what they have together.
struct Group<'a> {
    total: usize,
    rule: Rule,
    members: Vec<&'a Member>,
    floors: Vec<usize>,
}

impl Group<'_> {
    fn share_out(&self, before: Option<&[usize]>) -> Vec<usize> {
        let by_weight = self.by_weight();
        let seen = |index: &usize| self.rule != Rule::Weights && self.curve(*index).is_some();
        let seen: Vec<usize> = (0..self.members.len()).filter(seen).collect();
        let mut shares = match before {
            Some(before) if self.still_fits(before, &by_weight, &seen) => before.to_vec(),
            _ => by_weight,
        };
        if seen.len() > 1 {
            let whole = self.total - others(&shares, &seen);
            let before: Option<Vec<usize>> =
                before.map(|before| seen.iter().map(|index| before[*index]).collect());
            let its = self.by_curves(whole, &seen, before.as_deref());
            seen.iter().zip(its).for_each(|(index, share)| shares[*index] = share);
        }
        shares
    }

    fn curve(&self, index: usize) -> Option<&SeenCurve> {
        self.members[index].curve.as_ref().filter(|curve| curve.is_telling())
    }

    /// By weights alone.
    fn by_weight(&self) -> Vec<usize> {
        let claim = |(member, floor): (&&Member, &usize)| Claim {
            least: *floor,
            most: member.need.max(*floor),
            weight: member.weight,
        };
        let claims: Vec<Claim> = self.members.iter().zip(&self.floors).map(claim).collect();
        fair(self.total, &claims).unwrap_or_else(|| self.floors.clone())
    }

    /// Whether earlier shares still are near those by weight, for programs without curves; whatever they are, they have
    /// to be of the whole, and above floors.
    fn still_fits(&self, before: &[usize], by_weight: &[usize], seen: &[usize]) -> bool {
        let near = |index: usize| {
            let (old, new) = (before[index] as f64, by_weight[index] as f64);
            seen.contains(&index) || (old - new).abs() <= SLACK * new
        };
        before.iter().sum::<usize>() == self.total
            && before.iter().zip(&self.floors).all(|(share, floor)| share >= floor)
            && (0..before.len()).all(near)
    }

    /// By curves, among those of which there are some.
    fn by_curves(&self, total: usize, seen: &[usize], before: Option<&[usize]>) -> Vec<usize> {
        let claims: Vec<Known<'_>> = seen
            .iter()
            .filter_map(|index| {
                Some(Known { curve: self.curve(*index)?, least: self.floors[*index] })
            })
            .collect();
        let weights: Vec<f64> = seen.iter().map(|index| self.members[*index].weight).collect();
        let goal = match self.rule {
            Rule::Fairness => Goal::Fairness,
            Rule::Throughput | Rule::Weights => Goal::Weights(weights),
        };
        let floors: Vec<usize> = claims.iter().map(|claim| claim.least).collect();
        let Ok(sharing) = Sharing::new(claims, total, goal) else { return floors };
        let best = self.best(&sharing, seen);
        // Of programs that gain alike by memory none gets all of it, nor loses what it has.
        let even = self.rest(total, floors, seen);
        let stays = before.filter(|it| is_good_enough(&sharing, it, &best, WORTH));
        let even = is_good_enough(&sharing, &even, &best, ALIKE).then_some(even);
        stays.map(<[usize]>::to_vec).or(even).unwrap_or(best)
    }

    /// The better of PATH's exchanges from equal shares on, and from those that curves tell far ahead.
    fn best(&self, sharing: &Sharing<Known<'_>>, seen: &[usize]) -> Vec<usize> {
        let half = sharing.memory() / (2 * seen.len());
        let finest = (sharing.memory() / PARTS).max(1);
        let mut greedy = sharing.equal();
        exchange_finer(sharing, &mut greedy, half, finest);
        let mut ahead = match sharing.goal() {
            Goal::Fairness => fairest(sharing),
            _ => sharing.programs().iter().map(Known::least).collect(),
        };
        grow(sharing, &mut ahead);
        let mut ahead = self.rest(sharing.memory(), ahead, seen);
        exchange_finer(sharing, &mut ahead, half, finest);
        // As good as the same, exchanges have moved less.
        if is_good_enough(sharing, &greedy, &ahead, FARTHER) { greedy } else { ahead }
    }

    /// Shares with what they leave over, by weights: first to those that may soon use more than they did.
    fn rest(&self, total: usize, shares: Vec<usize>, seen: &[usize]) -> Vec<usize> {
        let claim = |(share, index): (&usize, &usize)| Claim {
            least: *share,
            most: self.members[*index].need.max(*share),
            weight: self.members[*index].weight,
        };
        let claims: Vec<Claim> = shares.iter().zip(seen).map(claim).collect();
        fair(total, &claims).unwrap_or(shares)
    }
}

/// What those that are not among `seen` have.
fn others(shares: &[usize], seen: &[usize]) -> usize {
    let all = shares.iter().enumerate().filter(|(index, _)| !seen.contains(index));
    all.map(|(_, share)| *share).sum()
}

/// Whether earlier shares are as good as new ones, but for such a part.
fn is_good_enough(
    sharing: &Sharing<Known<'_>>,
    before: &[usize],
    new: &[usize],
    worth: f64,
) -> bool {
    let floors = before.iter().zip(sharing.programs());
    if before.iter().sum::<usize>() != sharing.memory()
        || !floors.clone().all(|(share, program)| *share >= program.least)
    {
        return false;
    }
    let (old, new) = (sharing.value(before), sharing.value(new));
    // Less than a miss in a second is nothing.
    old.worst <= new.worst * (1.0 + worth) && old.misses <= new.misses * (1.0 + worth) + 1.0
}

/// A program whose curve is known.
#[derive(Copy, Clone, Debug)]
struct Known<'a> {
    curve: &'a SeenCurve,
    least: usize,
}

impl Program for Known<'_> {
    fn least(&self) -> usize {
        self.least
    }

    fn misses(&self, pages: usize) -> f64 {
        self.curve.misses(pages)
    }

    fn slowdown(&self, pages: usize) -> f64 {
        self.curve.slowdown(pages)
    }

    fn next_step(&self, pages: usize) -> Option<usize> {
        self.curve.next_step(pages)
    }
}
