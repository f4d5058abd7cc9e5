//! Processes at the other end of a connection.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::super::launch::own;
use super::super::{Failure, Shared, launch};

/// A process that says on its first line where it listens; it is killed when it is dropped.
pub(super) struct Process {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Process {
    /// A memory node of so many bytes.
    pub fn node(shared: &Shared, memory: u64, options: &[&str]) -> Result<Self, Failure> {
        let mut command = Command::new(launch::farside(shared)?);
        command.args(["node", "--listen", "127.0.0.1:0", "--memory", &memory.to_string()]);
        Self::start(command.args(options), "memory node at ")
    }

    /// One that is reached over UCX, by these transports. It looks again and again.
    pub fn over_ucx(shared: &Shared, memory: u64, transports: &str) -> Result<Self, Failure> {
        let mut command = Command::new(launch::farside(shared)?);
        command.args(["node", "--listen", "ucx://127.0.0.1:0", "--memory", &memory.to_string()]);
        command.args(["--spin", "100ms"]).env("UCX_TLS", transports);
        Self::start(&mut command, "memory node at ")
    }

    /// What a memory node is compared with.
    pub fn echo() -> Result<Self, Failure> {
        Self::start(Command::new(own()?).args(["bench", "echo"]), "")
    }

    /// The same over UCX.
    pub fn ucx_echo(transports: &str) -> Result<Self, Failure> {
        let mut command = Command::new(own()?);
        Self::start(command.args(["bench", "echo", "--ucx"]).env("UCX_TLS", transports), "")
    }

    fn start(command: &mut Command, prefix: &str) -> Result<Self, Failure> {
        let failure = |error: std::io::Error| Failure::io("cannot start a node", &error);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failure)?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(failure)?;
        }
        let address = line.strip_prefix(prefix).and_then(|rest| rest.split_whitespace().next());
        match address {
            Some(address) => Ok(Self { address: address.to_owned(), child }),
            None => Err(Failure::new(format!("a node does not say where it is: {line:?}"))),
        }
    }

    /// Nanoseconds of processor time that its threads have had.
    pub fn processor_ns(&self) -> Result<f64, Failure> {
        let directory = format!("/proc/{}/task", self.child.id());
        let failure = |error: std::io::Error| Failure::io(&directory, &error);
        let mut total = 0.0;
        for task in std::fs::read_dir(&directory).map_err(failure)?.flatten() {
            // A thread may end meanwhile.
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let ns = text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
            total += ns.unwrap_or(0.0);
        }
        Ok(total)
    }

    /// Bytes of memory that it has.
    pub fn resident(&self) -> Result<f64, Failure> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).map_err(|error| Failure::io(&path, &error))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib =
            line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
        kib.map(|kib| kib * 1024.0).ok_or_else(|| Failure::new(format!("{path} says no size")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
