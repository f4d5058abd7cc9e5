//! Runs one program in one of the three places that are compared: plain, on far memory, on swap.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::stats::Stats;
use super::swap::Swap;
use super::{Failure, Shared, kernel};

/// Where a program runs.
#[derive(Copy, Clone)]
pub(crate) enum Place<'a> {
    /// By itself.
    Plain,
    /// Under `farside run` with these options.
    Far(&'a [String]),
    /// Under `farside faults` with these options, which writes what it found to [`SITES`].
    Watched(&'a [String]),
    /// In a memory cgroup, swapping.
    Swap(&'a Swap),
}

/// The file that watched runs write to.
pub(crate) const SITES: &str = "sites.json";

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Standard output.
    pub stdout: Output,
    /// Standard error, if it was to be kept.
    pub stderr: String,
    /// From start to end.
    pub wall: Duration,
    /// Highest resident size of any one process, in bytes.
    pub peak_resident: u64,
    /// Counters of a run on far memory.
    pub stats: Option<Stats>,
}

/// What a program wrote: the beginning, and enough of the rest to compare two runs. All of it would
/// count as memory of the programs started later, which inherit this process's peak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// The first [`HEAD`] bytes.
    pub head: Vec<u8>,
    bytes: u64,
    digest: u64,
}

const HEAD: usize = 1 << 16;

impl Output {
    fn read(mut from: impl Read) -> std::io::Result<Self> {
        let mut output = Self::default();
        let mut hasher = DefaultHasher::new();
        let mut buffer = vec![0; HEAD];
        loop {
            let got = from.read(&mut buffer)?;
            if got == 0 {
                output.digest = hasher.finish();
                return Ok(output);
            }
            let room = HEAD - output.head.len();
            output.head.extend_from_slice(&buffer[..got.min(room)]);
            output.bytes += got as u64;
            hasher.write(&buffer[..got]);
        }
    }
}

/// A directory for the files of one benchmark, removed with everything in it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes an empty directory.
    pub fn new() -> Result<Self, Failure> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("farside-bench-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)
            .map_err(|e| Failure::io(format!("cannot make {}", path.display()), &e))?;
        Ok(Self(path))
    }

    /// A path inside.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The `farside` command that is measured.
pub(crate) fn farside(shared: &Shared) -> Result<PathBuf, Failure> {
    match &shared.farside {
        Some(path) => Ok(path.clone()),
        None => own(),
    }
}

/// This very program, which is also the workload of several benchmarks.
pub(crate) fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|e| Failure::io("cannot find the path of farside itself", &e))
}

/// A program with its arguments.
#[derive(Clone)]
pub(crate) struct Program {
    argv: Vec<OsString>,
    keeps_stderr: bool,
    env: Vec<(&'static str, OsString)>,
}

impl Program {
    /// `argv[0]` is looked up on the path.
    pub fn new<S: Into<OsString>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            keeps_stderr: false,
            env: Vec::new(),
        }
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Keeps what it writes to standard error, which else is this program's own.
    pub fn keep_stderr(self) -> Self {
        Self { keeps_stderr: true, ..self }
    }

    /// The command that starts it in `place`; for far memory with the file its counters will be in.
    pub fn command(
        &self,
        place: Place<'_>,
        shared: &Shared,
        scratch: &Scratch,
    ) -> Result<(Command, Option<PathBuf>), Failure> {
        let mut stats = None;
        let mut command;
        match place {
            Place::Far(options) => {
                let file = scratch.join("stats.json");
                let _ = std::fs::remove_file(&file);
                command = Command::new(farside(shared)?);
                command.arg("run").args(options).args(["--quiet", "--stats"]).arg(&file);
                command.arg("--").args(&self.argv);
                stats = Some(file);
            }
            Place::Watched(options) => {
                command = Command::new(farside(shared)?);
                command.arg("faults").args(options).args(["--quiet", "--json", "--output"]);
                command.arg(scratch.join(SITES)).arg("--").args(&self.argv);
            }
            Place::Plain | Place::Swap(_) => {
                let Some((first, rest)) = self.argv.split_first() else {
                    return Err(Failure::new("no program to run"));
                };
                command = Command::new(first);
                command.args(rest);
            }
        }
        if let Place::Swap(swap) = place {
            swap.confine(&mut command);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        Ok((command, stats))
    }

    /// Runs it to its end and insists on success.
    pub fn run(
        &self,
        place: Place<'_>,
        shared: &Shared,
        scratch: &Scratch,
    ) -> Result<Outcome, Failure> {
        let (mut command, stats) = self.command(place, shared, scratch)?;
        let name = || format!("{:?}", self.argv);
        let errors = self.keeps_stderr.then(|| scratch.join("stderr"));
        if let Some(file) = &errors {
            let file = std::fs::File::create(file);
            command.stderr(file.map_err(|e| Failure::io("a file for standard error", &e))?);
        }
        let begin = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| Failure::io(format!("cannot start {}", name()), &e))?;
        let stdout = child.stdout.take().map(Output::read).transpose();
        let stdout = stdout.map_err(|e| Failure::io(format!("reading from {}", name()), &e))?;
        let stdout = stdout.unwrap_or_default();
        let usage = kernel::wait_for(child.id() as libc::pid_t)
            .map_err(|e| Failure::io(format!("waiting for {}", name()), &e))?;
        let wall = begin.elapsed();
        let stderr = errors.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        if usage.code != 0 {
            let why = stderr.trim_end();
            return Err(Failure::new(format!("{} ended with code {} {why}", name(), usage.code)));
        }
        let stats = stats.map(|file| Stats::of_managed_run(&file)).transpose()?;
        Ok(Outcome { stdout, stderr, wall, peak_resident: usage.peak_resident, stats })
    }
}
