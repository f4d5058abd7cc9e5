//! What watching a program found, ready to be shown.

use farside_report::stacks::FaultStacks;
use farside_symbols::Names;

use super::followed::Followed;
use super::hints::{HintSite, hint_sites};
use super::pointers::{Pointers, Room};
use super::samples::Samples;
use super::sites::{Site, Spot, Wanted, sites};
use super::stacks::stacks;
use super::suggest::{Suggestion, Surroundings, suggest};
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
    /// The hints that each deserves; none if its code is not known.
    pub suggestions: Vec<Vec<Suggestion>>,
    /// The places that give hints.
    pub hints: Vec<(Spot, HintSite)>,
    /// Which faults are pointer-based, if that was asked for.
    pub pointers: Option<Pointers>,
    /// What came of following pointers, if they were followed.
    pub followed: Option<Followed>,
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
    /// Puts together what was seen, of the faults that are `wanted`, in a run with at most so many pages at once, of which
    /// prefetchers ask for up to `ahead` with a fault.
    pub fn new(
        watched: &Watched,
        wanted: Wanted<'_>,
        title: String,
        local_pages: u64,
        ahead: u32,
    ) -> Self {
        let mut names = Names::default();
        let samples = Samples::new(watched);
        let sites = sites(watched, &samples, &mut names, wanted);
        let around = Surroundings::new(&sites, local_pages);
        let hints = |site: &Site| match site.busiest {
            Some((place, _)) => suggest(site, watched.images.follows_pointers(place), around),
            None => Vec::new(),
        };
        let suggestions = sites.iter().map(hints).collect();
        let stacks = stacks(watched, &samples, &mut names, wanted, &title);
        let room = Room::new(local_pages, ahead);
        let pointers = Pointers::new(watched, &samples, &mut names, room);
        Self {
            title,
            faults: sites.iter().map(Site::total).sum(),
            sites,
            suggestions,
            hints: hint_sites(watched, &mut names),
            pointers,
            followed: Followed::new(watched, &samples, &mut names),
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

    /// The sites that cover 95 % of all faults, with the hints they deserve.
    pub fn suggested(&self) -> impl Iterator<Item = (&Site, &[Suggestion])> {
        let few = self.sites.iter().zip(&self.suggestions).take(self.sites_for_most());
        few.map(|(site, hints)| (site, &hints[..])).filter(|(_, hints)| !hints.is_empty())
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
