//! Compiles the programs in `programs/`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of a file in `programs/`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

/// Compiles one C or C++ program of `programs/` into `directory`; returns the executable's path.
pub fn compile(directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let compiler = if name.ends_with(".c") { "gcc" } else { "g++" };
    let out = directory.join(name.split('.').next().unwrap_or(name));
    let mut command = Command::new(compiler);
    command.args(["-O2", "-Wall", "-pthread", "-o"]).arg(&out).arg(source(name)).args(flags);
    command.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include"));
    compile_with(&mut command);
    out
}

/// Runs a compiler and insists on success.
pub fn compile_with(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
