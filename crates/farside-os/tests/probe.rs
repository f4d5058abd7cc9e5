//! Probes against what the machine says of itself elsewhere.

use farside_os::probe;

#[test]
fn feature_bits_are_the_lowest_seventeen_in_order() {
    let all = probe::FEATURES.iter().fold(0, |bits, feature| bits | feature.bit);
    assert_eq!(all, 0x1_ffff);
    assert!(probe::FEATURES.is_sorted_by_key(|feature| feature.bit));
    let known = [("EVENT_FORK", 1 << 1), ("SIGBUS", 1 << 7), ("MOVE", 1 << 16)];
    for (name, bit) in known {
        let feature = probe::FEATURES.iter().find(|feature| feature.name == name).unwrap();
        assert_eq!(feature.bit, bit, "{name}");
    }
}

#[test]
fn trials_agree_with_the_offered_features() {
    let userfault = match probe::userfault() {
        Ok(userfault) => userfault,
        Err(failure) => {
            println!("skipped: trials_agree_with_the_offered_features: {}", failure.system_call);
            return;
        }
    };
    assert!(userfault.features != 0);
    assert_eq!(probe::move_pages().is_ok(), userfault.has("MOVE"), "{:?}", probe::move_pages());
    let protect = probe::copy_and_protect();
    assert_eq!(protect.is_ok(), userfault.has("PAGEFAULT_FLAG_WP"), "{protect:?}");
    assert!(!userfault.has("NO_SUCH_FEATURE"));
}

#[test]
fn probes_leave_no_descriptor_behind() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    // Other tests of this program open descriptors at the same time, but not a hundred.
    let before = open();
    for _ in 0..100 {
        let _ = (probe::userfault(), probe::fork_events(), probe::move_pages());
        let _ = (probe::copy_and_protect(), probe::process_madvise());
        let _ = (probe::pagemap_scan(), probe::memfd(), probe::pidfd());
    }
    assert!(open() < before + 100);
}

#[test]
fn limits_are_those_of_the_system() {
    let limits = probe::limits();
    let maps = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    assert_eq!(limits.max_map_count, maps.trim().parse().ok());
    let proc = std::fs::read_to_string("/proc/self/limits").unwrap();
    let files = proc.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let soft = files.split_whitespace().nth(3).unwrap();
    assert_eq!(limits.open_files, soft.parse().ok());
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(probe::machine().kernel, kernel.trim());
}
