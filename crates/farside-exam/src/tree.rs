//! The files a program left in its directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All regular files below `directory` by relative path, with their contents.
pub fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect(directory, Path::new(""), &mut found);
    found
}

fn collect(base: &Path, relative: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let directory = base.join(relative);
    let entries =
        std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    for entry in entries {
        let entry = entry.unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
        let relative = relative.join(entry.file_name());
        let kind = entry.file_type().unwrap_or_else(|e| panic!("{}: {e}", relative.display()));
        if kind.is_dir() {
            collect(base, &relative, found);
        } else if kind.is_file() {
            let path = base.join(&relative);
            let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            found.insert(relative, bytes);
        }
    }
}
