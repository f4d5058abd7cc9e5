//! Compiles test programs and runs them under the library.
#![allow(dead_code)]

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// No program here needs as long, in seconds.
const TIMEOUT: &str = "300";

/// How a program is run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// By itself.
    Plain,
    /// Under the library, without far memory.
    Local,
    /// On far memory, all of which may be local.
    Far,
    /// On far memory with room for little of it.
    Tight,
    /// The same, with pages copied in and out as on kernels that cannot move them.
    Copied,
}

/// Local limits of the two far runs.
const ROOMY: &str = "4G";
const TIGHT: &str = "8M";

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
pub fn library() -> PathBuf {
    built().join("libfarside.so")
}

/// Where the library and the command are built.
///
/// Cargo builds neither for the tests beside the library: they cannot link with a shared object.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        // The directory of the profile `dev` is called otherwise.
        let name = profile.file_name().unwrap().to_str().unwrap().replace("debug", "dev");
        let mut build = Command::new(env!("CARGO"));
        // As a whole, with the features that every other build of the workspace has.
        build.args(["build", "--quiet", "--workspace", "--profile", &name]);
        build.arg("--target-dir").arg(profile.parent().unwrap());
        // What cargo tells this test of its own package: crates whose builds look at such names would be built anew, and
        // with them nearly everything.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_")
                || text.starts_with("CARGO_MANIFEST_")
                || text == "OUT_DIR"
            {
                build.env_remove(&name);
            }
        }
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(status.success(), "cannot build the library");
        profile.to_owned()
    })
}

/// `farside run` with the library under test and a state of its own.
pub fn farside(limit: &str) -> Command {
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("state");
    let mut command = Command::new("timeout");
    command.arg("--signal=KILL").arg(TIMEOUT).arg(built().join("farside"));
    command.args(["run", "--quiet", "--local", limit, "--"]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FARSIDE_") {
            command.env_remove(name);
        }
    }
    command.env("FARSIDE_PRELOAD", library()).env("XDG_STATE_HOME", state);
    command.stdin(Stdio::null());
    command
}

/// Whether this machine lets programs run on far memory; says why not.
pub fn far_memory_works(test: &str) -> bool {
    static WORKS: OnceLock<Option<String>> = OnceLock::new();
    let reason = WORKS.get_or_init(|| {
        let output = farside(ROOMY).arg("true").output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        (!output.status.success()).then_some(message)
    });
    if let Some(reason) = reason {
        println!("skipped: {test}: no far memory here: {}", reason.trim_end());
    }
    reason.is_none()
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
    let mut command = match way {
        Run::Plain | Run::Local => {
            let mut command = Command::new("timeout");
            // `env` sets the library for the program alone.
            command.arg("--signal=KILL").arg(TIMEOUT).arg("env");
            if way == Run::Local {
                command.arg(format!("LD_PRELOAD={}", library().display()));
            }
            command
        }
        Run::Far => farside(ROOMY),
        Run::Tight => farside(TIGHT),
        Run::Copied => {
            let mut command = farside(TIGHT);
            command.env("FARSIDE_FRAMES", "copy");
            command
        }
    };
    let output = command.arg(program).args(args).stdin(Stdio::null()).output().unwrap();
    Outcome { code: output.status.code(), stdout: output.stdout, stderr: output.stderr }
}
