//! Regions of a program's memory, and what each policy would make of each of them.
//!
//! A region is a run of touched pages of one mapping without a large gap; where nothing is known of
//! mappings, a run without a large gap.

mod misses;

pub use misses::{RegionCurves, RegionMisses, RegionReplays, SHARES};

use farside_trace::PageId;

use crate::mapping_names::MappingNames;
use crate::page_ranks::PageRanks;

/// Gaps that part runs, in pages; larger ones are tried until there are few runs.
const GAPS: [u64; 5] = [64, 1 << 10, 1 << 16, 1 << 24, u64::MAX];

/// Most runs of a program with mappings in any number of places.
const MOST_RUNS: usize = 4096;

/// What lies beyond the largest regions.
const OTHER: &str = "other";

/// Touched pages that lie together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What lies there.
    pub name: String,
    /// The lowest page.
    pub first: PageId,
    /// The highest page.
    pub last: PageId,
    /// Rank of the lowest page among all touched ones.
    pub rank: u64,
    /// Number of touched pages.
    pub pages: u64,
    /// The region it belongs to.
    pub region: usize,
}

/// A region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// What lies there; no two regions have one name.
    pub name: String,
    /// Number of touched pages.
    pub pages: u64,
}

/// The regions of a program.
#[derive(Clone, Debug)]
pub struct Regions {
    regions: Vec<Region>,
    runs: Vec<Run>,
    /// By rank of a page.
    of: Vec<u8>,
}

impl Regions {
    /// The largest regions by touched pages, at most `most` of them and never more than 255, in order of
    /// address; behind them, if there are more, one for all the others.
    pub fn new(ranks: &PageRanks, names: &MappingNames, most: usize) -> Self {
        let most = most.clamp(1, 255);
        let mut runs = GAPS.iter().find_map(|gap| runs(ranks, names, *gap)).unwrap_or_default();
        number_names(&mut runs);
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by_key(|run| (std::cmp::Reverse(runs[*run].pages), *run));
        order.truncate(if runs.len() > most { most - 1 } else { most });
        order.sort_unstable();
        let other = order.len();
        runs.iter_mut().for_each(|run| run.region = other);
        let mut regions: Vec<Region> = Vec::new();
        for (region, run) in order.into_iter().enumerate() {
            runs[run].region = region;
            regions.push(Region { name: runs[run].name.clone(), pages: runs[run].pages });
        }
        let left: u64 = runs.iter().filter(|run| run.region == other).map(|run| run.pages).sum();
        if left > 0 {
            regions.push(Region { name: OTHER.to_owned(), pages: left });
        }
        let of =
            runs.iter().flat_map(|run| (0..run.pages).map(move |_| run.region as u8)).collect();
        Self { regions, runs, of }
    }

    /// The regions.
    pub fn list(&self) -> &[Region] {
        &self.regions
    }

    /// What they consist of, in order of address.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The region of the page of this rank.
    ///
    /// # Panics
    /// If no page has it.
    #[inline]
    pub fn of(&self, rank: u64) -> usize {
        usize::from(self.of[rank as usize])
    }
}

/// The runs parted by gaps of `gap` pages, or `None` if there are too many.
fn runs(ranks: &PageRanks, names: &MappingNames, gap: u64) -> Option<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for (rank, page) in ranks.iter().enumerate() {
        let name = names.name_of(page).unwrap_or("");
        if let Some(run) = runs.last_mut()
            && run.name == name
            && page.0 - run.last.0 <= gap
        {
            run.last = page;
            run.pages += 1;
            continue;
        }
        // With the widest gap only names part runs, and their number is bounded.
        if runs.len() == MOST_RUNS && gap < u64::MAX {
            return None;
        }
        let (name, rank) = (name.to_owned(), rank as u64);
        runs.push(Run { name, first: page, last: page, rank, pages: 1, region: 0 });
    }
    Some(runs)
}

/// Gives names to runs without, and numbers to runs of the same name.
fn number_names(runs: &mut [Run]) {
    let mut seen = std::collections::HashMap::<String, (usize, usize)>::new();
    for run in runs.iter_mut() {
        if run.name.is_empty() {
            run.name = format!("pages {:#x}-{:#x}", run.first.0, run.last.0);
        }
        seen.entry(run.name.clone()).or_default().0 += 1;
    }
    for run in runs.iter_mut() {
        if let Some((all, number)) = seen.get_mut(&run.name)
            && *all > 1
        {
            *number += 1;
            run.name = format!("{} #{number}", run.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_ranks::TouchedPages;
    use farside_trace::{Mapping, MappingChange};

    fn ranks(pages: impl IntoIterator<Item = u64>) -> PageRanks {
        let mut touched = TouchedPages::new();
        pages.into_iter().for_each(|page| touched.add(PageId(page)));
        touched.finish()
    }

    fn shown(regions: &Regions) -> Vec<(&str, u64)> {
        regions.list().iter().map(|region| (region.name.as_str(), region.pages)).collect()
    }

    #[test]
    fn mappings_and_gaps_part_regions() {
        let mut names = MappingNames::new();
        for (first, count, name) in [(100, 50, "[heap]"), (150, 10, "[anon]"), (5000, 9, "[anon]")]
        {
            let mapping = Mapping { first: PageId(first), count, name: name.to_owned() };
            names.add(&MappingChange::Appeared(mapping));
        }
        let ranks = ranks((100..160).chain(5000..5004).chain([9000]));
        let regions = Regions::new(&ranks, &names, 8);
        assert_eq!(
            shown(&regions),
            [("[heap]", 50), ("[anon] #1", 10), ("[anon] #2", 4), ("pages 0x2328-0x2328", 1)]
        );
        assert_eq!([0, 49, 50, 60, 64].map(|rank| regions.of(rank)), [0, 0, 1, 2, 3]);
        let few = Regions::new(&ranks, &names, 3);
        assert_eq!(shown(&few), [("[heap]", 50), ("[anon] #1", 10), ("other", 5)]);
        assert_eq!([0, 50, 60, 64].map(|rank| few.of(rank)), [0, 1, 2, 2]);
    }

    #[test]
    fn scattered_pages_do_not_make_a_region_each() {
        let scattered = ranks((0..10_000).map(|i| i * 1000));
        let regions = Regions::new(&scattered, &MappingNames::new(), 8);
        assert!(regions.runs().len() <= MOST_RUNS);
        assert_eq!(regions.list().iter().map(|region| region.pages).sum::<u64>(), 10_000);
        assert!(Regions::new(&ranks([]), &MappingNames::new(), 8).list().is_empty());
    }
}
