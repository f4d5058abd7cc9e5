//! Valgrind's lackey, which writes down every data access of a program: the partner of captures and
//! recordings.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Whether Valgrind is there, and what to install if not.
pub(crate) fn installed() -> Result<(), String> {
    super::programs::installed("valgrind", "valgrind")
}

/// Seconds that a program takes under lackey, and its data accesses.
///
/// # Errors
/// If Valgrind cannot be started, or the program fails under it.
pub(crate) fn run(argv: &[OsString]) -> std::io::Result<(f64, u64)> {
    let begin = Instant::now();
    let mut child = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--log-fd=2"])
        .args(argv)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut accesses = 0;
    if let Some(stderr) = child.stderr.take() {
        let mut lines = BufReader::with_capacity(1 << 18, stderr);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            accesses += match line.get(..2) {
                Some(b" L" | b" S") => 1,
                // A load and a store.
                Some(b" M") => 2,
                _ => 0,
            };
            line.clear();
        }
    }
    let status = child.wait()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("{argv:?} ended with {status}")));
    }
    Ok((begin.elapsed().as_secs_f64(), accesses))
}
