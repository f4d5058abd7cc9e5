//! Running the program: under a limit, within a time, and what came of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use farside_tune::Profile;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::build::Built;
use super::{stop, warmup};

/// How the program is run.
#[derive(Debug)]
pub struct Trials {
    /// What it is given.
    pub arguments: Vec<OsString>,
    /// What `farside run` is given for far memory.
    pub far: Vec<String>,
    /// What it reads.
    pub input: Option<PathBuf>,
    /// Where files of runs are put.
    pub directory: PathBuf,
    /// How long it may take; none until it is known how long it takes in paged memory.
    pub patience: Option<Duration>,
    /// How long it took in paged memory at most.
    pub paged: Duration,
    /// Bytes that it uses; 0 until that is known.
    pub footprint: u64,
    /// Whether it may print something else each time.
    pub any_output: bool,
}

/// What a run printed and how it ended: what has to be the same however the program is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    status: String,
    digest: String,
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// From start to end.
    pub seconds: f64,
    /// What it printed.
    pub printed: Printed,
    /// Its counters, or what else was written about it.
    pub report: Value,
}

/// Why a run counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It took longer than it may.
    Hangs,
    /// It printed something else, or ended otherwise.
    Differs(String),
    /// It could not be run.
    Fails(String),
    /// The user wants no more.
    Stopped,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hangs => f.write_str("it takes more than ten times as long as in paged memory"),
            Self::Differs(how) => write!(f, "it does something else: {how}"),
            Self::Fails(why) => f.write_str(why),
            Self::Stopped => f.write_str("it was stopped"),
        }
    }
}

/// How often it is looked whether a run, or what comes before it, has ended.
pub(super) const LOOK: Duration = Duration::from_millis(2);

impl Trials {
    /// Runs it with `local` bytes.
    pub fn run(&self, built: &Built, local: u64) -> Result<Ran, Broken> {
        self.under(&["run", "--quiet", "--stats"], built, local, &[])
    }

    /// Runs it under `farside faults`.
    pub fn faults(&self, built: &Built, local: u64) -> Result<Ran, Broken> {
        self.under(&["faults", "--quiet", "--json", "--output"], built, local, &[])
    }

    /// Runs a build that measures itself; what it measured, and the file with its accesses.
    pub fn profile(&self, built: &Built, local: u64) -> Result<(Ran, Profile, PathBuf), Broken> {
        let file = self.directory.join("profile.json");
        let trace = self.directory.join("profile.json.trace");
        let _ = fs::remove_file(&file);
        let _ = fs::remove_file(&trace);
        let ran = self.under(
            // What sections would do is seen of caches only.
            &["run", "--quiet", "--sections", "always", "--stats"],
            built,
            local,
            &[("FARSIDE_PROFILE", &file)],
        )?;
        let bytes = fs::read(&file)
            .map_err(|error| Broken::Fails(format!("it left no profile: {error}")))?;
        let profile = Profile::read(&bytes)
            .map_err(|why| Broken::Fails(format!("its profile cannot be read: {why}")))?;
        Ok((ran, profile, trace))
    }

    /// Insists that a run did what another one did.
    pub fn insist(&self, ran: &Ran, expected: &Printed) -> Result<(), Broken> {
        if ran.printed.status != expected.status {
            let (now, before) = (&ran.printed.status, &expected.status);
            return Err(Broken::Differs(format!("{now} instead of {before}")));
        }
        if !self.any_output && ran.printed.digest != expected.digest {
            return Err(Broken::Differs("it prints something else".to_owned()));
        }
        Ok(())
    }

    fn under(
        &self,
        verb: &[&str],
        built: &Built,
        local: u64,
        environment: &[(&str, &Path)],
    ) -> Result<Ran, Broken> {
        let failed = |what: &str, error: std::io::Error| Broken::Fails(format!("{what}: {error}"));
        let report = self.directory.join("run.json");
        let _ = fs::remove_file(&report);
        let own = std::env::current_exe().map_err(|error| failed("where is farside?", error))?;
        warmup::before_run(self.footprint, &own);
        let mut command = Command::new(own);
        command.args(verb).arg(&report).arg("--local").arg((local & !4095).to_string());
        command.args(&self.far).arg("--").arg(&built.path).args(&self.arguments);
        command.envs(environment.iter().copied());
        command.stdin(match &self.input {
            Some(file) => File::open(file).map_err(|error| failed("its input", error))?.into(),
            None => Stdio::null(),
        });
        let said = File::create(self.directory.join("run.log"));
        command.stdout(Stdio::piped()).stderr(said.map_err(|error| failed("a log", error))?);
        // All of it can be ended at once.
        command.process_group(0);
        let begin = Instant::now();
        let mut child = command.spawn().map_err(|error| failed("cannot start farside", error))?;
        let printed = child.stdout.take().map(|from| std::thread::spawn(move || digest(from)));
        let status = self.wait(&mut child, begin)?;
        let seconds = begin.elapsed().as_secs_f64();
        let digest = printed.and_then(|it| it.join().ok()).unwrap_or_default();
        if status.code().is_some_and(|code| (125..=127).contains(&code)) {
            return Err(Broken::Fails(self.complaint()));
        }
        let report = fs::read(&report).map_err(|error| failed("what farside says of it", error))?;
        let report = serde_json::from_slice(&report)
            .map_err(|error| Broken::Fails(format!("what farside says of it: {error}")))?;
        Ok(Ran { seconds, printed: Printed { status: status.to_string(), digest }, report })
    }

    fn wait(&self, child: &mut Child, begin: Instant) -> Result<ExitStatus, Broken> {
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(Broken::Fails(format!("waiting for it: {error}"))),
            }
            let hangs = self.patience.is_some_and(|patience| begin.elapsed() > patience);
            if hangs || stop::is_asked_for() {
                // The group is that of our child, which was not waited for.
                let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
                let _ = child.wait();
                return Err(if hangs { Broken::Hangs } else { Broken::Stopped });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The last line that a run said on standard error.
    fn complaint(&self) -> String {
        let text = fs::read(self.directory.join("run.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().next_back().unwrap_or("it failed without a word").to_owned()
    }
}

fn digest(mut from: impl Read) -> String {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(got) => hash.update(&buffer[..got]),
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A counter of a run.
pub fn counter(report: &Value, name: &str) -> f64 {
    report["counters"][name].as_f64().unwrap_or(0.0)
}

/// Bytes that a run used besides its sections, at most; none if some of them were plain memory, or that is not told.
pub fn paged_bytes(report: &Value) -> Option<u64> {
    let sections = report["sections"].as_array()?;
    let held = |section: &Value| match section["plain"].as_bool()? {
        true => None,
        false => section["peak_bytes"].as_u64(),
    };
    let held: u64 = sections.iter().map(held).sum::<Option<u64>>()?;
    report["counters"]["footprint_peak_bytes"].as_u64()?.checked_sub(held)
}

/// Misses a second of runs, of each its misses and seconds: those of the one that was held up least. On a machine with
/// other work all miss less often than the program will on one that has none.
pub fn misses_a_second(runs: &[(f64, f64)]) -> u64 {
    runs.iter().map(|(misses, seconds)| (misses / seconds.max(1e-3)) as u64).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_paged_is_what_is_in_no_section() {
        let report = |sections: Value| serde_json::json!({ "counters": { "footprint_peak_bytes": 100 }, "sections": sections });
        let section =
            |plain: bool, bytes: u64| serde_json::json!({ "plain": plain, "peak_bytes": bytes });
        let paged = |sections: &[Value]| paged_bytes(&report(sections.into()));
        assert_eq!(paged(&[section(false, 30), section(false, 40)]), Some(30));
        assert_eq!(paged(&[section(false, 30), section(true, 40)]), None);
        assert_eq!(paged(&[section(false, 101)]), None);
        assert_eq!(paged_bytes(&serde_json::json!({})), None);
    }

    #[test]
    fn runs_that_were_held_up_do_not_tell_how_often_sections_miss() {
        assert_eq!(misses_a_second(&[(300.0, 1.0), (300.0, 0.1), (300.0, 2.0)]), 3000);
        assert_eq!(misses_a_second(&[]), 0);
    }
}
