//! The miss-rate curve of a process, in memory shared with the supervisor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sizes of memory for which misses are shown: none, all, and so many less two between.
pub const CURVE_POINTS: usize = 129;

/// By how much what was seen counts for less with each [`show`](ShownCurve::show).
#[derive(Copy, Clone, Debug)]
pub struct Fading {
    /// Of what is shown, from 0 to 1.
    pub all: f64,
    /// Of what is shown as recent.
    pub recent: f64,
}

/// How many misses there would be with each size of memory; the last second counts for more than those before. And the
/// same of the last seconds alone, by which a change is seen sooner.
#[repr(C)]
#[derive(Debug)]
pub struct ShownCurve {
    all: Shown,
    recent: Shown,
}

#[repr(C)]
#[derive(Debug)]
struct Shown {
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

impl Shown {
    const fn new() -> Self {
        Self {
            pages: AtomicU64::new(0),
            span_ns: AtomicU64::new(0),
            misses: [const { AtomicU64::new(0) }; CURVE_POINTS],
        }
    }

    fn show(&self, curve: &Curve) {
        self.pages.store(curve.pages, Relaxed);
        self.span_ns.store(curve.span_ns, Relaxed);
        for (shown, misses) in self.misses.iter().zip(curve.misses) {
            shown.store(misses, Relaxed);
        }
    }

    fn snapshot(&self) -> Curve {
        Curve {
            pages: self.pages.load(Relaxed),
            span_ns: self.span_ns.load(Relaxed),
            misses: std::array::from_fn(|point| self.misses[point].load(Relaxed)),
        }
    }
}

impl ShownCurve {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self { all: Shown::new(), recent: Shown::new() }
    }

    /// Shows a curve over `pages` pages, of which `misses` tells how many there were in `span_ns`: those that were shown
    /// last, of which less counts now, and those since.
    pub fn show(&self, pages: u64, span_ns: u64, fading: Fading, misses: impl Fn(u64) -> u64) {
        let (before, recent) = (self.all.snapshot(), self.recent.snapshot());
        let all = Curve { pages, span_ns, misses: std::array::from_fn(|i| misses(size(pages, i))) };
        let faded = |curve: &Curve, by: f64, point| curve.at(size(pages, point)) * by;
        let recent_of = |point: usize| {
            let since = (all.misses[point] as f64 - faded(&before, fading.all, point)).max(0.0);
            (since + faded(&recent, fading.recent, point)).round() as u64
        };
        let since_ns = (span_ns as f64 - before.span_ns as f64 * fading.all).max(0.0);
        let recent_ns = since_ns + recent.span_ns as f64 * fading.recent;
        let recent =
            Curve { pages, span_ns: recent_ns as u64, misses: std::array::from_fn(recent_of) };
        self.all.show(&all);
        self.recent.show(&recent);
    }

    /// A copy of the current values.
    pub fn snapshot(&self) -> Curve {
        self.all.snapshot()
    }

    /// A copy of those of the last seconds.
    pub fn recent(&self) -> Curve {
        self.recent.snapshot()
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
        self.at(pages) * 1e9 / self.span_ns.max(1) as f64
    }

    /// Misses with so many pages of memory.
    fn at(&self, pages: u64) -> f64 {
        // The points lie evenly, but for what is rounded.
        let guess = u128::from(pages) * (CURVE_POINTS as u128 - 1) / u128::from(self.pages.max(1));
        let guess = guess.min(CURVE_POINTS as u128) as usize;
        let after = (guess..CURVE_POINTS).find(|point| size(self.pages, *point) > pages);
        let Some(after) = after else {
            return self.misses.last().map_or(0.0, |misses| *misses as f64);
        };
        let before = after.saturating_sub(1);
        let (below, above) = (size(self.pages, before), size(self.pages, after));
        let (high, low) = (self.misses[before] as f64, self.misses[after] as f64);
        high + (low - high) * (pages - below) as f64 / (above - below).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FADING: Fading = Fading { all: 0.9, recent: 0.5 };

    #[test]
    fn what_is_recent_forgets_sooner() {
        let shown = ShownCurve::new();
        let (mut misses, mut span) = (0.0, 0.0);
        let mut show =
            |more: f64, pages| {
                (misses, span) = (misses * FADING.all + more, span * FADING.all + 1e9);
                shown.show(pages, span as u64, FADING, |at| {
                    if at < pages / 2 { misses as u64 } else { 0 }
                });
            };
        (0..100).for_each(|_| show(1000.0, 1280));
        assert!((shown.recent().rate(0) - 1000.0).abs() < 5.0, "{}", shown.recent().rate(0));
        assert!((shown.snapshot().rate(0) - 1000.0).abs() < 5.0);
        (0..8).for_each(|_| show(0.0, 2560));
        let recent = shown.recent();
        assert!(recent.rate(0) < 10.0, "{}", recent.rate(0));
        assert!(shown.snapshot().rate(0) > 300.0);
        assert_eq!(recent.pages, 2560);
    }

    #[test]
    fn a_curve_is_read_between_its_points() {
        let shown = ShownCurve::new();
        assert!(!shown.snapshot().is_known());
        shown.show(1280, 2_000_000_000, FADING, |pages| 2 * (1280 - pages));
        let curve = shown.snapshot();
        assert!(curve.is_known());
        for pages in [0, 1, 9, 10, 640, 1279, 1280] {
            assert!((curve.rate(pages) - (1280 - pages) as f64).abs() < 1e-6, "{pages}");
        }
        assert_eq!(curve.rate(99_999), 0.0);
        // More pages than points, and fewer.
        shown.show(3, 1_000_000_000, FADING, |pages| 3 - pages);
        assert_eq!(shown.snapshot().rate(0), 3.0);
        assert_eq!(shown.snapshot().rate(3), 0.0);
    }
}
