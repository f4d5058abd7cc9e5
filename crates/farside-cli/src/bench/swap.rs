//! The partner of every paging benchmark: the kernel's own swap, to zram or to a file, in a memory cgroup.
//!
//! A child process of its own, the [janitor](super::janitor), sets everything up and takes it down
//! again as soon as its standard input closes - which the kernel does for us however this process
//! ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::kernel;

/// A memory cgroup with a byte limit that swaps.
pub(crate) struct Swap {
    janitor: Child,
    cgroup: PathBuf,
}

impl Swap {
    /// Sets up a cgroup limited to `limit` bytes beside a zram swap device of `device` bytes.
    ///
    /// The error says what this machine does not allow.
    pub fn set_up(limit: u64, device: u64) -> Result<Self, String> {
        Self::start(limit, device, &[])
    }

    /// As [`set_up`](Self::set_up), with a file on a loop device instead of zram.
    pub fn set_up_on_file(limit: u64, device: u64) -> Result<Self, String> {
        Self::start(limit, device, &["--file"])
    }

    fn start(limit: u64, device: u64, more: &[&str]) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|e| format!("own path unknown: {e}"))?;
        let mut janitor = Command::new(own)
            .args(["bench", "janitor", "--limit", &limit.to_string()])
            .args(["--device", &device.to_string()])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start the process that sets up swap: {e}"))?;
        let mut answer = String::new();
        if let Some(out) = janitor.stdout.take() {
            BufReader::new(out).read_line(&mut answer).map_err(|e| e.to_string())?;
        }
        let Some(cgroup) = answer.trim_end().strip_prefix("ready ").map(PathBuf::from) else {
            let _ = janitor.wait();
            let why = answer.trim_end().trim_start_matches("unavailable ");
            return Err(format!("kernel swap cannot be set up here: {why}"));
        };
        Ok(Self { janitor, cgroup })
    }

    /// Most bytes that were in use inside at once, as the kernel has counted them; none if it does not tell.
    pub fn peak(&self) -> Option<u64> {
        let files = ["memory.max_usage_in_bytes", "memory.peak"];
        let text = files.iter().find_map(|file| fs::read_to_string(self.cgroup.join(file)).ok())?;
        text.trim().parse().ok()
    }

    /// Makes `command` start inside the cgroup.
    pub fn confine(&self, command: &mut Command) {
        let procs = kernel::c_path(&self.cgroup.join("cgroup.procs"));
        // SAFETY: the closure only opens, writes and closes a file through plain system calls, which
        // is allowed between fork and exec.
        unsafe { command.pre_exec(move || kernel::write_file(&procs, b"0")) };
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
    }
}
