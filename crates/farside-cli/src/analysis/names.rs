//! Names of the policies and prefetchers that can be simulated.

use farside_policy::{prefetch, replacement};
use farside_sim::sweep::CLAIRVOYANT;

type Named = (&'static str, &'static str);

fn policies() -> Vec<Named> {
    let clairvoyant = CLAIRVOYANT.iter().map(|(name, about, _)| (*name, *about));
    let seeing = replacement::NAMES.iter().chain(replacement::OMNISCIENT).copied();
    seeing.chain(clairvoyant).collect()
}

/// Prefetchers with what they do.
pub fn prefetchers() -> impl Iterator<Item = Named> {
    prefetch::NAMES.iter().chain(prefetch::OMNISCIENT).copied()
}

/// What there is to choose from, in one line.
pub fn known() -> String {
    let line =
        |names: Vec<Named>| names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    format!("policies: {}; prefetchers: {}", line(policies()), line(prefetchers().collect()))
}

/// What there is to choose from, with what it does.
pub fn help() -> String {
    let list = |names: Vec<Named>| -> String {
        names.iter().map(|(name, about)| format!("  {name:<15}{about}\n")).collect()
    };
    format!(
        "Replacement policies:\n{}\nPrefetchers:\n{}\n\
         The lookahead of the tape is that of --readahead, at most a quarter of the memory. Policies that\n\
         know the future are simulated without prefetching.",
        list(policies()),
        list(prefetchers().collect())
    )
}
