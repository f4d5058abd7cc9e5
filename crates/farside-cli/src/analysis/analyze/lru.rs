//! The LRU curve: exact, or from a sample of the pages.

use std::str::FromStr;

use farside_sim::curve::{
    Curve, Distances, FixedSizeDistances, LruDistances, SampledCurve, SampledDistances,
    SampledPoint,
};
use farside_trace::PageId;

/// Sizes at which a sampled curve is known.
const POINTS: usize = 1000;

/// Most pages that may be asked for in a sample.
const MOST_PAGES: usize = 1 << 30;

/// The pages of which a curve is made.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum SampleSize {
    /// A share of all.
    Share(f64),
    /// At most so many.
    Pages(usize),
}

impl FromStr for SampleSize {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Some(pages) = text.strip_suffix(['p', 'P']) {
            let pages = pages.trim_end().parse().ok();
            let pages = pages.filter(|pages| (1..=MOST_PAGES).contains(pages));
            return pages.map(Self::Pages).ok_or("not a number of pages: give 8192p");
        }
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
            None => text.parse(),
        };
        let share = share.ok().filter(|share| *share > 0.0 && *share <= 1.0);
        share.map(Self::Share).ok_or(
            "not a share of the pages, nor a number of them: give 1% or 0.01, or at most so many \
             pages as in 8192p",
        )
    }
}

/// What a sampled curve is known by.
#[derive(Debug)]
pub struct Sample {
    /// Share of the pages in it; about, if their number was given.
    pub share: f64,
    /// Pages in it.
    pub pages: u64,
    /// Pages that were asked for at most, if a number was given.
    pub most_pages: Option<usize>,
    /// References to them.
    pub references: u64,
    /// Mean standard error of the miss ratio.
    pub mean_error: f64,
    /// Sizes, miss ratios and their standard errors.
    pub points: Vec<SampledPoint>,
}

/// The curve of LRU.
pub struct LruCurve {
    pub curve: Curve,
    /// Reuse distances in powers of two: the least of each class, and how many records are in it.
    pub reuse: Vec<(usize, u64)>,
    /// If the curve is not exact.
    pub sample: Option<Sample>,
}

/// Takes in references.
pub enum Lru {
    Exact(Box<LruDistances>),
    Share(Box<SampledDistances>),
    Pages(Box<FixedSizeDistances>, usize),
}

impl Lru {
    /// Before the first reference; from some of the pages, or all.
    pub fn new(sample: Option<SampleSize>) -> Self {
        match sample {
            Some(SampleSize::Share(share)) => {
                Self::Share(Box::new(SampledDistances::new(share, 0)))
            }
            Some(SampleSize::Pages(most)) => {
                Self::Pages(Box::new(FixedSizeDistances::new(most, 0)), most)
            }
            None => Self::Exact(Box::new(LruDistances::new())),
        }
    }

    /// The next references.
    pub fn references(&mut self, pages: &[PageId]) {
        match self {
            Self::Exact(distances) => distances.references(pages),
            Self::Share(distances) => distances.references(pages),
            Self::Pages(distances, _) => distances.references(pages),
        }
    }

    /// The curve of a trace that touches so many pages.
    pub fn finish(self, footprint: u64) -> LruCurve {
        match self {
            Self::Exact(distances) => {
                let distances = distances.into_distances();
                let (curve, reuse) = (distances.curve(), reuse(&distances));
                LruCurve { curve, reuse, sample: None }
            }
            Self::Share(distances) => {
                let sizes = sizes(footprint);
                sampled(distances.curve(&sizes), None, footprint)
            }
            Self::Pages(distances, most) => {
                let sizes = sizes(footprint);
                sampled(distances.curve(&sizes), Some(most), footprint)
            }
        }
    }
}

/// Counts distances by powers of two.
fn reuse(distances: &Distances) -> Vec<(usize, u64)> {
    let mut classes: Vec<(usize, u64)> = Vec::new();
    for (distance, count) in distances.iter() {
        let class = 1 << distance.ilog2();
        match classes.last_mut() {
            Some((last, total)) if *last == class => *total += count,
            _ => classes.push((class, count)),
        }
    }
    classes
}

/// The sizes at which the sampled curve of so many pages is known.
fn sizes(footprint: u64) -> Vec<usize> {
    let pages = usize::try_from(footprint).unwrap_or(usize::MAX);
    let mut sizes: Vec<_> =
        (1..=POINTS).map(|i| (pages.saturating_mul(i) / POINTS).max(1)).collect();
    sizes.push(pages);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn sampled(found: SampledCurve, most_pages: Option<usize>, footprint: u64) -> LruCurve {
    let pages = usize::try_from(footprint).unwrap_or(usize::MAX);
    // First touches miss whatever is sampled; how many there are is known.
    let misses = |point: &SampledPoint| {
        let misses = (point.miss_ratio * found.references as f64).round() as u64;
        (point.pages, if point.pages == pages { footprint } else { misses.max(footprint) })
    };
    let curve = Curve::at_sizes(found.references, found.points.iter().map(misses));
    // A record has a distance of that many or more if it misses with less.
    let class = |least: usize| {
        let count = curve.misses(least - 1) - curve.misses(2 * least - 1);
        (count > 0).then_some((least, count))
    };
    let reuse = (0..usize::BITS - 1)
        .map(|power| 1 << power)
        .take_while(|least| *least <= pages)
        .filter_map(class)
        .collect();
    let sample = Sample {
        share: found.rate,
        pages: found.pages,
        most_pages,
        references: found.sampled,
        mean_error: found.mean_error,
        points: found.points,
    };
    LruCurve { curve, reuse, sample: Some(sample) }
}
