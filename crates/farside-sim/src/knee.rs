//! Knees of a miss-rate curve: sizes of memory beyond which more memory pays much less.
//!
//! A knee is where a curve lies furthest below the straight line between its ends, both axes scaled to
//! 0..1 (Kneedle: Satopää, Albrecht, Irwin and Raghavan, 2011). The same is asked again of the parts
//! before and behind a knee, so that a curve with several steps has several knees. The curve is the
//! projected run time on a logarithmic scale: misses that cost next to nothing make no knee, be they ever
//! so many.

use crate::curve::Curve;
use crate::simulation::Costs;

/// How far below the line a knee lies at least, as a share of the whole height.
pub const LEAST_DEPTH: f64 = 0.05;

/// Sizes closer together than this ratio have one knee.
const NEAR: f64 = 1.5;

/// Sizes at which the curve is looked at, at most.
const SIZES: usize = 4096;

/// A knee of a curve.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Knee {
    /// Pages of memory.
    pub pages: usize,
    /// Misses with them.
    pub misses: u64,
    /// Run time with them to that without any wait for a page that was there before, less one.
    pub slowdown: f64,
    /// How far below the line it lies.
    pub depth: f64,
}

/// The knees of `curve` by size, at most `most`: the deepest ones.
pub fn knees(curve: &Curve, data_accesses: u64, costs: &Costs, most: usize) -> Vec<Knee> {
    let work_ns = (costs.access_ns * data_accesses as f64).max(1.0);
    let page_ns = costs.byte_ns * farside_trace::PAGE_SIZE as f64;
    let fault_ns = costs.fault_ns + costs.latency_ns + page_ns;
    let cold = curve.misses(usize::MAX);
    let slowdown = |misses: u64| (misses - cold) as f64 * fault_ns / work_ns;
    let all: Vec<_> = curve.steps().iter().map(|(pages, misses)| (*pages, *misses)).collect();
    let every = all.len().div_ceil(SIZES).max(1);
    let last = all.len() - 1;
    let kept = all.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last);
    let points: Vec<(usize, u64)> = kept.map(|(_, point)| *point).collect();
    let (width, height) = (points[points.len() - 1].0 as f64, slowdown(points[0].1).ln_1p());
    if width == 0.0 || height == 0.0 {
        return Vec::new();
    }
    let scaled: Vec<(f64, f64)> = points
        .iter()
        .map(|(pages, misses)| (*pages as f64 / width, slowdown(*misses).ln_1p() / height))
        .collect();
    let mut found = Vec::new();
    let mut parts = vec![(0, points.len() - 1)];
    while let Some((from, to)) = parts.pop() {
        if let Some((at, depth)) = deepest(&scaled[from..=to]) {
            let (pages, misses) = points[from + at];
            found.push(Knee { pages, misses, slowdown: slowdown(misses), depth });
            parts.extend([(from, from + at), (from + at, to)]);
        }
    }
    found.sort_by(|a, b| b.depth.total_cmp(&a.depth));
    // Of knees close by each other the deepest counts.
    let mut apart: Vec<Knee> = Vec::new();
    for knee in found {
        let near = |other: &Knee| {
            let (less, more) = (knee.pages.min(other.pages), knee.pages.max(other.pages));
            more as f64 <= less as f64 * NEAR
        };
        if apart.len() < most && !apart.iter().any(near) {
            apart.push(knee);
        }
    }
    apart.sort_by_key(|knee| knee.pages);
    apart
}

/// The inner point furthest below the line between the ends, and how far, if it is far enough.
fn deepest(points: &[(f64, f64)]) -> Option<(usize, f64)> {
    let (first, last) = (points.first()?, points.last()?);
    let width = (last.0 - first.0).max(f64::MIN_POSITIVE);
    let line = |x: f64| first.1 + (last.1 - first.1) * (x - first.0) / width;
    let inner = points.iter().enumerate().take(points.len() - 1).skip(1);
    let depths = inner.map(|(at, (x, y))| (at, line(*x) - y));
    depths.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, depth)| *depth >= LEAST_DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Distances;

    /// The curve of a program whose references have these distances, so often each.
    fn curve(distances: &[(usize, u64)], cold: usize) -> Curve {
        let mut counts = Distances::default();
        (0..cold).for_each(|_| counts.add_cold());
        for (distance, count) in distances {
            (0..*count).for_each(|_| counts.add(*distance));
        }
        counts.curve()
    }

    fn pages(curve: &Curve) -> Vec<usize> {
        let found = knees(curve, curve.references(), &Costs::default(), 4);
        found.iter().map(|knee| knee.pages).collect()
    }

    #[test]
    fn each_working_set_has_its_knee() {
        let two = curve(&[(10, 100_000), (300, 1_000), (1_000, 20)], 1_000);
        assert_eq!(pages(&two), [10, 300]);
        let found = knees(&two, two.references(), &Costs::default(), 4);
        assert_eq!((found[0].misses, found[1].misses), (2_020, 1_020));
        assert!(found[0].slowdown > found[1].slowdown);
        assert_eq!(knees(&two, two.references(), &Costs::default(), 1).len(), 1);
    }

    #[test]
    fn knees_close_together_are_one() {
        let close = curve(&[(10, 100_000), (12, 20_000), (300, 1_000), (1_000, 20)], 1_000);
        assert_eq!(pages(&close), [12, 300]);
    }

    #[test]
    fn a_loop_and_an_empty_trace_have_none() {
        assert_eq!(pages(&curve(&[(500, 10_000)], 500)), [0; 0]);
        assert_eq!(pages(&curve(&[], 0)), [0; 0]);
        assert_eq!(pages(&curve(&[], 100)), [0; 0]);
    }
}
