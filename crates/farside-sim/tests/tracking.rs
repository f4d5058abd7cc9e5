//! The curve of a running program, from the few uses of pages that software can see, beside the exact one.

mod support;

use std::collections::HashSet;

use farside_sim::curve::{Curve, LruDistances};
use farside_trace::{PageId, synthetic};
use farside_tracking::{LiveCurve, Tracker, TrackingOptions};
use support::Traces;

/// A program of which only those uses are seen that fault: the first of a page, and those of pages that are unmapped.
struct Run {
    tracker: Tracker,
    /// Sampled pages that are unmapped.
    unmapped: HashSet<PageId>,
    touched: HashSet<PageId>,
    faults: u64,
}

impl Run {
    fn new(active: u32, halvings: u32, salt: u64) -> Self {
        let options = TrackingOptions { active, ..TrackingOptions::default() };
        let mut tracker = Tracker::new(options, salt);
        (0..halvings).for_each(|_| assert!(tracker.fewer()));
        Self { tracker, unmapped: HashSet::new(), touched: HashSet::new(), faults: 0 }
    }

    fn uses(&mut self, page: PageId) {
        let is_new = self.touched.insert(page);
        if !self.tracker.sample().has(page) || !(is_new || self.unmapped.remove(&page)) {
            return;
        }
        self.faults += u64::from(!is_new);
        let touched = self.touched.len() as u64;
        self.tracker.visit(page, touched, is_new);
        while let Some(page) = self.tracker.leave(touched) {
            self.unmapped.insert(page);
        }
    }
}

/// The mean difference of the share of misses, among uses of pages that are not hot, at a hundred sizes up to the
/// footprint, beginning where pages are no longer taken to be hot.
fn apart(live: &LiveCurve, exact: &Curve, active: u32, footprint: usize) -> f64 {
    let least = 2 * active as usize;
    let sizes: Vec<usize> = (0..=100).map(|i| least + (footprint - least) * i / 100).collect();
    let live_ratio = |size| live.misses(size as u64) / live.misses(least as u64).max(1.0);
    let exact_ratio = |size| exact.miss_ratio(size) / exact.miss_ratio(least).max(1e-12);
    let off = |size: &usize| (live_ratio(*size) - exact_ratio(*size)).abs();
    sizes.iter().map(off).sum::<f64>() / sizes.len() as f64
}

/// Differences, and faults as a share of all uses.
fn tracked(trace: &[PageId], active: u32, halvings: u32) -> (f64, f64) {
    let mut exact = LruDistances::new();
    exact.references(trace);
    let exact = exact.into_distances().curve();
    let salts = [1, 77, 4_000_000_007];
    let (mut off, mut faults) = (0.0, 0);
    for salt in salts {
        let mut run = Run::new(active, halvings, salt);
        trace.iter().for_each(|page| run.uses(*page));
        off += apart(run.tracker.curve(), &exact, active, run.touched.len());
        faults += run.faults;
    }
    let runs = salts.len() as f64;
    (off / runs, faults as f64 / runs / trace.len() as f64)
}

#[test]
fn a_loop_is_as_long_as_it_is_however_few_pages_are_tracked() {
    let trace: Vec<PageId> = synthetic::cycle(400_000, 20_000).collect();
    for halvings in [0, 2, 4, 6, 8] {
        let (off, faults) = tracked(&trace, 64, halvings);
        assert!(off < 0.001, "{halvings}: {off}");
        let share = (-f64::from(halvings)).exp2();
        assert!((faults / share - 0.95).abs() < 0.2, "{halvings}: {faults}");
    }
}

#[test]
fn the_curve_from_uses_that_fault_is_near_the_exact_one() {
    let test = "the_curve_from_uses_that_fault_is_near_the_exact_one";
    let Some(golden) = support::golden(test) else { return };
    let mut traces = Traces::new(&golden);
    // With all pages tracked, and with a half and a quarter of a few hundred to some thousand pages.
    for (name, active, most_off) in [
        ("real_fft_m16.f16", 64, [0.001, 0.02, 0.04]),
        ("real_fft_m16.raw", 64, [0.005, 0.02, 0.04]),
        ("real_cg_S.f16", 16, [0.005, 0.04, 0.07]),
        ("real_ocean_n130.f16", 16, [0.01, 0.02, 0.2]),
        ("scanmix200k", 64, [0.02, 0.02, 0.02]),
        ("zipf200k", 64, [0.02, 0.01, 0.01]),
        ("loop200k", 64, [0.001, 0.001, 0.001]),
    ] {
        let Some(trace) = traces.get(name) else {
            println!("skipped: {test}: no trace {name}");
            continue;
        };
        for (halvings, most_off) in (0..).zip(most_off) {
            let (off, _) = tracked(trace, active, halvings);
            assert!(off < most_off, "{name} {halvings}: {off}");
        }
    }
}

#[test]
fn hot_pages_are_not_paid_for_at_each_use() {
    // Three of four uses are of twenty pages.
    let mut trace = Vec::new();
    for (at, page) in synthetic::cycle(100_000, 10_000).enumerate() {
        trace.push(page);
        trace.extend((0..3).map(|k| PageId(20_000 + (at as u64 * 7 + k * 13) % 20)));
    }
    let (_, faults) = tracked(&trace, 64, 0);
    assert!(faults < 0.3, "{faults}: of {} uses a quarter are of other pages", trace.len());
}
