//! Which functions suffer most from far memory (Mira, section 3.1).

use std::collections::{BTreeMap, BTreeSet};

use crate::candidates::Candidates;
use crate::profile::Profile;

/// Seconds that each function waits for far memory by itself, by its name.
pub type Overheads = BTreeMap<String, f64>;

/// How much a function suffers.
#[derive(Clone, Debug, PartialEq)]
pub struct Suffering {
    /// Its name.
    pub function: String,
    /// Seconds that it and all that it calls wait, each function counted once.
    pub overhead: f64,
    /// Seconds in it and what it calls.
    pub seconds: f64,
}

impl Suffering {
    /// The share of its time that it waits.
    pub fn share(&self) -> f64 {
        if self.seconds > 0.0 { self.overhead / self.seconds } else { 0.0 }
    }
}

/// What a function and all that it calls, directly or not, is made of.
pub(crate) fn reached<'a>(candidates: &'a Candidates, from: &'a str) -> BTreeSet<&'a str> {
    let calls: BTreeMap<&str, &[String]> =
        candidates.functions.iter().map(|it| (it.name.as_str(), &it.calls[..])).collect();
    let mut reached = BTreeSet::from([from]);
    let mut left = vec![from];
    while let Some(function) = left.pop() {
        let next = calls.get(function).copied().unwrap_or_default();
        left.extend(next.iter().map(String::as_str).filter(|it| reached.insert(it)));
    }
    reached
}

/// All functions that wait, those that suffer most first.
///
/// What a function waits is also what all that it calls waits, each counted once, however they call one another. That
/// is held against the time of the function, so that what runs fast anyway comes last.
pub fn rank(candidates: &Candidates, profile: &Profile, overheads: &Overheads) -> Vec<Suffering> {
    let mut all: Vec<Suffering> = profile
        .functions
        .iter()
        .map(|function| Suffering {
            function: function.name.clone(),
            overhead: reached(candidates, &function.name)
                .iter()
                .filter_map(|it| overheads.get(*it))
                .sum(),
            seconds: function.seconds,
        })
        .filter(|it| it.overhead > 0.0)
        .collect();
    all.sort_by(|one, other| {
        other.share().total_cmp(&one.share()).then(other.overhead.total_cmp(&one.overhead))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::Function;
    use crate::profile::FunctionProfile;

    #[test]
    fn what_is_called_counts_once_however_functions_call_one_another() {
        let function = |name: &str, calls: &[&str]| Function {
            name: name.to_owned(),
            calls: calls.iter().map(|it| (*it).to_owned()).collect(),
            offload: false,
        };
        let candidates = Candidates {
            functions: vec![
                function("main", &["a", "b"]),
                function("a", &["b", "a"]),
                function("b", &["a", "c"]),
                function("c", &[]),
            ],
            ..Candidates::default()
        };
        let timed = |name: &str, seconds| FunctionProfile {
            name: name.to_owned(),
            seconds,
            ..FunctionProfile::default()
        };
        let profile = Profile {
            functions: vec![timed("main", 10.0), timed("a", 4.0), timed("b", 3.5), timed("c", 1.0)],
            ..Profile::default()
        };
        let overheads = [("a", 1.0), ("b", 2.0), ("d", 5.0)];
        let overheads = overheads.map(|(name, seconds)| (name.to_owned(), seconds)).into();
        let ranked = rank(&candidates, &profile, &overheads);
        let shown: Vec<_> = ranked.iter().map(|it| (it.function.as_str(), it.overhead)).collect();
        assert_eq!(shown, [("b", 3.0), ("a", 3.0), ("main", 3.0)]);
    }
}
