//! The files that tapes are written to.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::traces::files::refuse_same;

/// Stands for the size in the name of a file.
const PLACE: u8 = b'%';

/// The tape of each of the `sizes`, by name, as `output` says; without it, beside the trace. A directory that
/// is not there is made.
///
/// # Errors
/// If two tapes, or a tape and the trace, would be the same file, or if there can be no directory: exit code 2.
pub fn tape_paths(
    trace: &Path,
    output: Option<&Path>,
    sizes: &[&str],
) -> Result<Vec<PathBuf>, Failure> {
    let several = sizes.len() > 1;
    let default = |folder: &Path| -> Vec<PathBuf> {
        let stem = trace.file_stem().unwrap_or(OsStr::new("plan"));
        let name = |size: &&str| {
            let mut name = stem.to_owned();
            if several {
                name.push(format!("-{size}"));
            }
            name.push(".tape");
            folder.join(name)
        };
        sizes.iter().map(name).collect()
    };
    let paths = match output {
        None => default(trace.parent().unwrap_or(Path::new(""))),
        Some(output) => match pattern(output) {
            Some(name) => {
                sizes.iter().map(|size| output.with_file_name(fill(&name, size))).collect()
            }
            None if several || is_folder(output) => {
                make_folder(output)?;
                default(output)
            }
            None => vec![output.to_owned()],
        },
    };
    check(trace, &paths)?;
    Ok(paths)
}

/// The name of the file, if it has a place for the size.
fn pattern(output: &Path) -> Option<OsString> {
    if output.is_dir() {
        return None;
    }
    output.file_name().filter(|name| name.as_bytes().contains(&PLACE)).map(OsStr::to_owned)
}

fn fill(name: &OsStr, size: &str) -> OsString {
    let parts: Vec<_> = name.as_bytes().split(|byte| *byte == PLACE).collect();
    OsString::from_vec(parts.join(size.as_bytes()))
}

fn is_folder(output: &Path) -> bool {
    output.is_dir() || output.as_os_str().as_bytes().ends_with(b"/")
}

fn make_folder(output: &Path) -> Result<(), Failure> {
    let name = output.display();
    if output.exists() && !output.is_dir() {
        return Err(Failure::usage(format!(
            "-o {name}: that is a file, and there are several sizes; name a directory, or a file with % for \
             the size"
        )));
    }
    std::fs::create_dir_all(output)
        .map_err(|error| Failure::usage(format!("-o {name}: cannot make the directory: {error}")))
}

fn check(trace: &Path, paths: &[PathBuf]) -> Result<(), Failure> {
    for (number, path) in paths.iter().enumerate() {
        refuse_same(trace, path)?;
        if paths[..number].contains(path) {
            let name = path.display();
            return Err(Failure::usage(format!(
                "--local: two sizes have the same name, and would both be written to {name}"
            )));
        }
    }
    Ok(())
}
