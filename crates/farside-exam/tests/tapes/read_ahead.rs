//! The same programs without tapes: what prefetchers make of them that do not know what comes.

use crate::follow::{counter, run};
use crate::record::plain;

/// Pages that every pattern reads once, one after the other, when it ends.
const SCANNED: u64 = 6000;

/// Pages that are used before, each after it was evicted.
const USED: u64 = 16 * (SCANNED / 8 + SCANNED / 8 / 16 + 1);

#[test]
fn one_page_in_eight_is_no_stream() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for far in ["embedded:", "embedded:latency=5us"] {
        for prefetch in ["linux", "adaptive"] {
            let stats = directory.path().join("stats.json");
            let options = ["--local", "2M", "--far", far, "--prefetch", prefetch];
            let (output, stats) = run(&options, "columns", &stats);
            assert_eq!(output.stdout, plain("columns").stdout);
            let fetched = counter(&stats, "fetched_bytes") / 4096;
            let needed = USED + SCANNED;
            assert!(fetched < needed * 5 / 4, "{far}, {prefetch}: {fetched} pages for {needed}");
        }
    }
}
