//! Touches free memory before a run, where a virtual machine would charge the run for it.
//!
//! A virtual machine may have handed free memory back to its host. What a run then takes of it costs several times as much
//! as what the run before it left, so that builds that do the same would differ by what they happen to get. How much that is
//! says nothing about sections.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::stop;
use super::trial::LOOK;

/// As a share of what the program uses: it, and what Farside keeps of it.
const TOUCHED: f64 = 1.5;

/// The share of free memory that may be touched: none that others use is to be taken from them.
const FREE: f64 = 0.75;

/// Touches so much memory that a run which uses `footprint` bytes is given some of it, in a process of its own. What comes
/// of it changes how long a run takes and nothing else, so that it is as well if it fails.
pub fn before_run(footprint: u64, farside: &Path) {
    if !is_virtual(&read("/proc/cpuinfo")) {
        return;
    }
    let mib = worth_touching(footprint, free_bytes(&read("/proc/meminfo"))) >> 20;
    if mib > 0 {
        let mut command = Command::new(farside);
        command.args(["bench", "warmup", "--mib"]).arg(mib.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Ok(child) = command.spawn() {
            wait(child);
        }
    }
}

/// Waits until it has ended, which it does at once if the user wants no more.
fn wait(mut child: Child) {
    while matches!(child.try_wait(), Ok(None)) {
        if stop::is_asked_for() {
            let _ = child.kill();
        }
        std::thread::sleep(LOOK);
    }
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn worth_touching(footprint: u64, free: u64) -> u64 {
    (footprint as f64 * TOUCHED).min(free as f64 * FREE) as u64
}

/// Whether this is the description of the processors of a virtual machine.
fn is_virtual(processors: &str) -> bool {
    let flags = processors.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// Bytes that nobody uses, by the kernel's account of memory.
fn free_bytes(account: &str) -> u64 {
    let line = account.lines().find_map(|line| line.strip_prefix("MemFree:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_touched_than_is_free() {
        assert_eq!(worth_touching(1000, 10_000), 1500);
        assert_eq!(worth_touching(10_000, 10_000), 7500);
        assert_eq!(free_bytes("MemTotal:  8 kB\nMemFree:   4 kB\n"), 4096);
        assert_eq!(free_bytes("MemFree: much\n"), 0);
    }

    #[test]
    fn virtual_machines_are_told_by_a_flag_of_their_processors() {
        assert!(is_virtual("processor : 0\nflags : fpu hypervisor lahf_lm\n"));
        assert!(!is_virtual("processor : 0\nflags : fpu hypervisors\nmodel name : hypervisor\n"));
    }
}
