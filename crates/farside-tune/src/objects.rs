//! Which objects get sections: the largest of those that suffering functions use (Mira, section 3.1).

use std::collections::BTreeSet;

use crate::candidates::Candidates;
use crate::profile::Profile;
use crate::suffering::{Suffering, reached};

/// How much is looked at.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// The share of functions that suffer, from 0 to 1.
    pub functions: f64,
    /// The share of objects that these use, from 0 to 1.
    pub objects: f64,
    /// So many of both in any case: small programs have few of either.
    pub least: usize,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { functions: 0.1, objects: 0.1, least: 8 }
    }
}

impl Thresholds {
    fn of(self, share: f64, all: usize) -> usize {
        ((share * all as f64).ceil() as usize).max(self.least).min(all)
    }

    /// A step further, for what has converged but might have gone on.
    pub fn widened(self) -> Self {
        Self {
            functions: (2.0 * self.functions).min(1.0),
            objects: (2.0 * self.objects).min(1.0),
            least: 2 * self.least,
        }
    }
}

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Functions that are looked at: those that suffer, and what they call.
    pub functions: BTreeSet<String>,
    /// Sites, by their number.
    pub sites: BTreeSet<usize>,
}

/// Least bytes of an object that is worth a section.
const LEAST_BYTES: u64 = 64 << 10;

/// Chooses functions, then the largest objects that these use. `ranked` has the one that suffers most first.
///
/// Sites that cannot go to sections are no candidates. With a site come all that have to go to the same section.
pub fn choose(
    candidates: &Candidates,
    profile: &Profile,
    ranked: &[Suffering],
    thresholds: Thresholds,
) -> Chosen {
    let most = thresholds.of(thresholds.functions, ranked.len());
    let functions: BTreeSet<&str> =
        ranked[..most].iter().flat_map(|it| reached(candidates, &it.function)).collect();
    let used = candidates
        .accesses
        .iter()
        .filter(|it| it.is_use() && functions.contains(it.function.as_str()))
        .flat_map(|it| &it.sites);
    let used: BTreeSet<usize> = used.copied().collect();
    let bytes =
        |site: usize| profile.of_site(&candidates.sites[site]).map_or(0, |it| it.peak_bytes);
    let mut objects: Vec<usize> = used
        .into_iter()
        .filter(|site| candidates.sites[*site].stays.is_none() && bytes(*site) >= LEAST_BYTES)
        .collect();
    objects.sort_by_key(|site| std::cmp::Reverse(bytes(*site)));
    objects.truncate(thresholds.of(thresholds.objects, objects.len()));
    let classes: BTreeSet<usize> = objects.iter().map(|it| candidates.sites[*it].class).collect();
    let with_class = candidates
        .sites
        .iter()
        .enumerate()
        .filter(|(_, site)| site.stays.is_none() && classes.contains(&site.class));
    Chosen {
        functions: functions.into_iter().map(str::to_owned).collect(),
        sites: with_class.map(|(number, _)| number).collect(),
    }
}
