//! The single items.

use std::io;

use farside_os::probe::{
    self, Cgroup, FEATURES, Feature, Limits, Machine, OpenFailure, Route, Userfault,
};

use super::{Item, State};

/// The page size that Farside is built for.
const PAGE: usize = 4096;

/// `vm.max_map_count` below which programs that protect parts of their memory run out of mappings.
const ENOUGH_MAPS: u64 = 65_530;

/// Address space that a far region may reserve.
const ENOUGH_ADDRESSES: u64 = 1 << 42;

/// Features that Farside makes use of where they are offered, and what it does without each.
const USED: &[(&str, &str, &str)] = &[
    ("PAGEFAULT_FLAG_WP", "clean pages are known", "every evicted page is written back"),
    ("EVENT_FORK", "forked children keep their far pages", "far pages are fetched before a fork"),
    ("MOVE", "pages are moved in batches", "pages are copied one batch at a time"),
    ("THREAD_ID", "faults are told apart by thread", "one prefetch window for all threads"),
    ("EXACT_ADDRESS", "hints see the address within the page", "hints see pages"),
];

/// Everything.
pub fn all() -> Vec<Item> {
    let (limits, machine) = (probe::limits(), probe::machine());
    let userfault = probe::userfault();
    let mut items = vec![kernel(&machine)];
    items.extend(essential_with(&userfault, &limits));
    if let Ok(userfault) = &userfault {
        items.extend(FEATURES.iter().map(|feature| feature_item(userfault, feature)));
        items.push(fork_events());
    }
    items.extend(trials());
    items.extend(limit_items(&limits));
    items.extend(surroundings(&machine));
    items
}

/// What `farside run` cannot do without.
pub fn essential() -> Vec<Item> {
    essential_with(&probe::userfault(), &probe::limits())
}

fn ok(name: &str, found: impl Into<String>, path: &str) -> Item {
    let (name, found, path) = (name.to_owned(), found.into(), path.to_owned());
    Item { name, state: State::Ok, found, path, repair: None }
}

fn not(state: State, name: &str, found: impl Into<String>, path: &str, repair: &str) -> Item {
    let repair = (!repair.is_empty()).then(|| repair.to_owned());
    Item { state, repair, ..ok(name, found, path) }
}

fn kernel(machine: &Machine) -> Item {
    ok("kernel", format!("Linux {} on {}", machine.kernel, machine.architecture), "")
}

fn essential_with(userfault: &Result<Userfault, OpenFailure>, limits: &Limits) -> Vec<Item> {
    let page = match probe::page_size() {
        PAGE => ok("page size", "4 KiB", ""),
        other => not(State::Fatal, "page size", format!("{other} bytes instead of {PAGE}"), "", ""),
    };
    let memfd = tried("memory files", probe::memfd(), "pages are shared with the node", "")
        .unwrap_or_else(|item| Item { state: State::Fatal, ..item });
    let opened = match userfault {
        Ok(userfault) => match userfault.route {
            Route::SystemCall => ok("userfaultfd", "by system call", "faults are served from it"),
            Route::Device => ok("userfaultfd", "by /dev/userfaultfd", "faults are served from it"),
        },
        Err(failure) => not_opened(failure, limits),
    };
    vec![page, memfd, opened]
}

fn not_opened(failure: &OpenFailure, limits: &Limits) -> Item {
    let device = "/dev/userfaultfd";
    let setting = limits.unprivileged_userfaultfd;
    let missing = failure.system_call.raw_os_error() == Some(libc::ENOSYS);
    let found = if missing {
        format!("this kernel has none ({}); it needs CONFIG_USERFAULTFD", failure.system_call)
    } else if failure.user_mode_only {
        format!(
            "only for faults outside the kernel ({}; {device}: {}), which breaks read() into far memory",
            failure.system_call, failure.device
        )
    } else {
        format!("{}; {device}: {}", failure.system_call, failure.device)
    };
    let repair = match (missing, setting, failure.device.kind()) {
        (true, ..) => "",
        (_, Some(0), _) => "sudo sysctl -w vm.unprivileged_userfaultfd=1",
        (_, _, io::ErrorKind::PermissionDenied) => {
            "sudo setfacl -m u:$(id -un):rw /dev/userfaultfd"
        }
        // Allowed by the kernel and refused all the same: a container's filter.
        _ => "docker run --security-opt seccomp=unconfined ... (or your container's equivalent)",
    };
    not(State::Fatal, "userfaultfd", found, "", repair)
}

fn feature_item(userfault: &Userfault, feature: &Feature) -> Item {
    let name = format!("feature {}", feature.name);
    let used = USED.iter().find(|(used, ..)| *used == feature.name);
    let offered = userfault.features & feature.bit != 0;
    match (offered, used) {
        (true, Some((_, with, _))) => ok(&name, feature.about, with),
        (true, None) => ok(&name, feature.about, "not needed"),
        (false, Some((_, _, without))) => {
            not(State::Missing, &name, "not offered by this kernel", without, "")
        }
        (false, None) => not(State::Missing, &name, "not offered by this kernel", "not needed", ""),
    }
}

fn fork_events() -> Item {
    tried("notice of forks", probe::fork_events(), "forked children keep their far pages", "")
        .unwrap_or_else(|item| Item {
            path: "far pages are fetched before a fork".to_owned(),
            repair: Some("sudo setcap cap_sys_ptrace+ep $(command -v farside)".to_owned()),
            ..item
        })
}

fn tried(name: &str, outcome: io::Result<()>, with: &str, without: &str) -> Result<Item, Item> {
    match outcome {
        Ok(()) => Ok(ok(name, "works", with)),
        Err(error) => Err(not(State::Missing, name, error.to_string(), without, "")),
    }
}

fn trials() -> Vec<Item> {
    let trials: [(&str, io::Result<()>, &str, &str); 5] = [
        (
            "moving pages",
            probe::move_pages(),
            "frames move in and out without a copy (UFFDIO_MOVE)",
            "pages are copied (UFFDIO_COPY)",
        ),
        (
            "copying and protecting pages",
            probe::copy_and_protect(),
            "writes are noticed page by page",
            "every evicted page is written back",
        ),
        (
            "dropping scattered pages",
            probe::process_madvise(),
            "one process_madvise for many pages",
            "one madvise for each run of pages",
        ),
        (
            "finding written pages",
            probe::pagemap_scan(),
            "PAGEMAP_SCAN",
            "the first write to each page is noticed by a fault",
        ),
        ("process descriptors", probe::pidfd(), "", "processes are told apart by number"),
    ];
    let items = trials.into_iter();
    items
        .map(|(name, outcome, with, without)| {
            tried(name, outcome, with, without).unwrap_or_else(|item| item)
        })
        .collect()
}

fn limit_items(limits: &Limits) -> Vec<Item> {
    let amount = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
    let mut items = vec![match limits.overcommit_memory {
        Some(2) => not(
            State::Missing,
            "vm.overcommit_memory",
            "2: every reservation counts as used",
            "the far region may not fit",
            "sudo sysctl -w vm.overcommit_memory=0",
        ),
        other => ok("vm.overcommit_memory", amount(other), ""),
    }];
    items.push(match limits.max_map_count {
        Some(count) if count < ENOUGH_MAPS => not(
            State::Missing,
            "vm.max_map_count",
            count.to_string(),
            "programs that protect parts of their memory may run out of mappings",
            "sudo sysctl -w vm.max_map_count=1048576",
        ),
        other => ok("vm.max_map_count", amount(other), ""),
    });
    items.push(match limits.address_space {
        Some(bytes) if bytes < ENOUGH_ADDRESSES => not(
            State::Missing,
            "address space limit",
            format!("{bytes} bytes"),
            "the far region may not fit",
            "ulimit -v unlimited",
        ),
        other => ok("address space limit", amount(other), ""),
    });
    items.push(match limits.open_files {
        Some(files) if files < 256 => not(
            State::Missing,
            "open files limit",
            files.to_string(),
            "each managed process holds a few descriptors more",
            "ulimit -n 1024",
        ),
        other => ok("open files limit", amount(other), ""),
    });
    items.push(ok("locked memory limit", amount(limits.locked_memory), "nothing is locked"));
    items
}

fn surroundings(machine: &Machine) -> Vec<Item> {
    let cgroup = match machine.cgroup {
        Cgroup::V1 => ok("memory cgroup", "version 1", "benchmarks limit their partner with it"),
        Cgroup::V2 => ok("memory cgroup", "version 2", "benchmarks limit their partner with it"),
        Cgroup::Missing => not(
            State::Missing,
            "memory cgroup",
            "no memory controller",
            "benchmarks leave out kernel swap",
            "mount -t cgroup2 none /sys/fs/cgroup",
        ),
    };
    let zram = if machine.zram {
        ok("zram", "available", "benchmarks swap to it")
    } else {
        not(
            State::Missing,
            "zram",
            "no device",
            "benchmarks leave out kernel swap",
            "sudo modprobe zram",
        )
    };
    vec![cgroup, zram, halt_poll(machine)]
}

const POLL: &str = "echo 200000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns";
const SWITCH_AND_POLL: &str = "echo haltpoll | sudo tee /sys/devices/system/cpu/cpuidle/current_governor && \
     echo 200000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns";

/// A virtual processor that goes to sleep while its sibling serves a fault takes long to come back.
fn halt_poll(machine: &Machine) -> Item {
    let name = "idle polling";
    let idle = &machine.halt_poll;
    match (machine.virtual_machine, idle.governor, idle.poll_ns) {
        (false, ..) => ok(name, "not a virtual machine", "not needed"),
        (true, true, Some(ns)) if ns > 0 => {
            ok(name, format!("haltpoll, up to {ns} ns"), "waits for pages stay short")
        }
        (true, governor, Some(_)) => not(
            State::Missing,
            name,
            "this virtual machine does not poll before it sleeps",
            "waits for pages take longer",
            if governor { POLL } else { SWITCH_AND_POLL },
        ),
        (true, _, None) => not(
            State::Missing,
            name,
            "this virtual machine has no haltpoll",
            "waits for pages take longer",
            "sudo modprobe cpuidle-haltpoll force=1",
        ),
    }
}
