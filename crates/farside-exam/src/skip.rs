//! Tests that this machine cannot carry out.

use std::io::Write;
use std::process::{Command, Stdio};

/// The Python of the distribution, whose packages set-up installs.
pub const PYTHON: &str = "/usr/bin/python3";

/// Says that a test did nothing, and why; past libtest's capture, so that the totals can count it.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "\nskipped: {test}: {why}");
}

/// Whether a program is on the path; if not, the test is reported as skipped.
pub fn has_program(test: &str, program: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = program.starts_with('/') && std::path::Path::new(program).exists()
        || std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        skipped(test, &format!("{program} is missing; apt-get install {package}"));
    }
    found
}

/// Whether [`PYTHON`] has numpy; if not, the test is reported as skipped.
pub fn has_numpy(test: &str) -> bool {
    let found = Command::new(PYTHON)
        .args(["-c", "import numpy"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        skipped(test, "numpy is missing; apt-get install python3-numpy");
    }
    found
}
