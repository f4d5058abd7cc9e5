//! What a run of an instrumented program measured.

use serde::{Deserialize, Serialize};

use crate::candidates::Site;
use crate::trace::BLOCK;

/// The version of what is understood here.
const VERSION: u32 = 1;

/// What a run measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// That of the format.
    pub version: u32,
    /// From start to end.
    pub seconds: f64,
    /// The functions that were measured; others count as their callers.
    pub functions: Vec<FunctionProfile>,
    /// What was allocated where.
    pub sites: Vec<SiteProfile>,
    /// The sections.
    #[serde(default)]
    pub sections: Vec<SectionProfile>,
    /// Whether there were more accesses than the trace was to hold.
    #[serde(default)]
    pub cut: bool,
}

/// A function in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionProfile {
    /// Its name in the source.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
    /// Time in it and in what it called; each moment counts once, however often it is under way.
    pub seconds: f64,
    /// Time in it alone.
    pub own_seconds: f64,
    /// What it did with sections.
    #[serde(default)]
    pub sections: Vec<FunctionSection>,
}

/// A function's share in what is done with a section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionSection {
    /// Name of the section.
    pub section: String,
    /// How often it looked for a line.
    pub lookups: u64,
    /// How often it had to wait for one.
    pub misses: u64,
    /// How long it waited.
    pub miss_seconds: f64,
}

/// What was allocated at a site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteProfile {
    /// The source file.
    pub file: String,
    /// The function.
    pub function: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// How often.
    pub blocks: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Most bytes at once.
    pub peak_bytes: u64,
    /// Bytes of the largest block.
    pub largest: u64,
    /// When the first was allocated, in seconds from the start.
    pub first: f64,
    /// When the last was freed, or the program ended.
    pub last: f64,
}

/// A section in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SectionProfile {
    /// Its name.
    pub name: String,
    /// Bytes of a line.
    pub line: u64,
    /// Lines of a set: 1 is direct, 0 is all.
    pub ways: u32,
    /// Bytes of local memory.
    pub capacity: u64,
    /// How often lines were looked for.
    pub lookups: u64,
    /// How often one was waited for.
    pub misses: u64,
    /// How long.
    pub miss_seconds: f64,
    /// Whether the main thread looked for some.
    #[serde(default)]
    pub main: bool,
    /// How many other threads did, as many as there were at the same time.
    #[serde(default)]
    pub other_threads: u32,
    /// Whether one of these did to write.
    #[serde(default)]
    pub others_write: bool,
    /// Bytes of which all accesses are in the trace, or none.
    pub unit: u64,
    /// One of so many units is in the trace.
    pub rate: u64,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// In a line of text: why it cannot be understood.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let profile: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if profile.version != VERSION {
            let version = profile.version;
            return Err(format!("its version is {version}, and this farside knows {VERSION}"));
        }
        let bad = |it: &&SectionProfile| {
            let are_lengths = it.line.is_power_of_two() && it.unit.is_power_of_two();
            !are_lengths || it.line < BLOCK || it.rate == 0
        };
        if let Some(section) = profile.sections.iter().find(bad) {
            return Err(format!("the section '{}' makes no sense", section.name));
        }
        Ok(profile)
    }

    /// What was allocated at a site.
    pub fn of_site(&self, site: &Site) -> Option<&SiteProfile> {
        self.sites.iter().find(|it| {
            it.line == site.line
                && it.column == site.column
                && it.file == site.file
                && it.function == site.function
        })
    }

    /// What was measured of a section.
    pub fn of_section(&self, name: &str) -> Option<&SectionProfile> {
        self.sections.iter().find(|it| it.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = Profile {
            version: 1,
            sections: vec![SectionProfile {
                name: "s".to_owned(),
                line: 64,
                unit: 4096,
                rate: 16,
                ..SectionProfile::default()
            }],
            ..Profile::default()
        };
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(Profile::read(text.as_bytes()), Ok(good));
        for (from, to) in [
            ("\"version\":1", "\"version\":9"),
            ("4096", "4095"),
            ("\"line\":64", "\"line\":32"),
            ("16", "0"),
            ("}", ""),
        ] {
            assert!(Profile::read(text.replace(from, to).as_bytes()).is_err(), "{to}");
        }
    }
}
