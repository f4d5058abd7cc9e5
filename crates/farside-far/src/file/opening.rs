//! The file: found wanting before a program starts, made by each program for itself, and never seen by anybody else.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use farside_os::memory::PAGE;
use farside_os::{OsError, descriptor, random, storage, uring};
use farside_wire::pool::DATA_BYTES;
use thiserror::Error;

use crate::FileUrl;

const SUBJECT: &str = "the file for pages";

/// As many bytes as there can be slots for.
const MOST_BYTES: u64 = DATA_BYTES - PAGE as u64;

/// Why there can be no file.
#[derive(Debug, Error)]
pub enum Unusable {
    /// Something of the user's would be overwritten.
    #[error("{0} exists and is no directory: name a directory, or a file that does not exist")]
    Exists(PathBuf),
    /// The directory is not there, or not to be written to.
    #[error("no file can be made in {directory}: {error}")]
    Directory {
        /// Where.
        directory: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file system is smaller than what it is to keep.
    #[error(
        "{directory} has {free} bytes free, and far memory is to have {size}; name less with ?size=, or another directory"
    )]
    Small {
        /// Where.
        directory: PathBuf,
        /// Bytes that can be written there.
        free: u64,
        /// Bytes asked for.
        size: u64,
    },
}

fn os(call: &'static str) -> impl Fn(io::Error) -> OsError {
    move |error| OsError {
        call,
        subject: SUBJECT,
        errno: error.raw_os_error().unwrap_or(libc::EIO),
    }
}

/// The directory that the file is to be in.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        _ if path.is_dir() => path,
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Makes a file in a directory that has no name there any more when this returns.
fn make(directory: &Path, flags: i32) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let unnamed = options.clone().custom_flags(flags | libc::O_TMPFILE).open(directory);
    match unnamed {
        // Not every file system has files without names.
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
            return Err(error);
        }
        Err(_) => {}
        Ok(file) => return Ok(file),
    }
    let mut name = [0; 8];
    random::fill(&mut name)?;
    let name = format!(".farside-{:016x}", u64::from_le_bytes(name));
    let path = directory.join(OsStr::from_bytes(name.as_bytes()));
    let file = options.create_new(true).custom_flags(flags).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Whether a page can be written and read as the file is open now.
fn works(file: &fs::File) -> farside_os::Result<()> {
    let mut page = uring::Buffer::new(PAGE)?;
    storage::write_at(file.as_fd(), 0, page.bytes(), SUBJECT)?;
    storage::read_at(file.as_fd(), 0, page.bytes_mut(), SUBJECT)
}

/// Makes the file, past the cache of the kernel where that is possible; `size` is where it ends.
pub fn open(url: &FileUrl, size: u64) -> Result<OwnedFd, OsError> {
    let directory = directory(&url.path);
    let direct = make(directory, libc::O_DIRECT).map_err(os("openat"));
    let file = match direct.and_then(|file| sized(file, size)) {
        Err(error) if error.errno == libc::EINVAL => {
            sized(make(directory, 0).map_err(os("openat"))?, size)?
        }
        other => other?,
    };
    Ok(descriptor::out_of_the_way(file.into()))
}

fn sized(file: fs::File, size: u64) -> Result<fs::File, OsError> {
    file.set_len(size).map_err(os("ftruncate"))?;
    works(&file)?;
    Ok(file)
}

/// Sees to it that a file can be made and has room; returns the URL with its path from the root and its size.
///
/// # Errors
/// If something of this is not so.
pub fn check(url: &FileUrl) -> Result<FileUrl, Unusable> {
    let path = std::path::absolute(&url.path).unwrap_or_else(|_| url.path.clone());
    let directory = directory(&path).to_owned();
    if !path.is_dir() && path.symlink_metadata().is_ok() {
        return Err(Unusable::Exists(path));
    }
    let failed = |error| Unusable::Directory { directory: directory.clone(), error };
    let file = make(&directory, 0).map_err(failed)?;
    let free = storage::free_bytes(file.as_fd(), SUBJECT).map_err(|error| failed(error.into()))?;
    let size = url.size.unwrap_or(free / 2).clamp(PAGE as u64, MOST_BYTES) & !(PAGE as u64 - 1);
    if size > free {
        return Err(Unusable::Small { directory, free, size });
    }
    file.set_len(size).map_err(failed)?;
    Ok(FileUrl { path, size: Some(size), ..url.clone() })
}

/// The size of a file for this URL if there was none to be told from [`check`].
pub fn default_size(url: &FileUrl) -> Result<u64, OsError> {
    let directory = fs::File::open(directory(&url.path)).map_err(os("openat"))?;
    Ok((storage::free_bytes(directory.as_fd(), SUBJECT)? / 2).min(MOST_BYTES))
}
