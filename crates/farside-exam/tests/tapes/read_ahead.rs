//! The same programs without tapes: what the default prefetcher makes of them.

use crate::follow::{counter, run};
use crate::record::plain;

/// Pages that every pattern reads once, one after the other, when it ends.
const SCANNED: u64 = 6000;

#[test]
fn one_page_in_eight_is_no_stream() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for far in ["embedded:", "embedded:latency=5us"] {
        let stats = directory.path().join("stats.json");
        let (output, stats) = run(&["--local", "2M", "--far", far], "columns", &stats);
        assert_eq!(output.stdout, plain("columns").stdout);
        let prefetched = counter(&stats, "prefetched_pages");
        assert!(prefetched < 2 * SCANNED, "{far}: {prefetched} pages prefetched");
    }
}
