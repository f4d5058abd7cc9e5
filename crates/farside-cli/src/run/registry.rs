//! Which runs of this user are going on: one small file for each, for `farside top`.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

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
    let mut runs = Vec::new();
    for entry in fs::read_dir(directory()?)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        // A file may go while the directory is read, or be somebody's accident.
        let run = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
        if let Some(run) = run {
            runs.push((path, run));
        }
    }
    runs.sort_by_key(|(_, run): &(PathBuf, RunFile)| run.supervisor_pid);
    Ok(runs)
}

/// The directory, made if it is not there; an error if it is not this user's alone.
fn directory() -> io::Result<PathBuf> {
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
