//! Runs of programs that say where the part begins and ends that is to be measured.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Bench;
use super::counted::Counted;
use crate::bench::launch::{self, Place};
use crate::bench::stats::Stats;
use crate::bench::{Failure, kernel};

/// How long a program that is told to end may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a part of a run took, and what the prefetcher did meanwhile.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub seconds: f64,
    pub counted: Counted,
}

/// What came of a run.
#[derive(Debug)]
pub(super) struct Ran {
    /// What has to be the same in all runs.
    pub result: String,
    pub parts: Vec<Part>,
    /// Most far memory that was used, in bytes; 0 of a plain run.
    pub footprint: u64,
}

/// Something that is run with all prefetchers.
pub(super) trait Subject {
    /// Runs it once.
    fn run(&self, bench: &Bench<'_>, place: Place<'_>) -> Result<Ran, Failure>;
}

/// One of the programs that are built.
pub(super) struct Program(launch::Program);

impl Program {
    pub fn new(path: &Path, arguments: &[String]) -> Self {
        let path = path.to_string_lossy().into_owned();
        Self(launch::Program::new(std::iter::once(path).chain(arguments.iter().cloned())))
    }
}

impl Subject for Program {
    fn run(&self, bench: &Bench<'_>, place: Place<'_>) -> Result<Ran, Failure> {
        let mut started = Started::new(&self.0, bench, place, Stdio::piped(), Stdio::piped())?;
        match started.follow() {
            Ok((result, parts)) => Ok(Ran { result, parts, footprint: started.finish()? }),
            Err(why) => {
                started.give_up();
                Err(why)
            }
        }
    }
}

/// A program that was started, alone or on far memory.
pub(super) struct Started {
    child: Child,
    stats: Option<PathBuf>,
    errors: PathBuf,
}

impl Started {
    pub fn new(
        program: &launch::Program,
        bench: &Bench<'_>,
        place: Place<'_>,
        input: Stdio,
        output: Stdio,
    ) -> Result<Self, Failure> {
        let (mut command, stats) = program.command(place, bench.shared, &bench.scratch)?;
        let errors = bench.scratch.join("stderr");
        let file = std::fs::File::create(&errors);
        let file = file.map_err(|e| Failure::io("a file for standard error", &e))?;
        let child = spawn(command.stdin(input).stdout(output).stderr(file))?;
        Ok(Self { child, stats, errors })
    }

    /// The counters so far; none of a plain run.
    pub fn counted(&self) -> Result<Counted, Failure> {
        match self.stats {
            Some(_) => Counted::now(self.child.id()),
            None => Ok(Counted::default()),
        }
    }

    /// Waits for its end; returns its footprint.
    pub fn finish(mut self) -> Result<u64, Failure> {
        drop((self.child.stdin.take(), self.child.stdout.take()));
        let usage = kernel::wait_for(self.child.id() as libc::pid_t);
        let usage = usage.map_err(|e| Failure::io("waiting for a program", &e))?;
        if usage.code != 0 {
            let text = std::fs::read_to_string(&self.errors).unwrap_or_default();
            let why = text.lines().last().unwrap_or("it says nothing");
            return Err(Failure::new(format!("a run ended with code {}: {why}", usage.code)));
        }
        let stats = self.stats.map(|file| Stats::of_managed_run(&file)).transpose()?;
        let bytes = stats.and_then(|stats| stats.get("footprint_peak_bytes"));
        Ok(bytes.unwrap_or(0.0) as u64)
    }

    /// Ends it, as something went wrong: the supervisor of a run passes the signal on to the program.
    pub fn give_up(mut self) {
        drop((self.child.stdin.take(), self.child.stdout.take()));
        // If it has ended by itself, there is nobody to ask.
        let _ = kill(Pid::from_raw(self.child.id() as libc::pid_t), Signal::SIGTERM);
        let end = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Reads what the program says, and looks at the counters where its parts begin and end.
    fn follow(&mut self) -> Result<(String, Vec<Part>), Failure> {
        let reading = |e: std::io::Error| Failure::io("reading from a program", &e);
        let (Some(mut input), Some(output)) = (self.child.stdin.take(), self.child.stdout.take())
        else {
            return Err(Failure::new("a program without input and output"));
        };
        let (mut result, mut parts, mut before) = (String::new(), Vec::new(), None);
        for line in BufReader::new(output).lines() {
            let line = line.map_err(reading)?;
            if line == "begin" {
                before = Some(self.counted()?);
            } else if let Some(seconds) = line.strip_prefix("end ") {
                let (Ok(seconds), Some(before)) = (seconds.parse(), before.take()) else {
                    return Err(Failure::new(format!("a program says {line:?}")));
                };
                parts.push(Part { seconds, counted: self.counted()? - before });
            } else {
                result.push_str(&line);
                result.push('\n');
                continue;
            }
            input.write_all(b"\n").map_err(reading)?;
        }
        Ok((result, parts))
    }
}

fn spawn(command: &mut Command) -> Result<Child, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|e| Failure::io(format!("cannot start {name}"), &e))
}
