//! Which sections of a program are caches, and which are plain memory since there is room for all of them.

use std::fmt;
use std::str::FromStr;

/// Which sections of the program are more than plain memory, as far as the compiler has made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sections {
    /// Those for which there is less room than they hold.
    Needed(Known),
    /// All.
    Always,
}

/// What an earlier run of a program has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Most bytes that it used at once besides its sections.
    pub paged: Option<u64>,
    /// What sections held at most, by name, in bytes; 0 where that is to be found out again.
    pub held: Vec<(String, u64)>,
}

/// A section that could be plain memory. Sizes are in bytes, and 0 where nothing is known.
#[derive(Copy, Clone, Debug)]
pub struct Asked<'a> {
    /// Its name.
    pub name: &'a str,
    /// Local memory that it is to have.
    pub capacity: u64,
    /// The same of all sections that its program has.
    pub together: u64,
    /// What it holds at most, by what its program was built with.
    pub holds: u64,
    /// What the program uses besides its sections, by the same.
    pub paged: u64,
    /// The local limit, if there is one.
    pub local: Option<u64>,
}

impl Default for Sections {
    fn default() -> Self {
        Self::Needed(Known::default())
    }
}

impl Sections {
    /// Whether a section holds no more than it has room for, by an earlier run or else by what its program was built with;
    /// what it holds. What sections hold is counted in whole spans, so that a little more is no more. All that is paged has to
    /// have room, too: what is there without a section would have to make room for it otherwise. Without a limit there is room
    /// for all; 0 is returned where it is not known what a section holds.
    pub fn fits(&self, asked: &Asked<'_>) -> Option<u64> {
        let Self::Needed(known) = self else { return None };
        let held = known.held.iter().find(|(of, _)| of == asked.name);
        let holds = held.map_or(asked.holds, |(_, bytes)| *bytes);
        let Some(local) = asked.local else { return Some(holds) };
        let paged = known.paged.or(Some(asked.paged).filter(|bytes| *bytes > 0))?;
        let fits = holds <= asked.capacity.saturating_add(asked.capacity / 32);
        (holds > 0 && fits && paged.saturating_add(asked.together) <= local).then_some(holds)
    }
}

impl fmt::Display for Sections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Needed(Known { paged, held }) = self else { return f.write_str("always") };
        f.write_str("needed")?;
        let Some(paged) = paged else { return Ok(()) };
        write!(f, ":{paged}")?;
        held.iter().try_for_each(|(name, bytes)| write!(f, ",{name}={bytes}"))
    }
}

impl FromStr for Sections {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "always" => Some(Self::Always),
            None if text == "needed" => Some(Self::default()),
            Some(("needed", known)) => parse_known(known).map(Self::Needed),
            _ => None,
        }
        .ok_or("neither \"needed\" nor \"always\"")
    }
}

fn parse_known(text: &str) -> Option<Known> {
    let mut parts = text.split(',');
    let paged = Some(parts.next()?.parse().ok()?);
    let one = |part: &str| {
        let (name, bytes) = part.rsplit_once('=')?;
        Some((name.to_owned(), bytes.parse().ok()?))
    };
    Some(Known { paged, held: parts.map(one).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_plain_if_it_is_known_to_fit() {
        let asked = |name: &'static str, capacity, holds| Asked {
            name,
            capacity,
            together: 2_000_000,
            holds,
            paged: 0,
            local: Some(3_000_000),
        };
        let known = "needed:1000000,nodes=1000000,edges=0".parse::<Sections>().unwrap();
        assert_eq!(known.fits(&asked("nodes", 1_000_000, 0)), Some(1_000_000));
        assert_eq!(known.fits(&asked("nodes", 970_000, 5)), Some(1_000_000), "in whole spans");
        assert_eq!(known.fits(&asked("nodes", 960_000, 5)), None, "an earlier run knows better");
        assert_eq!(known.fits(&asked("edges", u64::MAX, 5)), None, "it is to be found out again");
        assert_eq!(known.fits(&asked("leaves", 5, 5)), Some(5));
        assert_eq!(known.fits(&asked("leaves", 5, 0)), None);
        let short = Asked { local: Some(2_999_999), ..asked("nodes", 1_000_000, 0) };
        assert_eq!(known.fits(&short), None, "what is paged would have to make room");
        let built = Asked { paged: 1_000_000, ..asked("nodes", 5, 5) };
        assert_eq!(Sections::default().fits(&built), Some(5));
        assert_eq!(Sections::default().fits(&asked("nodes", 5, 5)), None, "nothing is known");
        let unlimited = Asked { local: None, ..asked("edges", 5, 7) };
        assert_eq!(known.fits(&unlimited), Some(0));
        assert_eq!(Sections::default().fits(&unlimited), Some(7));
        assert_eq!(Sections::Always.fits(&unlimited), None);
        assert_eq!("always".parse::<Sections>().unwrap().fits(&built), None);
        for bad in ["", "often", "needed:", "needed:nodes=1", "needed:1,nodes", "always:1"] {
            assert!(bad.parse::<Sections>().is_err(), "{bad}");
        }
    }
}
