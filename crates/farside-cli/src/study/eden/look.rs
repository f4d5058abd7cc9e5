//! Looks where a program's faults come from, at two sizes of its local memory.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::input::{Invocation, Place};
use super::super::run;
use super::programs::Program;
use crate::Failure;

/// Local memory in percent of the footprint: as in the paper, and more.
pub const LEVELS: [u64; 2] = [10, 30];

/// A program's faults at both sizes.
#[derive(Debug)]
pub struct Looked {
    pub program: &'static Program,
    /// Bytes that it uses at its peak.
    pub footprint: u64,
    pub levels: [Sites; LEVELS.len()],
}

/// Where faults come from: places, with all their faults and those on far pages.
#[derive(Clone, Debug, Default)]
pub struct Sites(BTreeMap<String, Faults>);

/// What stands between the function of a place and where in the function it is.
const INSIDE: &str = " at ";

/// Faults of a place.
#[derive(Copy, Clone, Debug, Default)]
pub struct Faults {
    /// All that have to wait.
    pub all: u64,
    /// Those on pages that are far or on their way.
    pub far: u64,
}

/// The place of all code that a program made for itself.
const GENERATED: &str = "generated code";

impl Sites {
    /// Reads what `farside faults --json` wrote.
    fn read(found: &Value) -> Option<Self> {
        let mut sites = BTreeMap::new();
        for site in found["sites"].as_array()? {
            let place = match site["unknown"].as_str() {
                Some(what) => what.to_owned(),
                None => {
                    let of = |keys: &[&str]| {
                        keys.iter().map(|key| site[*key].to_string()).collect::<Vec<_>>().join(" ")
                    };
                    of(&["image", "file", "function"]) + INSIDE + &of(&["line", "address"])
                }
            };
            let faults: &mut Faults = sites.entry(place).or_default();
            for kind in site["kinds"].as_array()? {
                let count = kind["faults"].as_u64()?;
                faults.all += count;
                if matches!(kind["answer"].as_str()?, "demand" | "late") {
                    faults.far += count;
                }
            }
        }
        Some(Self(sites))
    }

    /// The functions that the places are in.
    pub fn functions(&self) -> Self {
        let mut functions: BTreeMap<String, Faults> = BTreeMap::new();
        for (place, faults) in &self.0 {
            let function = place.rsplit_once(INSIDE).map_or(place.as_str(), |(name, _)| name);
            let sum = functions.entry(function.to_owned()).or_default();
            sum.all += faults.all;
            sum.far += faults.far;
        }
        Self(functions)
    }

    /// How many places there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Faults at all places.
    pub fn faults(&self, of: fn(&Faults) -> u64) -> u64 {
        self.0.values().map(of).sum()
    }

    /// Faults of the places, those with most first.
    pub fn ranked(&self, of: fn(&Faults) -> u64) -> Vec<(&str, u64)> {
        let faults = self.0.iter().map(|(place, faults)| (place.as_str(), of(faults)));
        let mut faults: Vec<_> = faults.filter(|(_, count)| *count > 0).collect();
        faults.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        faults
    }

    /// The fewest places that have so large a share of the faults.
    pub fn most(&self, of: fn(&Faults) -> u64, share: f64) -> Vec<&str> {
        let wanted = self.faults(of) as f64 * share;
        let mut sum = 0.0;
        let enough = |(place, count)| {
            let more = sum < wanted;
            sum += count as f64;
            more.then_some(place)
        };
        self.ranked(of).into_iter().map_while(enough).collect()
    }

    /// The share of the faults that these places have.
    pub fn share(&self, of: fn(&Faults) -> u64, places: &[&str]) -> f64 {
        let here = |place: &&str| self.0.get(*place).map_or(0, of);
        places.iter().map(here).sum::<u64>() as f64 / self.faults(of).max(1) as f64
    }

    /// The share of the faults that code has which the program made for itself.
    pub fn generated(&self, of: fn(&Faults) -> u64) -> f64 {
        self.share(of, &[GENERATED])
    }
}

/// Looks at a program.
///
/// # Errors
/// If it cannot be run, or prints another thing on far memory than when all its memory is local.
pub fn look(
    program: &'static Program,
    place: &Place,
    say: &dyn Fn(&str),
) -> Result<Looked, Failure> {
    let failed = |why: String| Failure::usage(format!("cannot study {}: {why}", program.name));
    say("making its input");
    let call = (program.call)(place).map_err(failed)?;
    say("with room for everything");
    let (footprint, printed) = run::footprint(&call, place).map_err(failed)?;
    let mut levels: [Sites; LEVELS.len()] = Default::default();
    for (sites, percent) in levels.iter_mut().zip(LEVELS) {
        say(&format!("with {percent} % of {} MiB", footprint >> 20));
        let local = (footprint * percent / 100).max(1 << 20);
        let (found, again) = faults(&call, local, place).map_err(failed)?;
        if call.load.is_none() && again != printed {
            return Err(failed(format!("with {percent} % it prints something else")));
        }
        *sites = found;
    }
    Ok(Looked { program, footprint, levels })
}

/// Runs it with `local` bytes; where its faults come from, and what it prints.
fn faults(call: &Invocation, local: u64, place: &Place) -> Result<(Sites, Vec<u8>), String> {
    let (found, printed) = run::faults(call, local, &[], place)?;
    Ok((Sites::read(&found).ok_or("its faults cannot be read")?, printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites() -> Sites {
        let found = serde_json::json!({"sites": [
            {"function": "a", "line": 1, "kinds": [{"answer": "demand", "faults": 90}]},
            {"function": "a", "line": 2, "kinds": [{"answer": "late", "faults": 5},
                                                   {"answer": "first-touch", "faults": 100}]},
            {"unknown": "generated code", "kinds": [{"answer": "demand", "faults": 5}]}]});
        Sites::read(&found).expect("well formed")
    }

    #[test]
    fn the_fewest_places_that_have_most_faults() {
        let sites = sites();
        assert_eq!((sites.count(), sites.functions().count()), (3, 2));
        assert_eq!(sites.most(|faults| faults.all, 0.5).len(), 1);
        assert_eq!(sites.most(|faults| faults.all, 0.95).len(), 2);
        assert_eq!(sites.most(|faults| faults.far, 0.9).len(), 1);
        assert_eq!(sites.most(|faults| faults.far, 0.95).len(), 2);
    }

    #[test]
    fn shares_of_places() {
        let sites = sites();
        assert_eq!(sites.generated(|faults| faults.far), 0.05);
        let most = sites.most(|faults| faults.all, 0.5);
        assert_eq!(sites.share(|faults| faults.far, &most), 0.05);
    }
}
