//! Sampled curves beside exact ones.

mod support;

use farside_sim::curve::{
    Curve, FixedSizeDistances, LruDistances, SampledCurve, SampledDistances, SampledPoint,
};
use farside_trace::{PageId, synthetic};
use proptest::prelude::*;
use support::{Traces, golden};

fn exact(trace: &[PageId]) -> Curve {
    let mut exact = LruDistances::new();
    exact.references(trace);
    exact.distances().curve()
}

/// A curve from at most so many pages, at a hundred sizes up to the footprint.
fn of_pages(trace: &[PageId], most: usize, salt: u64) -> SampledCurve {
    let mut sample = FixedSizeDistances::new(most, salt);
    trace.chunks(1000).for_each(|pages| sample.references(pages));
    assert!(sample.pages() <= most);
    let footprint = exact(trace).steps().last().map_or(0, |(pages, _)| *pages);
    sample.curve(&(1..=100).map(|i| (footprint * i / 100).max(1)).collect::<Vec<_>>())
}

/// The mean absolute difference of the miss ratio.
fn apart(sampled: &SampledCurve, exact: &Curve) -> f64 {
    let off = |point: &SampledPoint| (point.miss_ratio - exact.miss_ratio(point.pages)).abs();
    sampled.points.iter().map(off).sum::<f64>() / sampled.points.len() as f64
}

proptest! {
    #[test]
    fn a_sample_of_all_pages_is_exact(pages in prop::collection::vec(0..300_u64, 0..2000)) {
        let trace: Vec<_> = pages.into_iter().map(PageId).collect();
        let curve = exact(&trace);
        let mut sample = SampledDistances::new(1.0, 3);
        sample.references(&trace);
        let sizes = [1, 5, 50, 500];
        for point in sample.curve(&sizes).points {
            let expected = if trace.is_empty() { 1.0 } else { curve.miss_ratio(point.pages) };
            prop_assert!((point.miss_ratio - expected).abs() < 1e-9);
            prop_assert_eq!(point.error, 0.0);
        }
    }

    #[test]
    fn a_sample_with_room_for_all_pages_is_exact(
        runs in prop::collection::vec((0..300_u64, 1..30_u64), 0..60),
        far in any::<u64>(),
    ) {
        let trace: Vec<_> = runs
            .iter()
            .flat_map(|(first, len)| *first..first + len)
            .map(|page| PageId(far.wrapping_add(page)))
            .collect();
        let curve = exact(&trace);
        for (most, salt) in [(330, 1), (5000, 2)] {
            let mut sample = FixedSizeDistances::new(most, salt);
            sample.references(&trace);
            let sampled = sample.curve(&(0..400).collect::<Vec<_>>());
            prop_assert_eq!(sampled.rate, 1.0);
            prop_assert_eq!(sampled.sampled, trace.len() as u64);
            for point in sampled.points {
                let all = trace.is_empty() || point.pages == 0;
                let expected = if all { 1.0 } else { curve.miss_ratio(point.pages) };
                prop_assert!((point.miss_ratio - expected).abs() < 1e-9, "{point:?} {expected}");
                prop_assert_eq!(point.error, 0.0);
            }
        }
    }

    #[test]
    fn no_sample_is_larger_than_asked(
        pages in prop::collection::vec(any::<u64>(), 0..300),
        most in 0..40_usize,
        salt: u64,
    ) {
        let trace: Vec<_> = pages.into_iter().map(PageId).collect();
        let mut sample = FixedSizeDistances::new(most, salt);
        let mut rate = 1.0;
        for page in &trace {
            sample.references(&[*page]);
            prop_assert!(sample.pages() <= most.max(1));
            prop_assert!(sample.rate() <= rate && sample.rate() > 0.0);
            rate = sample.rate();
        }
        let curve = sample.curve(&[0, 1, 7, 1000, usize::MAX]);
        prop_assert!(curve.points.windows(2).all(|pair| pair[1].miss_ratio <= pair[0].miss_ratio));
        prop_assert!(curve.points.iter().all(|point| (0.0..=1.0).contains(&point.miss_ratio)));
    }
}

#[test]
fn samples_of_the_golden_traces_are_as_far_off_as_they_say() {
    let Some(golden) = golden("samples_of_the_golden_traces_are_as_far_off_as_they_say") else {
        return;
    };
    let mut traces = Traces::new(&golden);
    // Pages in the sample, and the most that the miss ratio may be off on average.
    for (name, samples) in [
        ("zipf200k", [(250, 0.04), (1000, 0.02), (4000, 0.01)]),
        ("scanmix200k", [(250, 0.04), (1000, 0.02), (4000, 0.01)]),
        ("uniform50k", [(60, 0.15), (250, 0.06), (500, 0.04)]),
    ] {
        let Some(trace) = traces.get(name) else { panic!("no golden trace {name}") };
        let curve = exact(trace);
        for (most, allowed) in samples {
            let (mut off, mut stated) = (0.0, 0.0);
            for salt in 0..4 {
                let sampled = of_pages(trace, most, salt);
                off += apart(&sampled, &curve) / 4.0;
                stated += sampled.mean_error / 4.0;
            }
            println!("{name}: {most} pages, {off:.5} off, {stated:.5} stated");
            assert!(off < allowed, "{name}: {most} pages, {off} off");
            assert!(off < 2.0 * stated, "{name}: {most} pages, {off} off, {stated} stated");
            assert!(stated < 4.0 * off, "{name}: {most} pages, {off} off, {stated} stated");
        }
    }
}

#[test]
fn another_salt_gives_another_sample() {
    // A quarter of 1000 pages with numbers one after the other.
    let trace: Vec<_> = (0..1000).map(PageId).collect();
    let pages = |salt| {
        let mut sample = SampledDistances::new(0.25, salt);
        sample.references(&trace);
        sample.curve(&[1]).pages
    };
    let first = pages(0);
    assert!((1..10).any(|salt| pages(salt) != first), "always {first} pages");
}

#[test]
fn a_long_trace_needs_no_more_pages() {
    let trace: Vec<_> = synthetic::zipf(2_000_000, 500_000, 3).collect();
    let curve = exact(&trace);
    let sampled = of_pages(&trace, 8192, 0);
    assert_eq!(sampled.pages, 8192);
    assert!(sampled.rate < 0.05, "{}", sampled.rate);
    let mean = apart(&sampled, &curve);
    println!("{mean:.5} off, {:.5} stated", sampled.mean_error);
    assert!(mean < 0.02, "{mean} off");
}

#[test]
fn a_sample_states_an_error_of_the_right_size() {
    // Pages are the less popular the higher their number.
    let mut state = 1u64;
    let trace: Vec<_> = (0..2_000_000)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
            PageId((200_000.0 * uniform.powi(3)) as u64)
        })
        .collect();
    let curve = exact(&trace);
    let mut sample = SampledDistances::new(0.05, 11);
    sample.references(&trace);
    let sizes: Vec<_> = (1..=100).map(|i| i * 2000).collect();
    let sampled = sample.curve(&sizes);
    let mean = apart(&sampled, &curve);
    assert!(mean < 0.02, "{mean} off");
    assert!(mean < 4.0 * sampled.mean_error, "{mean} off, {} stated", sampled.mean_error);
    assert!(sampled.points.windows(2).all(|pair| pair[1].miss_ratio <= pair[0].miss_ratio));
}
