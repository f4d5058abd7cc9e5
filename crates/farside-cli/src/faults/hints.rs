//! What came of the hints that the program gives, and which of them are in vain.

use std::collections::BTreeMap;

use farside_symbols::{Names, Place};
use farside_wire::hint_board::{Count, Counted};
use serde_json::{Value, json};

use super::sites::{Spot, key_of};
use super::watcher::Watched;

/// A share from which something is said of a hint.
const MOST: f64 = 0.5;

/// Hints of one place in the program.
#[derive(Clone, Debug, Default)]
pub struct HintSite {
    /// Those that looked at the table: with `.sequential`, one for each page.
    pub given: u64,
    /// Those at what is no far memory.
    pub astray: u64,
    /// Those that found something missing.
    pub missing: u64,
    /// Pages that came for them.
    pub brought: u64,
    /// Pages that were read ahead.
    pub ahead: u64,
    /// Those of them that were used, and that left unused.
    pub ahead_ended: (u64, u64),
}

/// What is wrong with a hint.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Most of what it points to is no far memory.
    Astray,
    /// It never found anything missing.
    NeverNeeded,
    /// Most of what it had read ahead left without having been used.
    AheadUnused,
}

impl HintSite {
    fn add(&mut self, counted: &Counted) {
        self.given += counted.get(Count::Given);
        self.astray += counted.get(Count::Astray);
        self.missing += counted.get(Count::Missing);
        self.brought += counted.get(Count::Brought);
        self.ahead += counted.get(Count::Ahead);
        self.ahead_ended.0 += counted.get(Count::AheadUsed);
        self.ahead_ended.1 += counted.get(Count::AheadUnused);
    }

    /// What is wrong with it, if anything is.
    pub fn fault(&self) -> Option<Fault> {
        let (used, unused) = self.ahead_ended;
        if self.astray as f64 > MOST * self.given as f64 {
            Some(Fault::Astray)
        } else if self.missing + self.brought + self.ahead == 0 {
            Some(Fault::NeverNeeded)
        } else if unused as f64 > MOST * (used + unused) as f64 {
            Some(Fault::AheadUnused)
        } else {
            None
        }
    }

    /// For programs.
    pub fn json(&self, spot: Value) -> Value {
        json!({
            "at": spot, "given": self.given, "astray": self.astray, "missing": self.missing,
            "brought": self.brought, "ahead": self.ahead, "ahead_used": self.ahead_ended.0,
            "ahead_unused": self.ahead_ended.1, "misplaced": self.fault().map(Fault::name),
        })
    }
}

impl Fault {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Astray => "astray",
            Self::NeverNeeded => "never-needed",
            Self::AheadUnused => "ahead-unused",
        }
    }

    /// What it is and what to do, for people.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Astray => "points to what is no far memory: take it away",
            Self::NeverNeeded => "never found anything missing: take it away",
            Self::AheadUnused => "most of what it had read ahead was not used: make .ahead smaller",
        }
    }
}

/// The places that give hints, those with most first.
pub fn hint_sites(watched: &Watched, names: &mut Names) -> Vec<(Spot, HintSite)> {
    let mut sites: BTreeMap<Spot, HintSite> = BTreeMap::new();
    for counted in &watched.hints {
        // The address is the one behind the call.
        let place: Option<Place> = watched.images.place(counted.address.wrapping_sub(1));
        let spot = place.map_or(Spot::Generated, |place| key_of(&[place], watched, names).0);
        sites.entry(spot).or_default().add(counted);
    }
    let mut sites: Vec<_> = sites.into_iter().collect();
    sites.sort_by_key(|(_, site)| std::cmp::Reverse(site.given));
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_in_vain_are_told_from_others() {
        let good = HintSite { given: 100, missing: 10, brought: 12, ..HintSite::default() };
        assert_eq!(good.fault(), None);
        let useless = HintSite { given: 100, ..HintSite::default() };
        assert_eq!(useless.fault(), Some(Fault::NeverNeeded));
        let astray = HintSite { astray: 90, ..good.clone() };
        assert_eq!(astray.fault(), Some(Fault::Astray));
        let ahead =
            |used, unused| HintSite { ahead: 100, ahead_ended: (used, unused), ..good.clone() };
        assert_eq!(ahead(60, 40).fault(), None);
        assert_eq!(ahead(40, 60).fault(), Some(Fault::AheadUnused));
    }
}
