//! A curve from a fixed share of the pages.

use farside_trace::{PageId, page_hash, pick_by_hash};

use super::{PARTS, SampledCurve, mixed_salt, part, points};
use crate::curve::LruDistances;

/// References of which those in the sample are picked out together.
const TOGETHER: usize = 1 << 14;

/// LRU stack distances of a random part of the pages (SHARDS, section 3.2).
///
/// A page is in the sample if the hash of its number is small. Distances among sampled pages are to those
/// among all pages as the sample is to the whole.
#[derive(Clone, Debug)]
pub struct SampledDistances {
    /// Pages whose hash is not above this are in the sample.
    threshold: u64,
    salt: u64,
    rate: f64,
    references: u64,
    parts: Vec<LruDistances>,
    whole: LruDistances,
    /// References picked out, and those of them that belong to each part.
    picked: Vec<PageId>,
    picked_for: Vec<Vec<PageId>>,
}

impl SampledDistances {
    /// A sample of the given share of the pages, between 0 and 1; another `salt` gives another sample.
    pub fn new(rate: f64, salt: u64) -> Self {
        let rate = rate.clamp(1e-9, 1.0);
        Self {
            threshold: (rate * u64::MAX as f64) as u64,
            salt: mixed_salt(salt),
            rate,
            references: 0,
            parts: vec![LruDistances::new(); PARTS],
            whole: LruDistances::new(),
            picked: Vec::new(),
            picked_for: vec![Vec::new(); PARTS],
        }
    }

    /// Counts references, which are all that there are up to now.
    pub fn references(&mut self, pages: &[PageId]) {
        self.references += pages.len() as u64;
        pages.chunks(TOGETHER).for_each(|together| self.together(together));
    }

    fn together(&mut self, pages: &[PageId]) {
        self.picked.clear();
        self.picked_for.iter_mut().for_each(Vec::clear);
        pick_by_hash(pages, self.salt, self.threshold, &mut self.picked);
        for page in &self.picked {
            self.picked_for[part(page_hash(*page, self.salt))].push(*page);
        }
        self.whole.references(&self.picked);
        for (part, picked) in self.parts.iter_mut().zip(&self.picked_for) {
            part.references(picked);
        }
    }

    /// The curve at the given sizes in pages.
    pub fn curve(&self, sizes: &[usize]) -> SampledCurve {
        let whole = self.estimate(&self.whole, self.rate, sizes);
        let of_part = |part| self.estimate(part, self.rate / PARTS as f64, sizes);
        let parts: Vec<_> = self.parts.iter().map(of_part).collect();
        let (points, mean_error) = points(sizes, self.rate, &whole, &parts);
        let distances = self.whole.distances();
        let (sampled, pages) = (distances.references(), distances.cold());
        let (references, rate) = (self.references, self.rate);
        SampledCurve { points, references, sampled, rate, pages, mean_error }
    }

    /// Miss ratios by a sample of this share of the pages.
    fn estimate(&self, sample: &LruDistances, rate: f64, sizes: &[usize]) -> Vec<f64> {
        let curve = sample.distances().curve();
        // Few hot pages may be over- or under-represented. Most of their references are hits at any
        // size, so the sample's hits are corrected by what is missing (SHARDS-adj): there are as many
        // references as expected, and as many misses as were found.
        let all = self.references as f64 * rate;
        let mut least: f64 = 1.0;
        let ratio = |pages: &usize| {
            let misses = curve.misses((*pages as f64 * rate).round() as usize) as f64;
            let ratio = if *pages == 0 || all <= 0.0 { 1.0 } else { misses / all };
            least = least.min(ratio.clamp(0.0, 1.0));
            least
        };
        sizes.iter().map(ratio).collect()
    }
}
