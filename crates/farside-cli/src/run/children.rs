//! The supervisor's two children: the program and the memory node.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};

use farside_far::FarUrl;
use farside_os::socket;
use farside_wire::transport::Files;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{Pid, setsid};

use super::signals::Inherited;
use crate::Failure;

/// The running memory node.
#[derive(Debug)]
pub struct Node {
    /// Its process.
    pub pid: Pid,
    /// The supervisor's end of the link; hanging up lets the node end with its last client.
    pub link: OwnedFd,
    /// What it has to complain about.
    pub stderr: ChildStderr,
}

/// Starts this executable again as the memory node.
///
/// The node is in a session of its own, so that the terminal's signals are the program's alone, and
/// holds no descriptor of the program's. Nodes across a network it tells who is gone, and shows them the same
/// credentials as the program.
pub fn start_node(
    far: &FarUrl,
    credentials: &Files,
    inherited: Inherited,
) -> Result<Node, Failure> {
    let fail = |error: io::Error| Failure::own(format!("cannot start the memory node: {error}"));
    let (link, theirs) = socket::pair().map_err(|error| fail(error.into()))?;
    let number = theirs.as_raw_fd();
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("farside")
        .args(["node", "--embedded", "--link", &number.to_string(), "--far", &far.to_string()])
        .args(shown(credentials))
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    // SAFETY: between `fork` and `exec` only system calls are made.
    unsafe {
        command.pre_exec(move || {
            setsid()?;
            keep_only(number)?;
            raise_open_files();
            inherited.restore()
        });
    }
    let mut child = command.spawn().map_err(fail)?;
    let pid = Pid::from_raw(child.id() as i32);
    let stderr = child.stderr.take().ok_or_else(|| Failure::own("the node has no stderr"))?;
    Ok(Node { pid, link, stderr })
}

/// The options that name these files.
fn shown(credentials: &Files) -> impl Iterator<Item = &OsStr> {
    let Files { authority, certificate, key, secret, password: _ } = credentials;
    let options = [
        ("--tls-ca", authority),
        ("--tls-cert", certificate),
        ("--tls-key", key),
        ("--psk", secret),
    ];
    let given = options.into_iter().filter_map(|(option, file)| Some((option, file.as_ref()?)));
    given.flat_map(|(option, file)| [OsStr::new(option), file.as_os_str()])
}

/// Closes, at `exec`, every descriptor from 3 on but `link`.
fn keep_only(link: RawFd) -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    // SAFETY: takes no pointers.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_RANGE_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: takes no pointers.
    if unsafe { libc::fcntl(link, libc::F_SETFD, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Allows this process as many descriptors as it may have: it holds one for each managed process.
pub fn raise_open_files() {
    // With the lower limit it works too, for fewer processes.
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// The program as it is to be started.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Its file.
    pub path: &'a Path,
    /// What it was called.
    pub name: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Changes to the environment.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Launch<'_> {
    fn command(&self, inherited: Inherited) -> Command {
        let mut command = Command::new(self.path);
        command.arg0(self.name).args(self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // SAFETY: between `fork` and `exec` only system calls are made.
        unsafe { command.pre_exec(move || inherited.restore()) };
        command
    }

    /// Starts the program as a child.
    pub fn spawn(&self, inherited: Inherited) -> Result<Pid, Failure> {
        match self.command(inherited).spawn() {
            Ok(child) => Ok(Pid::from_raw(child.id() as i32)),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Becomes the program; returns only if that fails.
    pub fn exec(&self, inherited: Inherited) -> Failure {
        self.failure(&self.command(inherited).exec())
    }

    fn failure(&self, error: &io::Error) -> Failure {
        let message = format!("cannot run {}: {error}", self.path.display());
        match error.raw_os_error() {
            Some(libc::ENOENT) => Failure::not_found(message),
            Some(libc::EAGAIN | libc::ENOMEM) => Failure::own(message),
            _ => Failure::not_executable(message),
        }
    }
}

/// A change in a child's state.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It exited with this code.
    Exited(i32),
    /// It died by this signal.
    Killed(i32),
    /// It was stopped by this signal.
    Stopped(i32),
}

/// The next change of `child`, if there is one.
pub fn change_of(child: Pid) -> io::Result<Option<Change>> {
    let mut status = 0;
    // SAFETY: `status` takes the answer. The wrapper types know no death by a real-time signal.
    match unsafe { libc::waitpid(child.as_raw(), &mut status, libc::WNOHANG | libc::WUNTRACED) } {
        0 => Ok(None),
        pid if pid > 0 => Ok(if libc::WIFEXITED(status) {
            Some(Change::Exited(libc::WEXITSTATUS(status)))
        } else if libc::WIFSIGNALED(status) {
            Some(Change::Killed(libc::WTERMSIG(status)))
        } else {
            Some(Change::Stopped(libc::WSTOPSIG(status)))
        }),
        _ => Err(io::Error::last_os_error()),
    }
}
