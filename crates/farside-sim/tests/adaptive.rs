//! The adaptive prefetcher against the best of those that it chooses from.

mod support;

use std::collections::BTreeSet;

use farside_sim::simulation::{Costs, Memory, Outcome};
use farside_sim::sweep::{Setup, Sweep};
use farside_trace::{Access, PageId};
use support::{Traces, golden};

const GOLDEN: [&str; 9] = [
    "loop200k.u64",
    "real_cg_S.f16.u64",
    "real_fft_m16.f16.u64",
    "real_fft_m16.raw.u64",
    "real_lu_ncont_n256.f16.u64",
    "real_ocean_n130.f16.u64",
    "scanmix200k.u64",
    "uniform50k.u64",
    "zipf200k.u64",
];

/// What it comes to with none, read-ahead, the trend, and the adaptive choice of them.
fn outcomes(trace: &[PageId], replacement: &str, percent: usize) -> [Outcome; 4] {
    let distinct = trace.iter().collect::<BTreeSet<_>>().len();
    let setups = ["none", "linux", "leap", "adaptive"].map(|prefetch| Setup {
        replacement: replacement.into(),
        prefetch: prefetch.into(),
        window: 64,
        memory: Memory::new(distinct * percent / 100),
    });
    let mut sweep = Sweep::new(&setups, Costs::default()).expect("all names are known");
    let accesses: Vec<_> = trace.iter().map(|page| Access::from(*page)).collect();
    accesses.chunks(777).for_each(|chunk| sweep.feed(chunk));
    let mut outcomes = sweep.finish().into_iter().map(|outcome| outcome.expect("a short trace"));
    [(); 4].map(|()| outcomes.next().expect("one for each setup"))
}

/// The adaptive prefetcher's time, as a share of the best one's.
fn beside_the_best(outcomes: &[Outcome; 4]) -> f64 {
    let [none, linux, leap, adaptive] = outcomes.map(|outcome| outcome.projected_time_ns as f64);
    adaptive / none.min(linux).min(leap)
}

#[test]
fn golden_traces_take_hardly_longer_than_with_the_best_single_prefetcher() {
    let test = "golden_traces_take_hardly_longer_than_with_the_best_single_prefetcher";
    let Some(golden) = golden(test) else { return };
    let mut traces = Traces::new(&golden);
    for name in GOLDEN {
        let trace = traces.get(name).expect("a golden trace");
        for (replacement, percent) in [("lru", 20), ("lru", 50), ("second-chance", 20)] {
            let ratio = beside_the_best(&outcomes(trace, replacement, percent));
            println!("{name} {replacement} {percent} %: {ratio:.3}");
            assert!(ratio <= 1.05, "{name} {replacement} {percent} %: {ratio:.3}");
        }
    }
}
