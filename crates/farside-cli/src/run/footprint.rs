//! Peak footprints of earlier runs, remembered by program and arguments.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use farside_pager::cached::Known;
use serde::{Deserialize, Serialize};

use super::report::SectionHeld;

/// Where footprints are remembered, under the state directory of the XDG rules.
#[derive(Clone, Debug)]
pub struct Footprints {
    directory: PathBuf,
}

/// One remembered footprint.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    program: String,
    arguments: Vec<String>,
    peak_footprint_bytes: u64,
    /// What sections of the program held at most.
    #[serde(default)]
    sections: BTreeMap<String, u64>,
}

/// What the same data may take more in plain memory than in sections, beside a tenth of it.
const SLACK: u64 = 4 << 20;

/// What an earlier run of a command left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Its peak footprint in bytes.
    pub peak: u64,
    /// What its sections held at most, by name, in bytes; 0 where that is to be found out again.
    pub sections: Vec<(String, u64)>,
}

impl Remembered {
    /// What the next run is told.
    pub fn known(&self) -> Known {
        let held: u64 = self.sections.iter().map(|(_, bytes)| bytes).sum();
        let paged = (self.peak > 0).then(|| self.peak.saturating_sub(held));
        Known { paged, held: self.sections.clone() }
    }

    /// What to remember of a run, before which this was remembered. Of sections that were plain memory nothing was seen: if
    /// the program has grown, they may have.
    pub fn next(&self, peak: u64, sections: &[SectionHeld]) -> Self {
        let grown = self.peak > 0 && peak > self.peak + self.peak / 10 + SLACK;
        let of = |section: &SectionHeld| {
            let bytes = if section.plain && grown { 0 } else { section.peak_bytes };
            (section.name.clone(), bytes)
        };
        let named = sections.iter().filter(|section| is_simple(&section.name));
        Self { peak, sections: named.map(of).collect() }
    }
}

/// Whether a name can be passed on among others.
fn is_simple(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
}

impl Footprints {
    /// The place for the current user; `None` if there is neither a state nor a home directory.
    pub fn of_user() -> Option<Self> {
        state_directory().map(|state| Self::at(&state))
    }

    /// The place under the state directory `state`.
    pub fn at(state: &Path) -> Self {
        Self { directory: state.join("farside/footprints") }
    }

    /// What the last successful run of the same command left.
    pub fn recall(&self, program: &Path, arguments: &[OsString]) -> Option<Remembered> {
        let text = std::fs::read_to_string(self.file(program, arguments)).ok()?;
        let entry: Entry = toml::from_str(&text).ok()?;
        let sections = entry.sections.into_iter().filter(|(name, _)| is_simple(name)).collect();
        Some(Remembered { peak: entry.peak_footprint_bytes, sections }).filter(|it| it.peak > 0)
    }

    /// Remembers what a run left.
    pub fn remember(
        &self,
        program: &Path,
        arguments: &[OsString],
        left: &Remembered,
    ) -> io::Result<()> {
        let entry = Entry {
            program: program.to_string_lossy().into_owned(),
            arguments: arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
            peak_footprint_bytes: left.peak,
            sections: left.sections.iter().cloned().collect(),
        };
        let text = toml::to_string(&entry).map_err(io::Error::other)?;
        std::fs::create_dir_all(&self.directory)?;
        // Runs of the same command may end at the same time; a reader must never see half a file.
        let file = self.file(program, arguments);
        let draft = file.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&draft, text)?;
        std::fs::rename(&draft, &file)
    }

    fn file(&self, program: &Path, arguments: &[OsString]) -> PathBuf {
        self.directory.join(format!("{:032x}.toml", key(program.as_os_str(), arguments)))
    }
}

/// The state directory of the XDG rules; `None` if the environment names neither it nor a home.
pub fn state_directory() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
}

/// A hash (FNV-1a, 128 bits) of program and arguments that stays the same over releases. Every part
/// is closed by a zero byte, which no part contains.
fn key(program: &OsStr, arguments: &[OsString]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let parts = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
    parts
        .flat_map(|part| part.as_bytes().iter().chain(&[0]))
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
            (hash ^ u128::from(*byte)).wrapping_mul(PRIME)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(name: &str, peak_bytes: u64, plain: bool) -> SectionHeld {
        SectionHeld { name: name.to_owned(), peak_bytes, plain }
    }

    #[test]
    fn what_sections_held_is_remembered_until_the_program_has_grown() {
        let all = [held("edges", 9, true), held("a,b=", 1, false), held("nodes", 5 << 20, false)];
        let first = Remembered::default().next(100 << 20, &all);
        let known = |edges| vec![("edges".to_owned(), edges), ("nodes".to_owned(), 5 << 20)];
        assert_eq!(first, Remembered { peak: 100 << 20, sections: known(9) });
        let paged = Some((95 << 20) - 9);
        assert_eq!(first.known(), Known { paged, held: known(9) });
        assert_eq!(Remembered::default().known(), Known::default());
        assert_eq!(first.next(113 << 20, &all).sections, known(9));
        let grown = first.next(115 << 20, &all);
        assert_eq!(grown, Remembered { peak: 115 << 20, sections: known(0) });
        let place = tempfile::tempdir().unwrap();
        let footprints = Footprints::at(place.path());
        footprints.remember(Path::new("/p"), &[], &grown).unwrap();
        assert_eq!(footprints.recall(Path::new("/p"), &[]), Some(grown));
    }
}
