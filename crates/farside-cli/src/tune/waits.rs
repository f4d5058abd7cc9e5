//! Whose waits for far memory are whose: of functions, and of what was allocated where.

use std::collections::{BTreeMap, BTreeSet};

use farside_tune::{Candidates, Overheads};
use serde_json::Value;

use super::journal::median;

/// How long runs in paged memory wait, by what they take longer than with room for everything, or by what they count
/// themselves: one run with room for everything that other work held up must not hide all that they wait.
pub fn seconds(paged: &[f64], all_local: f64, counted: &[f64]) -> f64 {
    let all = median(paged);
    (all - all_local).max(median(counted)).clamp(0.0, all)
}

/// How long a program waits in paged memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// By the function that waits by itself.
    pub functions: Overheads,
    /// By the sites, as a set, to whose memory the lines that wait may come.
    pub sites: BTreeMap<BTreeSet<usize>, f64>,
    /// All of it.
    pub seconds: f64,
}

impl Waits {
    /// From what `farside faults` tells, if a fault takes so long.
    pub fn of(candidates: &Candidates, faults: &Value, fault_seconds: f64) -> Self {
        let mut waits = Self::default();
        for site in faults["sites"].as_array().into_iter().flatten() {
            let count: f64 = site["kinds"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|kind| matches!(kind["answer"].as_str(), Some("demand" | "late")))
                .filter_map(|kind| kind["faults"].as_f64())
                .sum();
            if count > 0.0 {
                waits.add(candidates, site, count * fault_seconds);
            }
        }
        waits
    }

    fn add(&mut self, candidates: &Candidates, fault: &Value, seconds: f64) {
        let (file, line) = (fault["file"].as_str().unwrap_or(""), fault["line"].as_u64());
        let here = |place: &str| {
            place.rsplit_once(':').is_some_and(|(of, at)| {
                at.parse().ok() == line && line.is_some() && is_same(of, file)
            })
        };
        let there: Vec<_> =
            candidates.accesses.iter().filter(|it| it.is_use() && here(&it.place)).collect();
        let functions: BTreeSet<&str> = there.iter().map(|it| it.function.as_str()).collect();
        if functions.is_empty() {
            let function = fault["function"].as_str().unwrap_or("").to_owned();
            *self.functions.entry(function).or_default() += seconds;
        }
        for function in &functions {
            let share = seconds / functions.len() as f64;
            *self.functions.entry((*function).to_owned()).or_default() += share;
        }
        let sites = there.iter().flat_map(|it| &it.sites).copied().collect();
        *self.sites.entry(sites).or_default() += seconds;
        self.seconds += seconds;
    }

    /// Seconds that the memory of none of these sites explains.
    pub fn elsewhere(&self, sites: &BTreeSet<usize>) -> f64 {
        let elsewhere = self.sites.iter().filter(|(of, _)| of.is_disjoint(sites));
        elsewhere.map(|(_, seconds)| seconds).sum()
    }
}

/// Whether two paths name the same file, as far as both say; one may be relative.
fn is_same(one: &str, other: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let parts = path.rsplit('/').filter(|part| !part.is_empty() && *part != ".");
        parts.map(str::to_owned).collect()
    };
    let (one, other) = (parts(one), parts(other));
    let most = one.len().min(other.len());
    most > 0 && one[..most] == other[..most]
}

#[cfg(test)]
mod tests {
    use super::*;
    use farside_tune::{Access, Kind};

    #[test]
    fn waits_are_seen_though_the_run_with_room_was_held_up() {
        assert_eq!(seconds(&[3.0, 2.0, 4.0], 1.0, &[0.5, 0.5, 0.5]), 2.0);
        assert_eq!(seconds(&[3.0, 2.0, 4.0], 5.0, &[0.5, 0.6, 0.4]), 0.5);
        let threads = [9.0; 3];
        assert_eq!(seconds(&[3.0; 3], 1.0, &threads), 3.0, "threads wait at the same time");
    }

    #[test]
    fn waits_go_to_functions_and_sites_by_lines() {
        let access = |place: &str, function: &str, sites: &[usize]| Access {
            place: place.to_owned(),
            function: function.to_owned(),
            kind: Kind::Load,
            sites: sites.to_vec(),
            size: 8,
            stride: None,
            r#loop: false,
        };
        let candidates = Candidates {
            accesses: vec![
                access("src/a.c:3", "f", &[0]),
                access("src/a.c:3", "g", &[0, 1]),
                access("src/a.c:4", "f", &[1]),
            ],
            ..Candidates::default()
        };
        let fault = |line: u64, answer: &str, faults: u64| {
            serde_json::json!({
                "function": "h", "file": "/home/src/a.c", "line": line,
                "kinds": [{"answer": answer, "faults": faults}],
            })
        };
        let sites = [
            fault(3, "demand", 10),
            fault(4, "late", 5),
            fault(9, "demand", 1),
            fault(3, "first touch", 7),
        ];
        let waits = Waits::of(&candidates, &serde_json::json!({ "sites": sites }), 2.0);
        let functions = [("f", 20.0), ("g", 10.0), ("h", 2.0)];
        assert_eq!(waits.functions, functions.map(|(name, it)| (name.to_owned(), it)).into());
        assert_eq!(waits.seconds, 32.0);
        assert_eq!(waits.elsewhere(&[0].into()), 12.0);
        assert_eq!(waits.elsewhere(&[0, 1].into()), 2.0);
    }
}
