//! Each region by itself: its exact curves, and what other policies would miss in it.

use farside_policy::replacement::{self, ReplacementPolicy};
use farside_trace::PageId;
use rayon::prelude::*;

use super::Region;
use crate::curve::{Curve, LruDistances, MruDistances};
use crate::replay::Replay;

/// Shares of a region's pages, in percent, that are local where policies are held against each other.
pub const SHARES: [u64; 3] = [25, 50, 75];

/// Pages of a share of a region, at least one.
fn share_of(region: &Region, percent: u64) -> usize {
    (region.pages * percent / 100).max(1) as usize
}

/// Accesses to each region, and its curves.
#[derive(Clone, Debug)]
pub struct RegionCurves {
    regions: Vec<(u64, LruDistances, MruDistances)>,
}

impl RegionCurves {
    /// Before the first access.
    pub fn new(regions: usize) -> Self {
        Self { regions: vec![(0, LruDistances::new(), MruDistances::new()); regions] }
    }

    /// Counts an access to a page of a region.
    #[inline]
    pub fn add(&mut self, page: PageId, region: usize) {
        let (accesses, lru, mru) = &mut self.regions[region];
        *accesses += 1;
        lru.reference(page);
        mru.reference(page);
    }

    /// Accesses to a region.
    pub fn accesses(&self, region: usize) -> u64 {
        self.regions[region].0
    }

    /// The curve of a region that has a memory of its own under LRU.
    pub fn lru(&self, region: usize) -> Curve {
        self.regions[region].1.distances().curve()
    }

    /// The same under MRU.
    pub fn mru(&self, region: usize) -> Curve {
        self.regions[region].2.distances().curve()
    }

    /// The misses of both at [`SHARES`].
    pub fn misses(&self, region: usize, of: &Region) -> [RegionMisses; 2] {
        let at = |name: &str, curve: &Curve| RegionMisses {
            replacement: name.to_owned(),
            misses: SHARES.map(|share| curve.misses(share_of(of, share))),
        };
        [at("lru", &self.lru(region)), at("mru", &self.mru(region))]
    }
}

/// Misses of a policy in a region at [`SHARES`] of its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionMisses {
    /// Name of the policy.
    pub replacement: String,
    /// Misses, first touches included.
    pub misses: [u64; SHARES.len()],
}

impl RegionMisses {
    /// Misses at all shares together: what decides which policy is best.
    pub fn sum(&self) -> u64 {
        self.misses.iter().sum()
    }
}

/// One policy in every region, with one share of its pages each.
struct Lane {
    replacement: String,
    share: usize,
    replays: Vec<(Replay<Box<dyn ReplacementPolicy>>, u64)>,
}

/// Policies in every region, with each of [`SHARES`].
pub struct RegionReplays {
    lanes: Vec<Lane>,
}

impl RegionReplays {
    /// Empty memories. Names that no policy has are left out.
    pub fn new(regions: &[Region], policies: &[&str]) -> Self {
        let lane = |name: &str, share: usize| {
            let memory = |region: &Region| {
                let policy = replacement::by_name(name)?;
                Some((Replay::new(policy, share_of(region, SHARES[share])), 0))
            };
            let replays = regions.iter().map(memory).collect::<Option<_>>()?;
            Some(Lane { replacement: name.to_owned(), share, replays })
        };
        let shares = |name| (0..SHARES.len()).filter_map(move |share| lane(name, share));
        Self { lanes: policies.iter().copied().flat_map(shares).collect() }
    }

    /// Lets all policies see the next accesses: pages and the regions they lie in.
    pub fn feed(&mut self, accesses: &[(PageId, u8)]) {
        self.lanes.par_iter_mut().for_each(|lane| {
            for (page, region) in accesses {
                let (replay, misses) = &mut lane.replays[usize::from(*region)];
                *misses += u64::from(replay.reference(*page));
            }
        });
    }

    /// What each policy missed in a region.
    pub fn misses(&self, region: usize) -> Vec<RegionMisses> {
        let mut found: Vec<RegionMisses> = Vec::new();
        for lane in &self.lanes {
            let misses = lane.replays[region].1;
            match found.last_mut() {
                Some(last) if last.replacement == lane.replacement => {
                    last.misses[lane.share] = misses;
                }
                _ => {
                    let mut all = [0; SHARES.len()];
                    all[lane.share] = misses;
                    let replacement = lane.replacement.clone();
                    found.push(RegionMisses { replacement, misses: all });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop over 40 pages in one region, and one page in another one all the time.
    fn accesses() -> Vec<(PageId, u8)> {
        (0..4000_u64).flat_map(|i| [(PageId(i % 40), 0), (PageId(1000), 1)]).collect()
    }

    #[test]
    fn each_region_has_its_best_policy() {
        let region = |name: &str, pages| Region { name: name.to_owned(), pages };
        let regions = [region("loop", 40), region("one", 1)];
        let mut curves = RegionCurves::new(2);
        let mut replays = RegionReplays::new(&regions, &["fifo", "no such policy", "lirs", "lru"]);
        accesses().chunks(333).for_each(|chunk| {
            chunk.iter().for_each(|(page, region)| curves.add(*page, usize::from(*region)));
            replays.feed(chunk);
        });
        assert_eq!((curves.accesses(0), curves.accesses(1)), (4000, 4000));
        let [lru, mru] = curves.misses(0, &regions[0]);
        assert_eq!(lru.misses, [4000; 3]);
        assert!(mru.sum() < lru.sum() * 6 / 10, "{mru:?}");
        let others = replays.misses(0);
        assert_eq!(others.len(), 3);
        assert_eq!((others[0].replacement.as_str(), others[0].misses), ("fifo", [4000; 3]));
        assert!(others[1].sum() < lru.sum());
        assert_eq!(others[2].misses, lru.misses, "simulated and exact agree");
        assert_eq!(replays.misses(1)[0].misses, [1; 3]);
    }
}
