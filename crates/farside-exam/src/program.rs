//! A program to examine, and one run of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::network::{Machine, in_namespace};
use crate::sizes::pick;

/// A program with its arguments and environment.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) stdin: Option<PathBuf>,
    pub(crate) patience: Duration,
    machine: Option<String>,
}

impl Program {
    /// A program that is looked up on the path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            argv: vec![program.into()],
            env: vec![("LC_ALL".into(), "C".into())],
            stdin: None,
            patience: Duration::from_secs(pick(300, 7200)),
            machine: None,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.argv.push(arg.into());
        self
    }

    /// Adds several arguments.
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Reads standard input from a file; without this it is empty.
    pub fn stdin(mut self, path: impl Into<PathBuf>) -> Self {
        self.stdin = Some(path.into());
        self
    }

    /// Runs it on a machine of a network.
    pub fn on(mut self, machine: &Machine) -> Self {
        self.machine = Some(machine.namespace().to_owned());
        self
    }

    /// What starts `first` where this program runs.
    pub(crate) fn command(&self, first: &OsStr) -> Command {
        match &self.machine {
            None => Command::new(first),
            Some(namespace) => in_namespace(namespace, first),
        }
    }

    /// The name for messages.
    pub fn name(&self) -> String {
        let words: Vec<_> = self.argv.iter().map(|word| word.to_string_lossy()).collect();
        let mut name = words.join(" ");
        if name.len() > 120 {
            name = name.chars().take(117).chain("...".chars()).collect();
        }
        name
    }
}

/// A run that is over.
#[derive(Debug)]
pub struct Finished {
    /// How it ended; `None` if it had to be stopped because it took too long.
    pub status: Option<ExitStatus>,
    /// Everything written to standard output.
    pub stdout: Vec<u8>,
    /// Everything written to standard error.
    pub stderr: Vec<u8>,
}

impl Finished {
    /// Exit code, or 128 + signal; `None` if it took too long.
    pub fn code(&self) -> Option<i32> {
        let status = self.status?;
        status.code().or_else(|| Some(128 + status.signal()?))
    }

    /// Standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// A run under way, in a process group of its own. Dropping it kills the whole group.
#[derive(Debug)]
pub struct Running {
    pid: libc::pid_t,
    name: String,
    patience: Duration,
    files: PathBuf,
    over: mpsc::Receiver<std::io::Result<ExitStatus>>,
    early: Option<ExitStatus>,
    done: bool,
}

impl Running {
    /// Starts `command` in `directory`; what it writes goes to files in `files`.
    pub(crate) fn start(
        mut command: Command,
        program: &Program,
        directory: &Path,
        files: &Path,
    ) -> Self {
        let create = |name: &str| {
            let path = files.join(name);
            File::create(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        let stdin = program.stdin.as_ref().map_or_else(Stdio::null, |path| {
            File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).into()
        });
        command
            .current_dir(directory)
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(create("stdout"))
            .stderr(create("stderr"))
            .process_group(0);
        let child = command
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {:?}: {e}", command.get_program()));
        let pid = child.id() as libc::pid_t;
        Self {
            pid,
            name: program.name(),
            patience: program.patience,
            files: files.to_owned(),
            over: wait_aside(child),
            early: None,
            done: false,
        }
    }

    /// Process id of what was started: the program, or `farside` above it.
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Sends a signal to what was started.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: kill touches no memory; the process is our child and not waited for yet.
        unsafe { libc::kill(self.pid, signal) };
    }

    /// Waits for the end, or kills the group when it takes too long.
    pub fn finish(mut self) -> Finished {
        let status = self.early.or_else(|| match self.over.recv_timeout(self.patience) {
            Ok(Ok(status)) => Some(status),
            Ok(Err(error)) => panic!("waiting for {}: {error}", self.name),
            Err(_) => None,
        });
        self.done = status.is_some();
        if status.is_none() {
            self.kill_group();
        }
        let read = |name: &str| std::fs::read(self.files.join(name)).unwrap_or_default();
        Finished { status, stdout: read("stdout"), stderr: read("stderr") }
    }

    /// What it has written to standard error so far.
    pub fn errors_so_far(&self) -> String {
        let bytes = std::fs::read(self.files.join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What it has written to standard output so far.
    pub fn output_so_far(&self) -> String {
        let bytes = std::fs::read(self.files.join("stdout")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        if let Ok(Ok(status)) = self.over.try_recv() {
            self.early = Some(status);
            self.done = true;
        }
        !self.done
    }

    fn kill_group(&self) {
        // SAFETY: kill touches no memory; the group was made for this run.
        unsafe { libc::kill(-self.pid, libc::SIGKILL) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Also after the end of what was started: its children may be left.
        self.kill_group();
    }
}

fn wait_aside(mut child: Child) -> mpsc::Receiver<std::io::Result<ExitStatus>> {
    let (tell, over) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = tell.send(child.wait());
    });
    over
}
