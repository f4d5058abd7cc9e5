//! How the programs are built.

use std::path::PathBuf;
use std::process::Command;

use crate::bench::cache::{Cache, Source, compile};
use crate::bench::programs::installed;

/// What all of them include.
const HEADER: Source = ("part.h", include_str!("sources/part.h"));

const SOURCES: [Source; 5] = [
    ("list.c", include_str!("sources/list.c")),
    ("anneal.c", include_str!("sources/anneal.c")),
    ("bfs.c", include_str!("sources/bfs.c")),
    ("array.c", include_str!("sources/array.c")),
    ("table.c", include_str!("sources/table.c")),
];

const OPTIONS: [&str; 4] = ["-std=gnu11", "-O2", "-g", "-Wall"];

/// Whether programs can be built here, and what to install if not.
pub(super) fn possible() -> Result<(), String> {
    installed("gcc", "gcc")
}

/// Builds the program of that source file.
pub(super) fn program(cache: &Cache, file: &str) -> Result<PathBuf, String> {
    let source = SOURCES.into_iter().find(|(name, _)| *name == file);
    let source = source.ok_or_else(|| format!("no program {file}"))?;
    let name = file.split('.').next().unwrap_or(file);
    cache.binary(name, &[HEADER, source], &OPTIONS, |directory, output| {
        let output =
            std::path::absolute(output).map_err(|e| format!("{}: {e}", output.display()))?;
        let mut command = Command::new("gcc");
        command.current_dir(directory).args(OPTIONS).arg(file).arg("-o").arg(output).arg("-lm");
        compile(&mut command)
    })
}
