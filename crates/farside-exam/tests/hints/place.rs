//! Programs that give hints, on far memory and without.

use std::path::{Path, PathBuf};
use std::process::Command;

use farside_exam::{compile_with, farside, has_program, source};
use serde_json::Value;
use tempfile::TempDir;

use super::LOCAL;

/// A compiled program, and a place for what its runs write.
pub struct Place {
    directory: TempDir,
    program: PathBuf,
}

impl Place {
    /// Compiles one of the exam's programs.
    pub fn new(test: &str, name: &str, compiler: &'static str, flags: &[&str]) -> Option<Self> {
        Self::of(test, &source(name), compiler, flags)
    }

    /// Compiles any program.
    pub fn of(test: &str, source: &Path, compiler: &'static str, flags: &[&str]) -> Option<Self> {
        if !has_program(test, compiler, "gcc g++") {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let program = directory.path().join("program");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let mut command = Command::new(compiler);
        command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(include);
        compile_with(command.arg(source).arg("-o").arg(&program).args(flags));
        Some(Self { directory, program })
    }

    /// A program that is built already.
    #[allow(dead_code, reason = "tests of sections share this")]
    pub fn built(program: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self { directory, program: program.into() }
    }

    /// The program itself.
    #[allow(dead_code, reason = "tests of sections share this")]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What it prints without Farside.
    pub fn plain(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new(&self.program).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output.stdout
    }

    /// The exit code without Farside.
    #[allow(dead_code, reason = "tests of sections share this")]
    pub fn refused(&self, arguments: &[&str]) -> Option<i32> {
        let output = Command::new(&self.program).args(arguments).output().expect("it starts");
        output.status.code()
    }

    /// Runs the program on far memory, insists that it prints what it prints without, and returns what was counted.
    pub fn run(&self, far: &str, arguments: &[&str]) -> Value {
        self.run_with(far, "second-chance", arguments)
    }

    /// The same with a replacement policy.
    pub fn run_with(&self, far: &str, replacement: &str, arguments: &[&str]) -> Value {
        let stats = self.directory.path().join("stats.json");
        let mut command = Command::new(farside());
        command.args(["run", "--local", LOCAL, "--prefetch", "none", "--far", far]);
        command.args(["--replacement", replacement, "--stats"]);
        let output = command.arg(&stats).arg("--").arg(&self.program).args(arguments).output();
        let output = output.expect("farside starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} on {far}: {errors}");
        assert_eq!(output.stdout, self.plain(arguments), "{arguments:?} on {far}");
        let text = std::fs::read_to_string(&stats).expect("there are counters");
        let counted: Value = serde_json::from_str(&text).expect("valid JSON");
        assert!(counter(&counted, "resident_peak_bytes") <= 4 << 20, "{counted}");
        counted
    }
}

/// One of the counters of a run.
pub fn counter(counted: &Value, name: &str) -> u64 {
    counted["counters"][name].as_u64().unwrap_or_else(|| panic!("there is no counter {name}"))
}
