//! Which objects share a section, and how each section is used (Mira, sections 3.1 to 3.3).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::candidates::{Candidates, Site};
use crate::objects::Chosen;

/// How a section is used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One after another: accesses are so many bytes apart, which is less than a line.
    Stream {
        /// The largest distance, in bytes.
        stride: u64,
        /// Lines that a loop holds at the same time.
        at_once: u32,
    },
    /// Here and there: accesses that belong together come to so many bytes.
    Random {
        /// In bytes, as far as it is known.
        granularity: u64,
        /// Lines that are used at the same time.
        at_once: u32,
    },
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream { stride, .. } => write!(f, "in order, {stride} bytes apart"),
            Self::Random { granularity, .. } => {
                write!(f, "here and there, {granularity} bytes together")
            }
        }
    }
}

/// A section that is proposed, without a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Its name.
    pub name: String,
    /// Sites, by their number.
    pub sites: Vec<usize>,
    /// How it is used.
    pub pattern: Pattern,
    /// Most bytes that are allocated at once.
    pub bytes: u64,
}

/// A stride from which on accesses count as random: more than a page.
const FAR_APART: u64 = 4096;

/// Most sections that are proposed; beyond that, streams share one.
const MOST: usize = 32;

/// Makes sections of what was chosen: one for each class of sites, but one for all streams that the same functions go
/// through side by side. `bytes` tells of a site how much is allocated there.
pub fn group(
    candidates: &Candidates,
    chosen: &Chosen,
    bytes: impl Fn(&Site) -> u64,
) -> Vec<Proposal> {
    let mut classes = BTreeMap::<usize, Vec<usize>>::new();
    for site in &chosen.sites {
        classes.entry(candidates.sites[*site].class).or_default().push(*site);
    }
    let mut proposals = Vec::<Proposal>::new();
    let mut streams = BTreeMap::<BTreeSet<&str>, usize>::new();
    let many = classes.len() > MOST;
    for sites in classes.into_values() {
        let pattern = pattern_of(candidates, &sites, &chosen.functions);
        let size = sites.iter().map(|it| bytes(&candidates.sites[*it])).sum();
        let by = if many { BTreeSet::new() } else { users_of(candidates, &sites) };
        if let Pattern::Stream { stride, at_once } = pattern
            && let Some(with) = streams.get(&by)
        {
            let with = &mut proposals[*with];
            with.sites.extend(sites);
            with.bytes += size;
            with.pattern = match with.pattern {
                Pattern::Stream { stride: other, at_once: others } => {
                    Pattern::Stream { stride: stride.max(other), at_once: at_once + others }
                }
                random @ Pattern::Random { .. } => random,
            };
            continue;
        }
        if matches!(pattern, Pattern::Stream { .. }) {
            streams.insert(by, proposals.len());
        }
        let name = name_of(&candidates.sites[sites[0]], &proposals);
        proposals.push(Proposal { name, sites, pattern, bytes: size });
    }
    proposals
}

/// The functions that use what the sites allocate.
fn users_of<'a>(candidates: &'a Candidates, sites: &[usize]) -> BTreeSet<&'a str> {
    let users = candidates
        .accesses
        .iter()
        .filter(|it| it.is_use() && it.sites.iter().any(|site| sites.contains(site)));
    users.map(|it| it.function.as_str()).collect()
}

/// How the functions that were chosen use what the sites allocate; accesses in loops say most.
fn pattern_of(candidates: &Candidates, sites: &[usize], functions: &BTreeSet<String>) -> Pattern {
    let of = |of_chosen: bool, in_loop: bool| -> Vec<_> {
        let uses = candidates.accesses.iter().filter(|it| {
            it.is_use()
                && it.sites.iter().any(|site| sites.contains(site))
                && (!of_chosen || functions.contains(&it.function))
                && (!in_loop || it.r#loop)
        });
        uses.collect()
    };
    let uses = [(true, true), (true, false), (false, true), (false, false)].map(|(a, b)| of(a, b));
    let uses = uses.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
    let stride = |of: Option<i64>| of.map(i64::unsigned_abs);
    let mut by_function = BTreeMap::<&str, BTreeSet<(&str, u64)>>::new();
    for access in &uses {
        by_function.entry(&access.function).or_default().insert((&access.place, access.size));
    }
    let streams = uses.iter().filter_map(|it| stride(it.stride)).filter(|it| *it < FAR_APART);
    let streams: Vec<u64> = streams.collect();
    if !uses.is_empty() && streams.len() == uses.len() {
        let at_once = u32::try_from(sites.len()).unwrap_or(u32::MAX).max(1);
        return Pattern::Stream { stride: streams.into_iter().max().unwrap_or(0), at_once };
    }
    let together =
        by_function.values().map(|it| it.iter().map(|(_, size)| size).sum::<u64>()).max();
    let random = uses.iter().filter(|it| it.stride.is_none()).count();
    Pattern::Random {
        granularity: together.unwrap_or(0).max(1),
        at_once: u32::try_from(random).unwrap_or(u32::MAX).clamp(2, 16),
    }
}

/// Letters of a function that its section is named after: with a number, no more than the compiler takes.
const LETTERS: usize = 32;

/// A name that says where it comes from, and that no other section has.
fn name_of(site: &Site, others: &[Proposal]) -> String {
    let letters = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    let name = site.source.as_ref().unwrap_or(&site.function);
    let function: String = name.chars().map(letters).take(LETTERS).collect();
    let function = if function.starts_with(|it: char| it.is_ascii_alphabetic()) {
        function
    } else {
        format!("s{function}")
    };
    let taken = |name: &str| others.iter().any(|it| it.name == name);
    let numbered = (2..).map(|number| format!("{function}_{number}"));
    std::iter::once(function.clone()).chain(numbered).find(|it| !taken(it)).unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_the_compiler_takes() {
        let site = |function: &str| Site {
            file: String::new(),
            function: function.to_owned(),
            source: None,
            line: 1,
            column: 1,
            class: 0,
            stays: None,
            because: None,
        };
        let long = site(&"operator new<>".repeat(9));
        let mut proposals = Vec::new();
        for _ in 0..12 {
            let name = name_of(&long, &proposals);
            let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_';
            assert!(name.len() <= 40 && name.chars().all(is_plain), "{name}");
            assert!(proposals.iter().all(|it: &Proposal| it.name != name), "{name}");
            let pattern = Pattern::Stream { stride: 1, at_once: 1 };
            proposals.push(Proposal { name, sites: Vec::new(), pattern, bytes: 0 });
        }
        assert_eq!(name_of(&site("~Table"), &[]), "s_Table");
        let grows = Site { source: Some("grow".to_owned()), ..site("_ZN5table4growEv") };
        assert_eq!(name_of(&grows, &[]), "grow");
    }
}
