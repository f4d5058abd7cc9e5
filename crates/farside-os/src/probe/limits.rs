//! Limits set by the administrator or the shell.

use std::fs;

/// Limits that bear on far memory. `None` stands for unlimited, or for what cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `vm.overcommit_memory`: 0 guess, 1 always, 2 never.
    pub overcommit_memory: Option<u64>,
    /// `vm.max_map_count`: most mappings of one process.
    pub max_map_count: Option<u64>,
    /// `vm.unprivileged_userfaultfd`.
    pub unprivileged_userfaultfd: Option<u64>,
    /// `RLIMIT_AS` in bytes.
    pub address_space: Option<u64>,
    /// `RLIMIT_MEMLOCK` in bytes.
    pub locked_memory: Option<u64>,
    /// `RLIMIT_NOFILE`, soft.
    pub open_files: Option<u64>,
}

/// Reads all limits.
pub fn limits() -> Limits {
    Limits {
        overcommit_memory: number("/proc/sys/vm/overcommit_memory"),
        max_map_count: number("/proc/sys/vm/max_map_count"),
        unprivileged_userfaultfd: number("/proc/sys/vm/unprivileged_userfaultfd"),
        address_space: resource(libc::RLIMIT_AS),
        locked_memory: resource(libc::RLIMIT_MEMLOCK),
        open_files: resource(libc::RLIMIT_NOFILE),
    }
}

pub(super) fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn resource(which: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` has room for the answer.
    let failed = unsafe { libc::getrlimit(which, &mut limit) } != 0;
    (!failed && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
