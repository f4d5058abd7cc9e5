//! What came of following pointers (`--prefetch pointer`, `adaptive`): by where the program was when a chain of pages
//! began, each fetched because of a pointer in one before, and by part of memory.

mod screen;
mod tally;

use std::collections::HashMap;

use farside_symbols::Names;
use farside_wire::fault_log::Deed;
use serde_json::{Value, json};

pub use screen::{columns, part_rows, site_rows, tables};
pub use tally::{Deeds, PART, Tally};

use super::samples::Samples;
use super::sites::{Spot, callers};
use super::watcher::Watched;

/// What was done.
#[derive(Debug)]
pub struct Followed {
    /// By where chains began; those that fetched most first.
    pub sites: Vec<(Spot, Deeds)>,
    /// By part of memory, by its address; those in which most was fetched first.
    pub parts: Vec<(u64, Deeds)>,
}

impl Followed {
    /// Puts together what was done; nothing if no pointers were followed.
    pub fn new(watched: &Watched, samples: &Samples<'_>, names: &mut Names) -> Option<Self> {
        let mut sites: HashMap<Spot, Deeds> = HashMap::new();
        for (stream, deeds) in watched.followed.streams() {
            let Some(stream) = stream else {
                *sites.entry(Spot::Unseen).or_default() += deeds;
                continue;
            };
            let Some(place) = stream.place else {
                *sites.entry(Spot::Generated).or_default() += deeds;
                continue;
            };
            let shares = callers(samples, stream, place, watched, names);
            let sum = shares.values().sum::<u64>().max(1) as f64;
            for ((spot, _), share) in shares {
                *sites.entry(spot).or_default() += deeds.times(share as f64 / sum);
            }
        }
        let mut sites: Vec<_> = sites.into_iter().collect();
        sites.sort_by(|a, b| rank(&b.1).cmp(&rank(&a.1)).then_with(|| a.0.cmp(&b.0)));
        let parts = watched.followed.parts.iter();
        let mut parts: Vec<_> = parts.map(|(part, deeds)| (part * PART, *deeds)).collect();
        parts.sort_by_key(|(part, deeds)| (std::cmp::Reverse(rank(deeds)), *part));
        (!parts.is_empty()).then_some(Self { sites, parts })
    }

    /// For programs.
    pub fn json(&self, spot: impl Fn(&Spot) -> Value) -> Value {
        let sites = self.sites.iter().map(|(at, deeds)| with(spot(at), deeds));
        let parts = self.parts.iter().map(|(from, deeds)| {
            with(json!({ "from": format!("{from:#x}"), "bytes": PART }), deeds)
        });
        json!({ "sites": sites.collect::<Vec<_>>(), "parts": parts.collect::<Vec<_>>() })
    }
}

fn rank(deeds: &Deeds) -> (u64, u64) {
    (deeds.get(Deed::Fetched), deeds.get(Deed::Scanned))
}

fn with(mut object: Value, deeds: &Deeds) -> Value {
    for deed in Deed::ALL {
        object[deed.name()] = json!(deeds.get(deed));
    }
    object
}
