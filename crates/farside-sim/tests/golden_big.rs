//! The golden counts of the two traces with ten million references, which are made anew.

mod support;

use farside_sim::simulation::{Costs, Memory};
use farside_sim::sweep::{Setup, Sweep};
use farside_trace::{Access, PageId, synthetic};
use sha2::{Digest, Sha256};
use support::{golden, table};

const REFERENCES: usize = 10_000_000;

/// SHA-256 of the references as 64-bit numbers, little end first.
fn sha256(pages: &[PageId]) -> String {
    let mut hash = Sha256::new();
    pages.iter().for_each(|page| hash.update(page.0.to_le_bytes()));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(test: &str, name: &str, digest: &str, pages: impl Iterator<Item = PageId>) {
    let Some(golden) = golden(test) else { return };
    let trace: Vec<_> = pages.collect();
    if sha256(&trace) != digest {
        // Zipf's law is in floating point, which need not be the same everywhere.
        return println!("skipped: {test}: this machine makes another {name}");
    }
    let rows: Vec<_> = table(&golden.join("expected/miss_counts_big.tsv"))
        .into_iter()
        .filter(|row| row[0] == name)
        .collect();
    assert!(rows.len() > 10, "only {} rows for {name}", rows.len());
    let setup = |row: &Vec<String>| Setup {
        replacement: row[1].clone(),
        prefetch: "none".into(),
        window: 0,
        memory: Memory::new(row[2].parse().expect("a size")),
    };
    let setups: Vec<_> = rows.iter().map(setup).collect();
    let mut sweep = Sweep::new(&setups, Costs::default()).expect("all policies are known");
    for chunk in trace.chunks(1 << 14) {
        let accesses: Vec<_> = chunk.iter().map(|page| Access::from(*page)).collect();
        sweep.feed(&accesses);
    }
    for (row, outcome) in rows.iter().zip(sweep.finish()) {
        let misses = outcome.expect("the trace is short enough").misses;
        assert_eq!(misses.to_string(), row[4], "{} {} with {} pages", row[1], name, row[2]);
    }
}

#[test]
fn ten_million_skewed_references_give_the_golden_misses() {
    check(
        "ten_million_skewed_references_give_the_golden_misses",
        "zipf10m",
        "c1bf3799110401dd4930b72682c03384ce539a803780164d939055abf5c5d6f2",
        synthetic::zipf(REFERENCES, 1_000_000, 42),
    );
}

#[test]
fn a_loop_of_ten_million_references_gives_the_golden_misses() {
    check(
        "a_loop_of_ten_million_references_gives_the_golden_misses",
        "loop10m",
        "7e1a79993be12eac8fa215dedfec0e011e0f2efca4c71c1cf86e1cf948ae47ea",
        synthetic::cycle(REFERENCES, 200_000),
    );
}
