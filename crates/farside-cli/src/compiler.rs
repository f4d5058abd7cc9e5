//! Where the compiler for far memory is.

use std::path::{Path, PathBuf};

/// The one that was named, or the one that was installed or built with `farside`, or is on the path.
///
/// # Errors
/// In a line of text: what to do if there is none.
pub(crate) fn find(named: Option<&Path>, farside: &Path) -> Result<PathBuf, String> {
    match named {
        // It is started from other directories.
        Some(named) if named.is_file() => std::path::absolute(named)
            .map_err(|error| format!("cannot tell where {} is: {error}", named.display())),
        Some(named) => {
            Err(format!("there is no compiler {} (--farside-cc, FARSIDE_CC)", named.display()))
        }
        None => beside(farside).or_else(|| on_path("farside-cc")).ok_or_else(|| {
            "no farside-cc beside farside or on the path: 'make compiler' builds it, and --farside-cc names it"
                .to_owned()
        }),
    }
}

fn beside(farside: &Path) -> Option<PathBuf> {
    let directory = farside.canonicalize().ok()?.parent()?.to_owned();
    let places = ["farside-cc", "../compiler/bin/farside-cc"];
    places.iter().map(|place| directory.join(place)).find(|path| path.is_file())
}

/// A program on the path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_was_named_is_found_from_elsewhere_too() {
        let found = find(Some(Path::new("Cargo.toml")), Path::new("farside"));
        assert_eq!(found, Ok(std::env::current_dir().unwrap().join("Cargo.toml")));
        assert!(find(Some(Path::new("no such file")), Path::new("farside")).is_err());
    }
}
