//! The miss-rate curve of a process, in memory shared with the supervisor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sizes of memory for which misses are shown: none, all, and so many less two between.
pub const CURVE_POINTS: usize = 129;

/// How many misses there would be with each size of memory; the last second counts for more than those before.
#[repr(C)]
#[derive(Debug)]
pub struct ShownCurve {
    pages: AtomicU64,
    span_ns: AtomicU64,
    misses: [AtomicU64; CURVE_POINTS],
}

/// Values of a [`ShownCurve`] at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// Pages that the program had touched.
    pub pages: u64,
    /// Nanoseconds in which there would have been so many misses.
    pub span_ns: u64,
    /// Misses with nothing, with a part, and with all of `pages` of memory.
    pub misses: [u64; CURVE_POINTS],
}

impl Default for ShownCurve {
    fn default() -> Self {
        Self::new()
    }
}

impl ShownCurve {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self {
            pages: AtomicU64::new(0),
            span_ns: AtomicU64::new(0),
            misses: [const { AtomicU64::new(0) }; CURVE_POINTS],
        }
    }

    /// Shows a curve over `pages` pages, of which `misses` tells how many there were in `span_ns`.
    pub fn show(&self, pages: u64, span_ns: u64, misses: impl Fn(u64) -> u64) {
        self.pages.store(pages, Relaxed);
        self.span_ns.store(span_ns, Relaxed);
        for (point, shown) in self.misses.iter().enumerate() {
            shown.store(misses(size(pages, point)), Relaxed);
        }
    }

    /// A copy of the current values.
    pub fn snapshot(&self) -> Curve {
        Curve {
            pages: self.pages.load(Relaxed),
            span_ns: self.span_ns.load(Relaxed),
            misses: std::array::from_fn(|point| self.misses[point].load(Relaxed)),
        }
    }
}

/// The size of memory, in pages, of a point of a curve over `pages` pages.
fn size(pages: u64, point: usize) -> u64 {
    (u128::from(pages) * point as u128 / (CURVE_POINTS as u128 - 1)) as u64
}

impl Curve {
    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        self.pages > 0 && self.span_ns > 0
    }

    /// Sizes of memory in pages, and misses a second.
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let per_second = 1e9 / self.span_ns.max(1) as f64;
        let misses = self.misses.iter().enumerate();
        misses.map(move |(point, misses)| (size(self.pages, point), *misses as f64 * per_second))
    }

    /// Misses a second with so many pages of memory.
    pub fn rate(&self, pages: u64) -> f64 {
        let points: Vec<(u64, f64)> = self.points().collect();
        let after = points.partition_point(|(size, _)| *size <= pages);
        let Some((above, low)) = points.get(after) else {
            return points.last().map_or(0.0, |(_, rate)| *rate);
        };
        let (below, high) = points[after.saturating_sub(1)];
        let part = (pages - below) as f64 / (above - below).max(1) as f64;
        high + (low - high) * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_read_between_its_points() {
        let shown = ShownCurve::new();
        assert!(!shown.snapshot().is_known());
        shown.show(1280, 2_000_000_000, |pages| 2 * (1280 - pages));
        let curve = shown.snapshot();
        assert!(curve.is_known());
        for pages in [0, 1, 9, 10, 640, 1279, 1280] {
            assert!((curve.rate(pages) - (1280 - pages) as f64).abs() < 1e-6, "{pages}");
        }
        assert_eq!(curve.rate(99_999), 0.0);
        // More pages than points, and fewer.
        shown.show(3, 1_000_000_000, |pages| 3 - pages);
        assert_eq!(shown.snapshot().rate(0), 3.0);
        assert_eq!(shown.snapshot().rate(3), 0.0);
    }
}
