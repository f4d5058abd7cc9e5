//! How often a program has left the tapes that are kept of it, so that it is recorded again when they are out of
//! date, and not over and over if it does something else each time.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Entry;
use super::store::unique;

/// The file in the folder of an entry.
const DEPARTURES: &str = "departures.json";

/// Longest file that is read.
const MOST_BYTES: u64 = 4096;

/// Runs in a row that stay on their tape, until all is forgotten.
const STAYS: u32 = 8;

/// What runs did since the tape was found to be right for long.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Departures {
    /// Recordings that were begun because programs left their tapes.
    pub recordings: u32,
    /// Runs in a row that left the tape since the last of them.
    pub runs: u32,
    /// Runs in a row that stayed on it.
    pub stays: u32,
}

impl Departures {
    /// Whether the program is to be recorded again: the first time after one run that left its tape, then after two in a
    /// row, four and so on.
    pub fn is_due(self) -> bool {
        self.runs >= 1 << self.recordings.min(16)
    }

    /// After one more run that left its tape, or stayed.
    pub fn after_run(self, left: bool) -> Self {
        if left {
            return Self { runs: self.runs.saturating_add(1), stays: 0, ..self };
        }
        let stayed = Self { runs: 0, stays: self.stays.saturating_add(1), ..self };
        if self.recordings == 0 || stayed.stays >= STAYS { Self::default() } else { stayed }
    }

    /// When one more recording begins.
    pub fn after_recording(self) -> Self {
        Self { recordings: self.recordings.saturating_add(1), runs: 0, stays: 0 }
    }

    /// Those of an entry; none if what is kept cannot be read.
    pub fn of(entry: &Entry) -> Self {
        let read = |file| serde_json::from_reader(io::Read::take(file, MOST_BYTES)).ok();
        File::open(entry.folder().join(DEPARTURES)).ok().and_then(read).unwrap_or_default()
    }

    /// Keeps them with an entry.
    ///
    /// # Errors
    /// If they cannot be written, or removed if there are none.
    pub fn keep(self, entry: &Entry) -> io::Result<()> {
        let path = entry.folder().join(DEPARTURES);
        if self == Self::default() {
            return remove(&path);
        }
        let draft = entry.folder().join(unique("departures", "json"));
        let text = serde_json::to_string(&self)?;
        fs::write(&draft, text)
            .and_then(|()| fs::rename(&draft, &path))
            .inspect_err(|_| _ = fs::remove_file(&draft))
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_become_rarer_until_runs_stay() {
        let mut departures = Departures::default();
        for recordings in 0..5 {
            for _ in 0..1 << recordings {
                assert!(!departures.is_due(), "{departures:?}");
                departures = departures.after_run(true);
            }
            assert!(departures.is_due(), "{departures:?}");
            departures = departures.after_recording();
        }
        // A run here and there that stays makes nothing more frequent.
        let stayed = departures.after_run(true).after_run(false);
        assert_eq!(stayed, Departures { stays: 1, ..departures });
        let long = (0..STAYS).fold(departures, |departures, _| departures.after_run(false));
        assert_eq!(long, Departures::default());
        let once = Departures::default().after_run(true);
        assert_eq!(once.after_run(false), Departures::default());
        let most = Departures { recordings: u32::MAX, runs: u32::MAX, stays: u32::MAX };
        assert!(most.is_due() && most.after_run(true).is_due() && !most.after_recording().is_due());
    }
}
