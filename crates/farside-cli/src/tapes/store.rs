//! Traces and tapes that are kept for later runs of the same program with the same arguments.
//!
//! Each has a folder of its own, named after a hash of the build id, the file name and the arguments. Whatever
//! appears in it appears whole: runs that make the same thing at once replace each other's.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farside_sim::plan::PlanPolicy;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::build_id::{build_id, hexadecimal};
use crate::run::state_directory;

/// What describes an entry.
const ABOUT: &str = "about.json";

/// The trace of an entry.
const TRACE: &str = "trace.fpt";

/// Longest description that is read.
const MOST_ABOUT_BYTES: u64 = 4 << 20;

/// Bytes of a hash that name an entry.
const KEY_BYTES: usize = 16;

/// How long what is not finished is left alone: whoever makes it may still be at it.
const DRAFT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// All that is kept.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The program, with its whole path.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Its build id, or the hash of its file, in hexadecimal digits.
    pub build_id: String,
    /// When the entry was made, in seconds since 1970.
    pub made: u64,
    /// Which part of the run it is about, if not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// A part of a run (`farside.h`).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Hash of the place in the program from which it is begun.
    pub site: u64,
    /// How many parts are begun there before.
    pub nth: u32,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}:{}", self.site, self.nth)
    }
}

/// The trace and the tapes of a program with its arguments.
#[derive(Clone, Debug)]
pub struct Entry {
    folder: PathBuf,
    about: About,
}

/// A tape that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTape {
    /// Where it is.
    pub path: PathBuf,
    /// The local limit that it is for.
    pub local_bytes: u64,
    /// How it was planned.
    pub policy: PlanPolicy,
    /// Length of the file.
    pub bytes: u64,
}

/// A trace that is being recorded; removed if it is not kept.
#[derive(Debug)]
pub struct TraceDraft {
    path: PathBuf,
    trace: PathBuf,
}

impl Store {
    /// That of the current user: `tapes/` in Farside's part of the state directory of the XDG rules; `None` if
    /// there is neither a state nor a home directory.
    pub fn of_user() -> Option<Self> {
        state_directory().map(|state| Self::at(&state))
    }

    /// That in the state directory `state`.
    pub fn at(state: &Path) -> Self {
        Self { folder: state.join("farside/tapes") }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry of the program in the file `program`, found as `farside run` finds it, with these arguments;
    /// made if there is none.
    ///
    /// # Errors
    /// If the program cannot be read, or the entry cannot be made.
    pub fn entry(&self, program: &Path, arguments: &[OsString]) -> io::Result<Entry> {
        self.entry_of(program, arguments, None)
    }

    /// As [`entry`](Self::entry), of a part of the run.
    ///
    /// # Errors
    /// As there.
    pub fn part_entry(
        &self,
        program: &Path,
        arguments: &[OsString],
        part: Part,
    ) -> io::Result<Entry> {
        self.entry_of(program, arguments, Some(part))
    }

    /// As [`part_entry`](Self::part_entry), but none is made.
    ///
    /// # Errors
    /// If the program cannot be read.
    pub fn find_part(
        &self,
        program: &Path,
        arguments: &[OsString],
        part: Part,
    ) -> io::Result<Option<Entry>> {
        let name = program.file_name().unwrap_or(program.as_os_str());
        let key = key(&build_id(program)?, name, arguments, Some(part));
        Ok(Entry::read(&self.folder.join(key)))
    }

    fn entry_of(
        &self,
        program: &Path,
        arguments: &[OsString],
        part: Option<Part>,
    ) -> io::Result<Entry> {
        let build_id = build_id(program)?;
        let name = program.file_name().unwrap_or(program.as_os_str());
        let folder = self.folder.join(key(&build_id, name, arguments, part));
        if let Some(entry) = Entry::read(&folder) {
            return Ok(entry);
        }
        let program = std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
        let about = About {
            program: program.to_string_lossy().into_owned(),
            arguments: arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
            build_id,
            made: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            part: part.map(|part| part.to_string()),
        };
        fs::create_dir_all(&folder)?;
        let draft = folder.join(unique("about", "json"));
        let text = serde_json::to_string_pretty(&about)?;
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, folder.join(ABOUT))).inspect_err(
            |_| {
                let _ = fs::remove_file(&draft);
            },
        )?;
        Ok(Entry { folder, about })
    }

    /// All entries, the one used last first. What is no entry is left out.
    ///
    /// # Errors
    /// If the folder is there and cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let folders = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            folders => folders?,
        };
        let mut entries = Vec::new();
        for folder in folders {
            entries.extend(Entry::read(&folder?.path()));
        }
        entries.sort_by_cached_key(|entry| (std::cmp::Reverse(entry.used()), entry.folder.clone()));
        Ok(entries)
    }

    /// Removes an entry and all that is in it, at once for whoever looks for it.
    ///
    /// # Errors
    /// If it cannot be removed. It is none if somebody else has removed it.
    pub fn remove(&self, entry: &Entry) -> io::Result<()> {
        let aside = self.folder.join(unique("removed", "entry"));
        match fs::rename(&entry.folder, &aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed.and_then(|()| fs::remove_dir_all(&aside)),
        }
    }

    /// Removes what was left unfinished by programs that were killed, more than a day ago.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn sweep(&self) -> io::Result<()> {
        for found in listed(&self.folder)? {
            if is_draft(&found) && is_old(&found) {
                gone(fs::remove_dir_all(&found))?;
            } else if found.is_dir() {
                for file in listed(&found)?.iter().filter(|file| is_draft(file) && is_old(file)) {
                    gone(fs::remove_file(file))?;
                }
            }
        }
        Ok(())
    }
}

impl Entry {
    /// The entry in `folder`, if there is one.
    fn read(folder: &Path) -> Option<Self> {
        if is_draft(folder) {
            return None;
        }
        let file = File::open(folder.join(ABOUT)).ok()?;
        let about = io::Read::take(file, MOST_ABOUT_BYTES);
        Some(Self { folder: folder.to_owned(), about: serde_json::from_reader(about).ok()? })
    }

    /// What it is about.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the trace is, or will be.
    pub fn trace_path(&self) -> PathBuf {
        self.folder.join(TRACE)
    }

    /// A file to record into, that becomes the trace when it is [kept](TraceDraft::keep).
    pub fn trace_draft(&self) -> TraceDraft {
        TraceDraft { path: self.folder.join(unique("trace", "fpt")), trace: self.trace_path() }
    }

    /// Where the tape for a local limit is, or will be. [`TapeWriter`](farside_trace::tape::TapeWriter) makes
    /// it appear whole.
    pub fn tape_path(&self, local_bytes: u64, policy: PlanPolicy) -> PathBuf {
        self.folder.join(format!("{local_bytes}-{}.tape", policy.name()))
    }

    /// The tapes that are there, by limit and policy.
    pub fn tapes(&self) -> Vec<KeptTape> {
        let files = listed(&self.folder).unwrap_or_default();
        let mut tapes: Vec<_> = files.into_iter().filter_map(KeptTape::at).collect();
        tapes.sort_by_key(|tape| (tape.local_bytes, tape.policy.name()));
        tapes
    }

    /// Bytes of the trace, if it is there.
    pub fn trace_bytes(&self) -> Option<u64> {
        fs::metadata(self.trace_path()).ok().map(|file| file.len())
    }

    /// Notes that it is used now.
    ///
    /// # Errors
    /// If that cannot be noted.
    pub fn mark_used(&self) -> io::Result<()> {
        File::options().append(true).open(self.folder.join(ABOUT))?.set_modified(SystemTime::now())
    }

    /// When it was used last, or something in it was made.
    pub fn used(&self) -> SystemTime {
        let files = listed(&self.folder).unwrap_or_default();
        files.iter().filter_map(|file| modified(file)).max().unwrap_or(UNIX_EPOCH)
    }
}

impl KeptTape {
    /// The tape in a file, if the name is that of one.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".tape")?;
        let (local_bytes, policy) = name.split_once('-')?;
        let (local_bytes, policy) = (local_bytes.parse().ok()?, PlanPolicy::by_name(policy)?);
        let bytes = fs::metadata(&path).ok()?.len();
        Some(Self { path, local_bytes, policy, bytes })
    }
}

impl TraceDraft {
    /// Where to record.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it the trace of its entry.
    ///
    /// # Errors
    /// If it cannot get its name.
    pub fn keep(self) -> io::Result<PathBuf> {
        fs::rename(&self.path, &self.trace)?;
        Ok(self.trace.clone())
    }
}

impl Drop for TraceDraft {
    fn drop(&mut self) {
        // It is not there if it was kept or never begun.
        let _ = fs::remove_file(&self.path);
    }
}

/// The name of an entry. Programs that are several in one file know themselves by its name.
fn key(build_id: &str, name: &OsStr, arguments: &[OsString], part: Option<Part>) -> String {
    let mut hash = Sha256::new();
    if let Some(part) = part {
        // No build id is empty, so that nothing else begins like this.
        hash.update([0]);
        hash.update(part.to_string());
        hash.update([0]);
    }
    let arguments = arguments.iter().map(|argument| argument.as_bytes());
    // No part contains a zero byte.
    for part in [build_id.as_bytes(), name.as_bytes()].into_iter().chain(arguments) {
        hash.update(part);
        hash.update([0]);
    }
    hexadecimal(&hash.finalize()[..KEY_BYTES])
}

/// A hidden name that nobody else uses.
pub(super) fn unique(stem: &str, ending: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!(".{stem}-{process}-{number}-{now:x}.{ending}")
}

fn is_draft(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."))
}

fn is_old(path: &Path) -> bool {
    modified(path).and_then(|at| at.elapsed().ok()).is_some_and(|age| age > DRAFT_AGE)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.modified().ok()
}

/// What is in a folder; nothing, if it is gone.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        files => files?.map(|file| file.map(|file| file.path())).collect(),
    }
}

/// What somebody else has removed is removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
