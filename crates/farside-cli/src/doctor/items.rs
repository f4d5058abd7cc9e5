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

/// Features that the pager asks for, and what each is for.
const REQUIRED: &[(&str, &str)] = &[
    ("PAGEFAULT_FLAG_WP", "clean pages are known"),
    ("EVENT_FORK", "forked children keep their far pages"),
    ("THREAD_ID", "faults are told apart by thread"),
];

/// Runs a command with the capability that userfaultfd asks for, as the same user.
const WITH_CAPABILITY: &str = "sudo setpriv --reuid=$(id -u) --regid=$(id -g) --init-groups \
    --inh-caps=+sys_ptrace --ambient-caps=+sys_ptrace farside run ...";

/// Everything.
pub fn all() -> Vec<Item> {
    let (limits, machine) = (probe::limits(), probe::machine());
    let userfault = probe::userfault();
    let mut items = vec![kernel(&machine)];
    items.extend(essential_with(&userfault));
    if let Ok(userfault) = &userfault {
        let optional = FEATURES.iter().filter(|feature| !is_required(feature));
        items.extend(optional.map(|feature| optional_feature(userfault, feature)));
        items.push(tried(
            "copying and protecting pages",
            probe::copy_and_protect(),
            PROTECTING,
            FATAL,
        ));
    }
    items.extend(optional_trials());
    items.extend(limit_items(&limits));
    items.extend(surroundings(&machine));
    items
}

/// What `farside run` cannot do without.
pub fn essential() -> Vec<Item> {
    essential_with(&probe::userfault())
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

fn essential_with(userfault: &Result<Userfault, OpenFailure>) -> Vec<Item> {
    let page = match probe::page_size() {
        PAGE => ok("page size", "4 KiB", ""),
        other => not(State::Fatal, "page size", format!("{other} bytes instead of {PAGE}"), "", ""),
    };
    let memory = tried("memory files", probe::memfd(), "pages are shared with the node", FATAL);
    let mut items = vec![page, memory];
    match userfault {
        Ok(userfault) => {
            let route = match userfault.route {
                Route::SystemCall => "by system call",
                Route::Device => "by /dev/userfaultfd",
            };
            items.push(ok("userfaultfd", route, "faults are served from it"));
            let required = FEATURES.iter().filter(|feature| is_required(feature));
            items.extend(required.map(|feature| required_feature(userfault, feature)));
            items.push(fork_events());
        }
        Err(failure) => items.push(not_opened(failure)),
    }
    items
}

fn not_opened(failure: &OpenFailure) -> Item {
    let (call, device) = (&failure.system_call, &failure.device);
    if call.raw_os_error() == Some(libc::ENOSYS) {
        let found = format!("this kernel has none ({call}); it needs CONFIG_USERFAULTFD");
        return not(State::Fatal, "userfaultfd", found, "", "");
    }
    let mut found = format!("{call}; /dev/userfaultfd: {device}");
    if failure.user_mode_only {
        found += "; faults inside the kernel, such as read() into far memory, need permission";
    }
    not(State::Fatal, "userfaultfd", found, "", WITH_CAPABILITY)
}

/// Features that are used if they are offered, what is done with them, and what without.
const USED: &[(&str, &str, &str)] = &[(
    "EXACT_ADDRESS",
    "pointers that the program follows are followed ahead of it",
    "no pointers are followed: --prefetch pointer is the same as linux; Linux 5.18 and later have it",
)];

fn is_required(feature: &Feature) -> bool {
    REQUIRED.iter().any(|(name, _)| *name == feature.name)
}

fn required_feature(userfault: &Userfault, feature: &Feature) -> Item {
    let name = format!("feature {}", feature.name);
    let with = REQUIRED.iter().find(|(name, _)| *name == feature.name).map_or("", |found| found.1);
    if userfault.features & feature.bit != 0 {
        return ok(&name, feature.about, with);
    }
    let found = "not offered by this kernel; Linux 5.7 and later have it";
    not(State::Fatal, &name, found, "", "")
}

fn optional_feature(userfault: &Userfault, feature: &Feature) -> Item {
    let name = format!("feature {}", feature.name);
    let used = USED.iter().find(|(name, ..)| *name == feature.name);
    let (with, without) = used.map_or(("not needed", "not needed"), |used| (used.1, used.2));
    if userfault.features & feature.bit != 0 {
        return ok(&name, feature.about, with);
    }
    not(State::Missing, &name, "not offered by this kernel", without, "")
}

/// The feature can be offered and still be refused: it takes a capability.
fn fork_events() -> Item {
    let with = "forked children keep their far pages";
    let item = tried("notice of forks", probe::fork_events(), with, FATAL);
    let repair = (item.state != State::Ok).then(|| WITH_CAPABILITY.to_owned());
    Item { repair, ..item }
}

/// What a failed trial means: that another way is taken, or that there is none.
const FATAL: Option<&str> = None;

fn tried(name: &str, outcome: io::Result<()>, with: &str, without: Option<&str>) -> Item {
    match (outcome, without) {
        (Ok(()), _) => ok(name, "works", with),
        (Err(error), Some(without)) => not(State::Missing, name, error.to_string(), without, ""),
        (Err(error), None) => not(State::Fatal, name, error.to_string(), "", ""),
    }
}

const PROTECTING: &str = "the first write to a fetched page is noticed";

fn optional_trials() -> [Item; 5] {
    let moving = "frames move in and out without a copy (UFFDIO_MOVE)";
    let copying = "pages are copied, which takes longer, and direct input into far memory can be lost; \
                   Linux 6.8 and later can move them";
    let (huge, small) =
        ("a transfer costs about half", "small pages, with which a transfer costs twice as much");
    let (vector, single) = ("one process_madvise for many pages", "one madvise for each run");
    [
        tried("moving pages", probe::move_pages(), moving, Some(copying)),
        tried("dropping scattered pages", probe::process_madvise(), vector, Some(single)),
        tried("huge pages for the node", probe::huge_file(), huge, Some(small)),
        tried("finding written pages", probe::pagemap_scan(), "not needed", Some("not needed")),
        tried("process descriptors", probe::pidfd(), "not needed", Some("not needed")),
    ]
}

fn limit_items(limits: &Limits) -> Vec<Item> {
    let amount = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
    let mut items = vec![match limits.overcommit_memory {
        Some(2) => not(
            State::Missing,
            "vm.overcommit_memory",
            "2: every reservation counts as used",
            "the far region is smaller",
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
            "the far region is smaller",
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
