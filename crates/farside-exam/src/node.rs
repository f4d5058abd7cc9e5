//! Memory nodes as processes of their own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::farside;
use crate::network::Machine;

/// A memory node; it is killed when it is dropped.
#[derive(Debug)]
pub struct Node {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Node {
    /// Starts one on this machine, with so much memory.
    pub fn start(memory: &str) -> Self {
        Self::start_at("127.0.0.1:0", memory, &[])
    }

    /// Starts one at an address, with more options.
    pub fn start_at(listen: &str, memory: &str, options: &[&str]) -> Self {
        Self::spawn(Command::new(farside()), listen, memory, options)
    }

    /// Starts one on a machine of a network, with so much memory.
    pub fn start_on(machine: &Machine, memory: &str) -> Self {
        let listen = format!("{}:0", machine.address);
        Self::spawn(machine.command(farside()), &listen, memory, &["--insecure"])
    }

    fn spawn(mut command: Command, listen: &str, memory: &str, options: &[&str]) -> Self {
        command.args(["node", "--listen", listen, "--memory", memory]).args(options);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start a memory node: {e}"));
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it was asked for");
        BufReader::new(stdout).read_line(&mut line).expect("the node says where it is");
        let address = line.strip_prefix("memory node at ").and_then(|rest| rest.split(' ').next());
        let address = address.unwrap_or_else(|| panic!("the node says {line:?}")).to_owned();
        Self { child, address }
    }

    /// Its process.
    pub fn pid(&self) -> libc::pid_t {
        self.child.id() as libc::pid_t
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: kill touches no memory; the process is our child and not waited for yet.
        unsafe { libc::kill(self.pid(), signal) };
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        self.wait();
    }

    /// Waits until it has ended; returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("the node is our child").code()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}
