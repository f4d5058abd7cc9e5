//! Programs of which all is to be local, whatever earlier runs used.

use std::path::Path;
use std::process::Command;

use farside_exam::{farside, has_program};
use serde_json::Value;

/// Uses as many mebibytes as a file says, twice.
const PROGRAM: &str = "
size = int(open('size').read()) << 20
data = bytearray(size)
data[::4096] = b'x' * (size // 4096)
print(data.count(b'x'), sum(data[::4096]))
";

/// Runs it with that many mebibytes; what was counted.
fn run(directory: &Path, options: &[&str], size: &str) -> Value {
    std::fs::write(directory.join("size"), size).expect("a file");
    let command = ["/usr/bin/python3", "-c", PROGRAM];
    let plain = Command::new(command[0]).args(&command[1..]).current_dir(directory).output();
    let mut far = Command::new(farside());
    far.args(["run", "--quiet", "--stats", "stats.json"]).args(options).arg("--").args(command);
    far.env("XDG_STATE_HOME", directory.join("state")).current_dir(directory);
    let (plain, far) = (plain.expect("it starts"), far.output().expect("farside starts"));
    assert!(plain.status.success() && far.status.success(), "{far:?}");
    assert_eq!(plain.stdout, far.stdout);
    let text = std::fs::read_to_string(directory.join("stats.json")).expect("statistics");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn nothing_leaves_where_all_is_to_be_local() {
    if !has_program("nothing_leaves_where_all_is_to_be_local", "/usr/bin/python3", "python3") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    for options in [&["--local", "100%"][..], &["--local", "120%"], &[]] {
        // It uses more from run to run.
        for size in ["20", "24", "90"] {
            let stats = run(directory.path(), options, size);
            let count = |name: &str| stats["counters"][name].as_u64().expect("a counter");
            let left = ["evicted_pages", "demand_faults", "soft_faults"].map(count);
            assert_eq!(left, [0; 3], "{options:?}, {size} MiB: {stats}");
            assert!(count("limit_bytes") >= count("resident_peak_bytes"), "{stats}");
            assert!(count("limit_bytes") < 500 << 20, "it says what is used: {stats}");
        }
    }
    // Part of it is part of what an earlier run used.
    let stats = run(directory.path(), &["--local", "50%"], "90");
    assert_eq!(stats["limit"]["basis"], "earlier-run");
    assert!(stats["counters"]["evicted_pages"].as_u64() > Some(1000), "{stats}");
}
