//! The documented counters are those that exist.

use farside_cli::figures::{Combination, Figures, combination};
use farside_pager::counters::Counters;
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn the_document_lists_every_counter_once_in_order() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/counters.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("## The counters").unwrap();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let documented: Vec<&str> = rows.iter().map(|row| row[1].trim_matches('`')).collect();
    let fields = Counters::new().snapshot().fields();
    let existing: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(documented, existing);
    for row in rows {
        let expected = match combination(row[1].trim_matches('`')) {
            Combination::Sum => "sum",
            Combination::Level => "sum of the living",
            Combination::Greatest => "greatest",
        };
        assert_eq!(row[2], expected, "{}", row[1]);
    }
}

#[test]
fn processes_add_up() {
    let (one, two) = (Counters::new(), Counters::new());
    for (counters, factor) in [(&one, 1), (&two, 2)] {
        counters.demand_faults.store(10 * factor, Relaxed);
        counters.resident_bytes.store(100 * factor, Relaxed);
        counters.resident_peak_bytes.store(1000 * factor, Relaxed);
        counters.limit_bytes.store(7, Relaxed);
        counters.record_fault_ns(4_000);
    }
    let mut figures = Figures::default();
    figures.add(&two.snapshot(), false);
    figures.add(&one.snapshot(), true);
    assert_eq!(figures.processes, 2);
    assert_eq!(figures.get("demand_faults"), 30);
    assert_eq!(figures.get("resident_bytes"), 100, "a dead process holds nothing");
    assert_eq!(figures.get("resident_peak_bytes"), 2000);
    assert_eq!(figures.get("limit_bytes"), 7);
    let times = figures.fault_times();
    assert_eq!(times.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), 2);
    assert!((3_000..6_000).contains(&times.median_ns.unwrap()));
    assert_eq!(Figures::default().fault_times().median_ns, None);
}
