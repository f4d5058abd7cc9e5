//! Which runs of this user are going on: one small file for each, for `farside top`.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

/// Most entries of a directory that are looked at.
const MOST_ENTRIES: usize = 4096;

/// Most bytes of an entry that are read.
const MOST_BYTES: u64 = 1 << 16;

/// What a run says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// Process id of the supervisor.
    pub supervisor_pid: u32,
    /// Name of its control socket.
    pub control: String,
    /// The program.
    pub program: String,
}

/// A registered run; taken out when dropped.
#[derive(Debug)]
pub struct Registration {
    file: PathBuf,
}

impl Registration {
    /// Lets `farside top` find a run.
    pub fn enter(run: &RunFile) -> io::Result<Self> {
        let directory = directory()?;
        let file = directory.join(format!("{}.json", run.control));
        let draft = directory.join(format!("{}.new", run.control));
        fs::write(&draft, serde_json::to_string(run)?)?;
        fs::rename(&draft, &file)?;
        Ok(Self { file })
    }

    /// Leaves the entry to another process that goes on with the run.
    pub fn leave_to_another(self) {
        std::mem::forget(self);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // What is left is recognised as stale by the next reader.
        let _ = fs::remove_file(&self.file);
    }
}

/// All registered runs, with the file of each.
pub fn registered() -> io::Result<Vec<(PathBuf, RunFile)>> {
    registered_in(&directory()?)
}

/// The runs that are registered in a directory, with the file of each.
pub fn registered_in(directory: &Path) -> io::Result<Vec<(PathBuf, RunFile)>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(directory)?.take(MOST_ENTRIES) {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        // A file may go while the directory is read, or be somebody's accident.
        if let Some(run) = read(&path) {
            runs.push((path, run));
        }
    }
    runs.sort_by_key(|(_, run): &(PathBuf, RunFile)| run.supervisor_pid);
    Ok(runs)
}

/// Reads an entry, which may be anything that its owner put there.
fn read(path: &Path) -> Option<RunFile> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = fs::File::options().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The directories in which users register their runs, and the user of each: for the administrator.
pub fn of_all_users() -> Vec<(PathBuf, u32)> {
    let entries = |directory: &str| fs::read_dir(directory).into_iter().flatten().flatten();
    let of_run = entries("/run/user").map(|entry| entry.path().join("farside"));
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"farside-"))
    };
    let of_tmp = entries("/tmp").map(|entry| entry.path()).filter(is_ours);
    let own = directory().ok().map(|path| (path, geteuid().as_raw()));
    let others = of_run.chain(of_tmp).filter_map(|path| {
        let about = fs::symlink_metadata(&path).ok()?;
        (about.is_dir() && about.mode() & 0o077 == 0).then(|| (path, about.uid()))
    });
    let mut all: Vec<(PathBuf, u32)> = own.into_iter().chain(others).collect();
    all.sort();
    all.dedup();
    all
}

/// The directory, made if it is not there; an error if it is not this user's alone.
pub fn directory() -> io::Result<PathBuf> {
    let user = geteuid().as_raw();
    let path = match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(run) if run.is_absolute() => run.join("farside"),
        _ => PathBuf::from(format!("/tmp/farside-{user}")),
    };
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(&path)?;
    if !about.is_dir() || about.uid() != user || about.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "{} must be a directory of this user alone (mode 0700)",
            path.display()
        )));
    }
    Ok(path)
}
