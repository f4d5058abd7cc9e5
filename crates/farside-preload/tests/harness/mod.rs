//! Compiles test programs and runs them under the library.
#![allow(dead_code)]

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Where the supervisor is; the stand-in takes any value.
pub const CONTROL: &str = "stand-in";

/// No program here needs as long, in seconds.
const TIMEOUT: &str = "300";

/// How a program is run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// By itself.
    Plain,
    /// Under the library, without far memory.
    Local,
    /// On far memory.
    Far,
}

/// What a run left.
#[derive(PartialEq, Eq)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.chars().take(2000).collect::<String>()
        };
        write!(f, "code {:?}\n{}\n{}", self.code, text(&self.stdout), text(&self.stderr))
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Copy, Clone)]
pub enum Compiler {
    C,
    Cxx,
}

impl Compiler {
    pub fn for_source(source: &str) -> Self {
        if source.ends_with(".cc") { Self::Cxx } else { Self::C }
    }
}

/// The library under test, in the profile of the test.
///
/// Cargo does not build a shared object for the tests beside it, as they cannot link with it.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME")]);
        build.arg("--target-dir").arg(profile.parent().unwrap());
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(status.success(), "cannot build the library");
        profile.join("libfarside.so")
    })
}

/// The directory of the test programs' sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").canonicalize().unwrap()
}

/// Compiles `source`; the result has a name of its own for each source and set of flags.
pub fn compile(compiler: Compiler, source: &str, flags: &[&str]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&dir).unwrap();
    let name = source.split('.').next().unwrap().to_owned() + &flags.concat().replace('/', "_");
    let output = dir.join(name);
    let (program, standard) = match compiler {
        Compiler::C => ("cc", "-std=gnu11"),
        Compiler::Cxx => ("c++", "-std=c++17"),
    };
    let status = Command::new(program)
        .args([standard, "-O1", "-g", "-Wall", "-Wextra", "-pthread", "-fno-builtin", "-o"])
        .arg(&output)
        .arg(sources().join(source))
        .args(flags)
        .arg("-ldl")
        .status()
        .expect("a C compiler is installed");
    assert!(status.success(), "cannot compile {source}");
    output
}

/// Runs a program to its end.
pub fn run(way: Run, program: &str, args: &[&str]) -> Outcome {
    let mut command = Command::new("timeout");
    command.arg("--signal=KILL").arg(TIMEOUT);
    // `env` sets the library for the program alone.
    command.arg("env");
    if way != Run::Plain {
        command.arg(format!("LD_PRELOAD={}", library().display()));
    }
    if way == Run::Far {
        command.arg(format!("FARSIDE_CONTROL={CONTROL}"));
    }
    let output = command.arg(program).args(args).stdin(Stdio::null()).output().unwrap();
    Outcome { code: output.status.code(), stdout: output.stdout, stderr: output.stderr }
}
