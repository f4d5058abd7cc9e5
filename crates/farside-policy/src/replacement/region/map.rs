//! Which region a page lies in.

use std::error::Error;
use std::fmt;

use farside_trace::{PageId, PageRange};

/// Most regions that are told apart.
pub const MOST_REGIONS: usize = 32;

/// Fewest pages of a region that the caller tells of as it begins: 1 MiB.
pub const LEAST_REGION: u64 = 256;

/// Most stretches of regions that the caller tells of.
const MOST_STRETCHES: usize = 1024;

/// Number of the first region that is not one stretch's own, when stretches are told of.
const FIRST_SHARED: usize = 24;

/// Pages from `first` to `last`, and their region.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Stretch {
    first: u64,
    last: u64,
    region: usize,
}

/// Page ranges and their regions, given by the caller beforehand or as they begin, or found as pages appear.
#[derive(Clone, Debug)]
pub struct RegionMap {
    /// In ascending order, without overlaps.
    stretches: Vec<Stretch>,
    finding: Option<Finding>,
    regions: usize,
    /// The region of pages in none of the stretches, if regions are not found.
    rest: usize,
}

/// A region that begins.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its number.
    pub region: usize,
    /// Whether it has the number of one that is over.
    pub is_renewed: bool,
}

/// How regions are found.
#[derive(Copy, Clone, Debug)]
struct Finding {
    gap: u64,
    most: usize,
}

/// Why page ranges are no region map.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RegionMapError {
    /// Two ranges have pages in common.
    Overlap(PageRange, PageRange),
    /// A region's number is too high; the last one is for pages in none of the ranges.
    TooManyRegions(usize),
}

impl fmt::Display for RegionMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(a, b) => write!(
                f,
                "pages {} to {} and pages {} to {} have pages in common; give each page one region",
                a.first.0,
                a.end(),
                b.first.0,
                b.end()
            ),
            Self::TooManyRegions(number) => write!(
                f,
                "region number {number} is too high; number regions from 0 to {}",
                MOST_REGIONS - 2
            ),
        }
    }
}

impl Error for RegionMapError {}

impl RegionMap {
    /// Regions found as pages appear: a page at most `gap` page numbers away from a region belongs
    /// to it, and any other begins a new one. When there are `most` regions, at most
    /// [`MOST_REGIONS`], a page belongs to the nearest. Regions never merge.
    pub fn by_gap(gap: u64, most: usize) -> Self {
        let most = most.clamp(1, MOST_REGIONS);
        let stretches = Vec::with_capacity(most);
        Self { stretches, finding: Some(Finding { gap, most }), regions: 0, rest: 0 }
    }

    /// Page ranges and the number of the region that each one belongs to; pages in none of them
    /// make up one more region.
    ///
    /// # Errors
    /// If ranges overlap, or a number is not below [`MOST_REGIONS`]` - 1`.
    pub fn given(ranges: &[(PageRange, usize)]) -> Result<Self, RegionMapError> {
        let mut ranges: Vec<_> = ranges.iter().filter(|(range, _)| !range.is_empty()).collect();
        ranges.sort_unstable_by_key(|(range, _)| range.first);
        for pair in ranges.windows(2) {
            if pair[0].0.end() > pair[1].0.first.0 {
                return Err(RegionMapError::Overlap(pair[0].0, pair[1].0));
            }
        }
        let highest = ranges.iter().map(|(_, region)| *region).max();
        if let Some(number) = highest.filter(|number| *number >= MOST_REGIONS - 1) {
            return Err(RegionMapError::TooManyRegions(number));
        }
        let stretches = ranges
            .into_iter()
            .map(|&(range, region)| Stretch { first: range.first.0, last: range.end() - 1, region })
            .collect();
        let regions = highest.map_or(1, |highest| highest + 2);
        Ok(Self { stretches, finding: None, regions, rest: regions - 1 })
    }

    /// Regions that the caller tells of as they [begin](Self::begin); all other pages are region 0.
    pub fn told() -> Self {
        let stretches = Vec::with_capacity(MOST_STRETCHES);
        Self { stretches, finding: None, regions: 1, rest: 0 }
    }

    /// A region begins, in the place of what was there; `None` if it is too small to be one, or there are too many.
    ///
    /// It has a number of its own, if one is left: one that was never used, or that of a region which is over and has no
    /// pages any more, as `is_empty` says. The others share numbers with those of about their size. One that begins
    /// where another one did is that one, grown or shrunk.
    pub fn begin(&mut self, range: PageRange, is_empty: impl Fn(usize) -> bool) -> Option<Begun> {
        let same = self.stretches.iter().find(|stretch| stretch.first == range.first.0);
        let same = same.map(|stretch| Begun { region: stretch.region, is_renewed: false });
        self.end(range);
        if range.count < LEAST_REGION || self.stretches.len() + 1 >= MOST_STRETCHES {
            return None;
        }
        let begun = same.unwrap_or_else(|| self.next_number(range.count, is_empty));
        self.regions = self.regions.max(begun.region + 1);
        let stretch = Stretch { first: range.first.0, last: range.end() - 1, region: begun.region };
        let at = self.stretches.partition_point(|other| other.first < stretch.first);
        self.stretches.insert(at, stretch);
        Some(begun)
    }

    fn next_number(&self, pages: u64, is_empty: impl Fn(usize) -> bool) -> Begun {
        let is_over = |region: &usize| self.stretches.iter().all(|it| it.region != *region);
        let over = (1..self.regions.min(FIRST_SHARED)).find(|it| is_over(it) && is_empty(*it));
        if let Some(region) = over {
            return Begun { region, is_renewed: true };
        }
        let class = (pages / LEAST_REGION).ilog2() as usize;
        let shared = FIRST_SHARED + class.min(MOST_REGIONS - FIRST_SHARED - 1);
        let region = if self.regions < FIRST_SHARED { self.regions } else { shared };
        Begun { region, is_renewed: false }
    }

    /// What there was of regions in this range is over.
    pub fn end(&mut self, range: PageRange) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.first.0, range.end() - 1);
        let mut at = self.stretches.partition_point(|stretch| stretch.last < first);
        while let Some(&stretch) = self.stretches.get(at)
            && stretch.first <= last
        {
            self.stretches.remove(at);
            if stretch.first < first {
                self.stretches.insert(at, Stretch { last: first - 1, ..stretch });
                at += 1;
            }
            if stretch.last > last && self.stretches.len() < MOST_STRETCHES {
                self.stretches.insert(at, Stretch { first: last + 1, ..stretch });
                return;
            }
        }
    }

    /// Number of regions known so far.
    pub const fn len(&self) -> usize {
        self.regions
    }

    /// Whether no region is known yet.
    pub const fn is_empty(&self) -> bool {
        self.regions == 0
    }

    /// Most regions that there will ever be.
    pub fn most(&self) -> usize {
        self.finding.map_or(self.regions, |finding| finding.most)
    }

    /// The region of `page`, which stays the same until the caller tells of another one there.
    pub fn region_of(&mut self, page: PageId) -> usize {
        let page = page.0;
        let after = self.stretches.partition_point(|stretch| stretch.first <= page);
        let below =
            after.checked_sub(1).map(|index| (index, page - self.stretches[index].last.min(page)));
        if let Some((index, 0)) = below {
            return self.stretches[index].region;
        }
        let Some(Finding { gap, most }) = self.finding else { return self.rest };
        let above = self.stretches.get(after).map(|stretch| (after, stretch.first - page));
        let nearest = below.into_iter().chain(above).min_by_key(|(_, distance)| *distance);
        match nearest {
            Some((index, distance)) if distance <= gap || self.regions == most => {
                let stretch = &mut self.stretches[index];
                stretch.first = stretch.first.min(page);
                stretch.last = stretch.last.max(page);
                stretch.region
            }
            _ => {
                let region = self.regions;
                self.regions += 1;
                self.stretches.insert(after, Stretch { first: page, last: page, region });
                region
            }
        }
    }
}
