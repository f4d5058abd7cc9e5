//! Curves from a sample of the pages (SHARDS; Waldspurger and others, FAST 2015): from a fixed share of
//! them, or from so many at most.

use farside_trace::{PageId, page_hash};

mod fixed_rate;
mod fixed_size;

pub use fixed_rate::SampledDistances;
pub use fixed_size::FixedSizeDistances;

/// Parts of a sample, whose differences tell how far the whole may be off.
const PARTS: usize = 8;

/// A salt of which all bits decide, as those of the pages do.
fn mixed_salt(salt: u64) -> u64 {
    page_hash(PageId(salt), 0)
}

/// The part of the sample to which a page belongs. The low bits say nothing of whether it is in it.
#[inline]
fn part(hash: u64) -> usize {
    hash as usize % PARTS
}

/// A sampled curve.
#[derive(Clone, Debug)]
pub struct SampledCurve {
    /// Sizes in pages and miss ratios, which never rise, and their standard errors.
    pub points: Vec<SampledPoint>,
    /// References in the trace.
    pub references: u64,
    /// References in the sample.
    pub sampled: u64,
    /// Share of the pages that are in the sample, about; at the end, if there was more of them before.
    pub rate: f64,
    /// Pages in the sample, at the end.
    pub pages: u64,
    /// The mean standard error over all points.
    pub mean_error: f64,
}

/// A point of a sampled curve.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SampledPoint {
    /// Size of memory in pages.
    pub pages: usize,
    /// Estimated share of references that miss.
    pub miss_ratio: f64,
    /// Standard error of that, from the differences between parts of the sample. 0 if the sample is of
    /// all pages.
    pub error: f64,
}

/// The points of a curve at these sizes, from the miss ratios that the whole sample and its parts have
/// there, and their mean error.
fn points(
    sizes: &[usize],
    rate: f64,
    whole: &[f64],
    parts: &[Vec<f64>],
) -> (Vec<SampledPoint>, f64) {
    let of_all_parts = parts.len() as f64;
    // What is in the sample is known: only what is not makes an error.
    let unknown = (1.0 - rate).max(0.0);
    let error = |at: usize| {
        let mean = parts.iter().map(|part| part[at]).sum::<f64>() / of_all_parts;
        let squares = parts.iter().map(|part| (part[at] - mean).powi(2)).sum::<f64>();
        (unknown * squares / (of_all_parts * (of_all_parts - 1.0))).sqrt()
    };
    let point =
        |at: usize| SampledPoint { pages: sizes[at], miss_ratio: whole[at], error: error(at) };
    let points: Vec<_> = (0..sizes.len()).map(point).collect();
    let errors = points.iter().map(|point| point.error).sum::<f64>();
    let mean_error = errors / points.len().max(1) as f64;
    (points, mean_error)
}
