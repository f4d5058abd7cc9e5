//! The preloaded library: where it is, and how it gets into the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::Failure;

/// File name of the library.
pub const NAME: &str = "libfarside.so";

/// Environment variable that names the library's file.
pub const VARIABLE: &str = "FARSIDE_PRELOAD";

/// Finds the library: where [`VARIABLE`] says, else beside the executable or in the `lib` directories
/// that belong to it.
pub fn find() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        let path = std::path::absolute(PathBuf::from(path))
            .map_err(|error| Failure::own(format!("{VARIABLE}: {error}")))?;
        if !path.is_file() {
            return Err(Failure::own(format!("{VARIABLE}={}: no such file", path.display())));
        }
        return loadable(path);
    }
    let executable = std::env::current_exe()
        .map_err(|error| Failure::own(format!("cannot find my own executable: {error}")))?;
    let directory = executable.parent().unwrap_or(&executable);
    let places = [directory.to_owned(), directory.join("../lib/farside"), directory.join("../lib")];
    match places.iter().map(|place| place.join(NAME)).find(|path| path.is_file()) {
        Some(path) => loadable(path.canonicalize().unwrap_or(path)),
        None => Err(Failure::own(format!(
            "cannot find {NAME} in {}, ../lib/farside or ../lib; install it there or set {VARIABLE}",
            directory.display()
        ))),
    }
}

fn loadable(path: PathBuf) -> Result<PathBuf, Failure> {
    if path.as_os_str().as_bytes().iter().any(|byte| b" :\n\t".contains(byte)) {
        return Err(Failure::own(format!(
            "{}: the path of a preloaded library must have no space or colon",
            path.display()
        )));
    }
    Ok(path)
}

/// The value of `LD_PRELOAD` with the library in front of what was there.
pub fn preload(library: &OsStr, existing: Option<OsString>) -> OsString {
    let mut value = library.to_owned();
    for other in existing.iter().flat_map(|list| list.as_bytes().split(|b| b" :".contains(b))) {
        if !other.is_empty() && other != library.as_bytes() {
            value.push(":");
            value.push(OsStr::from_bytes(other));
        }
    }
    value
}
