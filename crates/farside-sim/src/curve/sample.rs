//! A curve from a sample of the pages (SHARDS; Waldspurger and others, FAST 2015).

use farside_trace::PageId;

use super::LruDistances;

/// Parts of the sample, whose differences tell how far the whole may be off.
const PARTS: usize = 8;

/// Mixes the bits of page numbers, so that any of them decide (the golden ratio, in 64 bits).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// LRU stack distances of a random part of the pages.
///
/// A page is in the sample if the hash of its number is small. Distances among sampled pages are to those
/// among all pages as the sample is to the whole.
#[derive(Clone, Debug)]
pub struct SampledDistances {
    /// Pages whose hash is below this are in the sample.
    threshold: u64,
    salt: u64,
    rate: f64,
    references: u64,
    parts: Vec<LruDistances>,
    whole: LruDistances,
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
    /// Standard error of that, from the differences between parts of the sample.
    pub error: f64,
}

impl SampledDistances {
    /// A sample of the given share of the pages, between 0 and 1; another `salt` gives another sample.
    pub fn new(rate: f64, salt: u64) -> Self {
        let rate = rate.clamp(1e-9, 1.0);
        Self {
            threshold: (rate * u64::MAX as f64) as u64,
            salt,
            rate,
            references: 0,
            parts: vec![LruDistances::new(); PARTS],
            whole: LruDistances::new(),
        }
    }

    /// Counts references, which are all that there are up to now.
    pub fn references(&mut self, pages: &[PageId]) {
        self.references += pages.len() as u64;
        for page in pages {
            let hash = (page.0 ^ self.salt).wrapping_mul(MULTIPLIER);
            // High bits of the product depend on all bits of the page number, but linearly.
            let hash = (hash ^ hash >> 32).wrapping_mul(MULTIPLIER);
            if hash <= self.threshold {
                self.count(*page, hash);
            }
        }
    }

    fn count(&mut self, page: PageId, hash: u64) {
        self.whole.reference(page);
        // The low bits say nothing of whether a page is in the sample.
        self.parts[hash as usize % PARTS].reference(page);
    }

    /// The curve at the given sizes in pages.
    pub fn curve(&self, sizes: &[usize]) -> SampledCurve {
        let estimate = |distances: &LruDistances, rate: f64| {
            let distances = distances.distances();
            let (curve, expected) = (distances.curve(), self.references as f64 * rate);
            // Few hot pages may be over- or under-represented. Most of their references are hits at any
            // size, so the sample's hits are corrected by what is missing (SHARDS-adj).
            let missing = expected - distances.references() as f64;
            let mut least: f64 = 1.0;
            let ratio = move |pages: usize| {
                let misses = curve.misses((pages as f64 * rate).round() as usize) as f64;
                let all = distances.references() as f64 + missing;
                let ratio = if pages == 0 || all <= 0.0 { 1.0 } else { misses / all };
                least = least.min(ratio.clamp(0.0, 1.0));
                least
            };
            sizes.iter().copied().map(ratio).collect::<Vec<_>>()
        };
        let whole = estimate(&self.whole, self.rate);
        let parts: Vec<_> =
            self.parts.iter().map(|part| estimate(part, self.rate / PARTS as f64)).collect();
        let error = |i: usize| {
            let mean = parts.iter().map(|part| part[i]).sum::<f64>() / PARTS as f64;
            let squares = parts.iter().map(|part| (part[i] - mean).powi(2)).sum::<f64>();
            (squares / (PARTS * (PARTS - 1)) as f64).sqrt()
        };
        let points: Vec<_> = (0..sizes.len())
            .map(|i| SampledPoint { pages: sizes[i], miss_ratio: whole[i], error: error(i) })
            .collect();
        let mean_error =
            points.iter().map(|point| point.error).sum::<f64>() / points.len().max(1) as f64;
        let sampled = self.whole.distances().references();
        SampledCurve { points, references: self.references, sampled, mean_error }
    }
}
