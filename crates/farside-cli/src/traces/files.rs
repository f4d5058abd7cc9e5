//! The files that a conversion reads and writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use farside_trace::import::decompress;
use indicatif::ProgressBar;

use super::progress;
use crate::Failure;

/// Bytes at the beginning of a file by which its format is told.
const HEAD_BYTES: u64 = 64 << 10;

/// Stands for standard input or output.
pub const STANDARD: &str = "-";

/// A file to be imported.
pub struct Input {
    /// All of it, decompressed if its name ends in `.zst`.
    pub source: Box<dyn Read + Send>,
    /// A copy of its beginning.
    pub head: Vec<u8>,
    /// How far it has been read.
    pub bar: ProgressBar,
}

impl Input {
    /// Opens the file at `path`.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| Failure::usage(format!("{}: cannot read: {error}", path.display()));
        let (source, bytes): (Box<dyn Read + Send>, _) = if path == Path::new(STANDARD) {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(path).map_err(failed)?;
            let bytes = file.metadata().ok().filter(fs::Metadata::is_file).map(|data| data.len());
            (Box::new(file), bytes)
        };
        let bar = progress::bar(bytes);
        let mut source: Box<dyn Read + Send> = Box::new(bar.wrap_read(source));
        if path.extension().is_some_and(|ending| ending == "zst") {
            source = decompress(source).map_err(failed)?;
        }
        let mut head = Vec::new();
        (&mut source).take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
        let source = Box::new(io::Cursor::new(head.clone()).chain(source));
        Ok(Self { source, head, bar })
    }
}

/// Refuses to write the file that is read.
pub fn refuse_same(input: &Path, output: &Path) -> Result<(), Failure> {
    let identity = |path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    if identity(input).is_some_and(|input| identity(output) == Some(input)) {
        let name = output.display();
        return Err(Failure::usage(format!("-o {name}: that is the input; name another file")));
    }
    Ok(())
}

/// Creates or empties a file, for writing and reading.
pub fn create(path: &Path) -> Result<File, Failure> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(|error| Failure::usage(format!("-o {}: cannot create: {error}", path.display())))
}

/// Removes an output that is worth nothing. What is not a regular file is left alone.
pub fn discard(path: &Path) {
    if fs::metadata(path).is_ok_and(|data| data.is_file()) {
        let _ = fs::remove_file(path);
    }
}

/// The name of a file, in small letters.
pub fn lower_name(path: &Path) -> String {
    PathBuf::from(path.file_name().unwrap_or_default()).to_string_lossy().to_ascii_lowercase()
}
