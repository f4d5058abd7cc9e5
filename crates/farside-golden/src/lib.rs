//! Where tests find the golden traces, and the tables of what is expected of them.
//!
//! The golden data come beside the project and not with it: traces, and exact counts that were found
//! by independent means. A test that cannot find them says that it is skipped.

use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable that names the folder, if it is not `shared/golden` in a folder above the
/// project.
pub const VARIABLE: &str = "FARSIDE_GOLDEN";

/// The folder of golden data, or `None` after saying that `test` is skipped.
pub fn folder(test: &str) -> Option<PathBuf> {
    let found = match std::env::var_os(VARIABLE) {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|folder| folder.join("shared/golden"))
            .find(|folder| folder.is_dir()),
    };
    if found.is_none() {
        println!("skipped: {test}: golden traces not found");
    }
    found
}

/// The rows of a table in a file, as [`rows`] has them.
///
/// # Panics
/// If the file cannot be read: the test that asks fails.
pub fn table(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    rows(&text)
}

/// The rows of a table of tab-separated values; lines that begin with `#` are comments.
pub fn rows(table: &str) -> Vec<Vec<String>> {
    table
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}
