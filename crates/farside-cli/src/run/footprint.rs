//! Peak footprints of earlier runs, remembered by program and arguments.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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

    /// The peak footprint that the last successful run of the same command left, in bytes.
    pub fn recall(&self, program: &Path, arguments: &[OsString]) -> Option<u64> {
        let text = std::fs::read_to_string(self.file(program, arguments)).ok()?;
        let entry: Entry = toml::from_str(&text).ok()?;
        Some(entry.peak_footprint_bytes).filter(|bytes| *bytes > 0)
    }

    /// Remembers the peak footprint of a run.
    pub fn remember(&self, program: &Path, arguments: &[OsString], bytes: u64) -> io::Result<()> {
        let entry = Entry {
            program: program.to_string_lossy().into_owned(),
            arguments: arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
            peak_footprint_bytes: bytes,
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
