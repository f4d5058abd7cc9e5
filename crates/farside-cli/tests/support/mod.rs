//! Running the command under test.

#![allow(dead_code, reason = "each test program uses its own part")]

pub mod capture;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use tempfile::TempDir;

/// The command with directories of its own and without settings from outside.
pub struct Farside {
    home: TempDir,
}

impl Farside {
    pub fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// `farside` with `arguments`. What it preloads is a library that does nothing, so that the test
    /// is about the command alone.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farside"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FARSIDE_") {
                command.env_remove(name);
            }
        }
        let state = self.path("state");
        let runtime = self.path("runtime");
        std::fs::create_dir_all(&runtime).unwrap();
        command
            .args(arguments)
            .env("XDG_STATE_HOME", state)
            .env("XDG_RUNTIME_DIR", runtime)
            .env("FARSIDE_PRELOAD", harmless_library())
            .stdin(Stdio::null());
        command
    }

    /// `farside run -q -- PROGRAM...`
    pub fn run<S: AsRef<OsStr>>(&self, program: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(["run", "--quiet", "--"]);
        command.args(program);
        command
    }

    /// `farside run -q -- sh -c SCRIPT`
    pub fn shell(&self, script: &str) -> Command {
        self.run(["sh", "-c", script])
    }
}

/// A library that is in every process anyway.
fn harmless_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    path.into_iter().find(|path| path.contains("libc.so") || path.contains("libc-")).unwrap().into()
}

pub fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Asserts that the command ended with `expected` and one line on stderr that has `words` in it.
pub fn assert_refused(mut command: Command, expected: i32, words: &[&str]) {
    let output = command.output().unwrap();
    let text = stderr(&output);
    assert_eq!(code(&output), Some(expected), "{text}");
    assert_eq!(text.lines().count(), 1, "not one line: {text}");
    assert!(text.starts_with("farside: "), "{text}");
    for word in words {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
    assert_eq!(stdout(&output), "");
}

/// A started program whose stdout is read line by line. Killed when dropped.
pub struct Running {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line, without its end; empty at the end of the output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn pid(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(self.child.id() as i32)
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(self.pid(), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
