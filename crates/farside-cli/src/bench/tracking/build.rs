//! How the programs are built.

use std::path::PathBuf;
use std::process::Command;

use crate::bench::cache::{Cache, Source, compile};
use crate::bench::programs::installed;

macro_rules! of_study {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../../studies/path/programs/", $name)))
    };
}

const SOURCES: [Source; 10] = [
    of_study!("fft.c"),
    of_study!("lu_contiguous.c"),
    of_study!("lu_noncontiguous.c"),
    of_study!("ocean.c"),
    of_study!("radix.c"),
    of_study!("cg.c"),
    of_study!("mg.c"),
    of_study!("bt.c"),
    of_study!("cube.c"),
    ("uses.c", include_str!("sources/uses.c")),
];

const OPTIONS: [&str; 4] = ["-std=gnu11", "-O2", "-g", "-ffp-contract=off"];

/// Builds the program of that source file; the error says what to install.
pub(super) fn program(cache: &Cache, file: &str) -> Result<PathBuf, String> {
    installed("gcc", "gcc")?;
    let source = SOURCES.into_iter().find(|(name, _)| *name == file);
    let source = source.ok_or_else(|| format!("no program {file}"))?;
    let name = file.split('.').next().unwrap_or(file);
    cache.binary(name, &[source], &OPTIONS, |directory, output| {
        let output =
            std::path::absolute(output).map_err(|e| format!("{}: {e}", output.display()))?;
        let mut command = Command::new("gcc");
        command.current_dir(directory).args(OPTIONS).arg(file).arg("-o").arg(output).arg("-lm");
        compile(&mut command)
    })
}
