//! A prefetcher with its parameters, as a user names it.

use std::fmt;
use std::str::FromStr;

use super::{
    Adaptive, LinuxWindow, POINTER, PROXIMITY, PointerOptions, Prefetcher, ProximityInRun,
    ProximityOptions, WithPointers, by_name, of_runs,
};

/// A prefetcher of runs: its name, and behind a colon how it goes about it if that can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    name: &'static str,
    /// How pointers are followed; `None` if they are not.
    pub pointers: Option<PointerOptions>,
    proximity: ProximityOptions,
}

/// Why a text is no [`Choice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadChoice {
    /// No prefetcher has that name.
    Name,
    /// The prefetcher has no parameters.
    NoParameters(&'static str),
    /// A parameter is none, or its value cannot be.
    Parameter(String),
}

impl fmt::Display for BadChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => write!(f, "no such name; there are: {}", names()),
            Self::NoParameters(name) => {
                write!(
                    f,
                    "{name} has no parameters; only pointer, proximity and adaptive have some"
                )
            }
            Self::Parameter(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for BadChoice {}

fn names() -> String {
    of_runs().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Choice {
    type Err = BadChoice;

    /// Reads `NAME` or `NAME:PARAMETER=NUMBER,...`.
    fn from_str(text: &str) -> Result<Self, BadChoice> {
        let (given, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let known = of_runs().find(|(name, _)| *name == given);
        let name = known.ok_or(BadChoice::Name)?.0;
        let follows = name == POINTER.0 || name == Adaptive::NAME;
        let mut choice = Self {
            name,
            pointers: follows.then(PointerOptions::default),
            proximity: ProximityOptions::OF_RUNS,
        };
        match parameters {
            None => {}
            Some(text) if follows => {
                choice.pointers = Some(text.parse().map_err(BadChoice::Parameter)?);
            }
            Some(text) if name == PROXIMITY => {
                choice.proximity = text.parse().map_err(BadChoice::Parameter)?;
            }
            Some(_) => return Err(BadChoice::NoParameters(name)),
        }
        Ok(choice)
    }
}

impl Choice {
    /// A new prefetcher of this kind that fetches at most `max_pages` pages with a fault. Pointers are followed by
    /// whoever sees memory, as the prefetcher [says](Prefetcher::pointers).
    pub fn prefetcher(&self, max_pages: u32) -> Box<dyn Prefetcher> {
        let read_ahead = LinuxWindow::new(max_pages);
        if self.name == POINTER.0 {
            return Box::new(WithPointers::new(read_ahead));
        }
        if self.name == PROXIMITY {
            let options = ProximityOptions { most: max_pages, ..self.proximity };
            return Box::new(ProximityInRun::new(options));
        }
        // Only names that are known come here.
        by_name(self.name, max_pages).unwrap_or_else(|| Box::new(read_ahead))
    }
}
