//! A file that appears under its name only when it is whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers the drafts of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// What is being written, beside the file that it will become. Dropped before, it is removed.
#[derive(Debug)]
pub(super) struct Draft {
    file: File,
    path: PathBuf,
    target: PathBuf,
    complete: bool,
}

impl Draft {
    /// Begins what will become `target`.
    pub fn create(target: &Path) -> io::Result<Self> {
        // Renaming would put a plain file in the place of a device.
        if fs::metadata(target).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::other("it is there and no regular file; choose another name"));
        }
        if target.file_name().is_none() {
            return Err(io::Error::other("this is no name for a file"));
        }
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".farside-{}-{number}.tape-draft", std::process::id());
            let path = target.with_file_name(name);
            match File::create_new(&path) {
                Ok(file) => {
                    return Ok(Self { file, path, target: target.to_owned(), complete: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the file its name, in place of what may have it now.
    pub fn complete(mut self) -> io::Result<()> {
        // Some file systems say only now that there was no room.
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.complete = true;
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.complete {
            let _ = fs::remove_file(&self.path);
        }
    }
}
