//! Replacement policies by the name a user selects them by.

use super::{Fifo, ReplacementPolicy, SecondChance};

/// Name and one-line description of every replacement policy.
pub const NAMES: &[(&str, &str)] = &[
    ("fifo", "evict in order of arrival; costs nothing while pages stay"),
    ("second-chance", "evict in order of arrival, but spare pages used while about to leave"),
];

/// A new policy with its default parameters, or `None` if none has that name.
pub fn by_name(name: &str) -> Option<Box<dyn ReplacementPolicy>> {
    Some(match name {
        "fifo" => Box::new(Fifo::new()),
        "second-chance" => Box::new(SecondChance::new()),
        _ => return None,
    })
}
