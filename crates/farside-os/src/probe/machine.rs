//! The machine around the program: kernel, idling, and what the benchmarks compare with.

use std::fs;
use std::path::Path;

use super::limits::number;

/// How a virtual machine waits before it gives its processor back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HaltPoll {
    /// Whether the `haltpoll` governor is in charge of idling.
    pub governor: bool,
    /// Longest time an idle processor polls, in nanoseconds; `None` if it cannot be set.
    pub poll_ns: Option<u64>,
}

/// How memory of a group of processes can be limited.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cgroup {
    /// The version 1 memory controller.
    V1,
    /// The version 2 memory controller.
    V2,
    /// Neither.
    Missing,
}

/// The machine around the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Release of the running kernel.
    pub kernel: String,
    /// Processor architecture.
    pub architecture: &'static str,
    /// Whether this is a virtual machine.
    pub virtual_machine: bool,
    /// Idling of a virtual machine.
    pub halt_poll: HaltPoll,
    /// Memory controller for benchmarks against kernel swap.
    pub cgroup: Cgroup,
    /// Whether zram devices can be made, or exist.
    pub zram: bool,
}

/// Looks at the machine.
pub fn machine() -> Machine {
    Machine {
        kernel: text("/proc/sys/kernel/osrelease"),
        architecture: std::env::consts::ARCH,
        virtual_machine: text("/proc/cpuinfo")
            .lines()
            .any(|line| line.starts_with("flags") && line.contains(" hypervisor")),
        halt_poll: HaltPoll {
            governor: text("/sys/devices/system/cpu/cpuidle/current_governor") == "haltpoll",
            poll_ns: number("/sys/module/haltpoll/parameters/guest_halt_poll_ns"),
        },
        cgroup: cgroup(),
        zram: Path::new("/sys/class/zram-control").exists()
            || Path::new("/sys/block/zram0").exists(),
    }
}

/// The controller's mount, as the kernel lists it for this process.
fn cgroup() -> Cgroup {
    for mount in text("/proc/self/mountinfo").lines() {
        let Some((place, kind)) = mount.split_once(" - ") else { continue };
        let root = place.split(' ').nth(4).unwrap_or_default();
        if kind.starts_with("cgroup ") && has_word(kind, ',', "memory") {
            return Cgroup::V1;
        }
        let controllers = || text(&format!("{root}/cgroup.controllers"));
        if kind.starts_with("cgroup2 ") && has_word(&controllers(), ' ', "memory") {
            return Cgroup::V2;
        }
    }
    Cgroup::Missing
}

fn has_word(text: &str, separator: char, word: &str) -> bool {
    text.split([separator, ' ', '\n']).any(|part| part == word)
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
