//! What watching a program found, ready to be shown.

use farside_report::stacks::FaultStacks;
use farside_symbols::Names;

use super::sites::{Site, Spot, Wanted, sites};
use super::stacks::stacks;
use super::watcher::Watched;

/// The share of all faults that a few sites are to cover.
const MOST: f64 = 0.95;

/// What was found.
#[derive(Debug)]
pub struct Findings {
    /// What ran.
    pub title: String,
    /// The sites, those with most faults first.
    pub sites: Vec<Site>,
    /// The stacks.
    pub stacks: FaultStacks,
    /// All faults of interest.
    pub faults: u64,
    /// Stacks that were looked at, and how many of them end before the beginning of their thread.
    pub samples: (u64, u64),
    /// Events of the kernel that nobody could read in time.
    pub lost: u64,
    /// Why the kernel told nothing, if it did not.
    pub refused: Option<String>,
}

impl Findings {
    /// Puts together what was seen, of the faults that are `wanted`.
    pub fn new(watched: &Watched, wanted: Wanted<'_>, title: String) -> Self {
        let mut names = Names::default();
        let sites = sites(watched, &mut names, wanted);
        let stacks = stacks(watched, &mut names, wanted, &title);
        Self {
            title,
            faults: sites.iter().map(Site::total).sum(),
            sites,
            stacks,
            samples: (watched.tally.samples, watched.tally.incomplete),
            lost: watched.tally.lost,
            refused: watched.refused.clone(),
        }
    }

    /// How many sites it takes to cover 95 % of all faults.
    pub fn sites_for_most(&self) -> usize {
        let mut covered = 0;
        let enough = |site: &Site| {
            covered += site.total();
            covered as f64 >= MOST * self.faults as f64
        };
        self.sites.iter().position(enough).map_or(self.sites.len(), |index| index + 1)
    }

    /// Faults whose line is not known, and of these, those that nobody saw.
    pub fn unresolved(&self) -> (u64, u64) {
        let of = |is: fn(&Spot) -> bool| {
            self.sites.iter().filter(|site| is(&site.spot)).map(Site::total).sum()
        };
        (of(|spot| !matches!(spot, Spot::Line { .. })), of(|spot| *spot == Spot::Unseen))
    }

    /// The share of the site among all faults, and of it and all before it.
    pub fn shares(&self) -> impl Iterator<Item = (&Site, f64, f64)> {
        let all = self.faults.max(1) as f64;
        self.sites.iter().scan(0, move |covered, site| {
            *covered += site.total();
            Some((site, site.total() as f64 / all, *covered as f64 / all))
        })
    }
}
