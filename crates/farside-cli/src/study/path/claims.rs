//! What the paper reports, in figures, beside what comes out here.

use super::super::figure::Figure;
use super::experiment::{Policy, Results};
use super::figures::greatest_gain;
use super::model::{BUFFER, PAPER_BUFFER, SHARES};

/// A table of them.
pub fn table(results: &[Results], figures: &[Figure]) -> String {
    let mut text = String::from("| | paper | here |\n|---|---|---|\n");
    let mut add = |what: &str, paper: &str, here: String| {
        text += &format!("| {what} | {paper} | {here} |\n");
    };
    if let Some(lu) = find(results, "lu_contiguous") {
        let gain = |policy| {
            let (gain, share) = greatest_gain(lu, policy);
            format!("{gain:.1}x at {share} %")
        };
        let here = format!("region {}, LIRS {}", gain(Policy::Region), gain(Policy::Lirs));
        add("contiguous LU, adaptive against LRU, time (6)", "about 5x", here);
    }
    if let Some(ocean) = find(results, "ocean") {
        let worst = worst_gain(ocean, Policy::Lirs);
        add("Ocean, LIRS against LRU, time (6)", "slightly worse", format!("{worst:.2}x at worst"));
    }
    if let Some(jbb) = find(results, "Warehouse") {
        let worst = worst_gain(jbb, Policy::Region);
        let here = format!("{worst:.2}x at worst");
        add("SPECjbb, region-specific against LRU, time (6)", "slightly worse", here);
    }
    if let Some(figure) = figures.iter().find(|figure| figure.name == "figure-7") {
        let fewer = figure.table[1..].iter().map(|row| format!("{} at {} pages", row[6], row[0]));
        add(
            "SPECjbb and BT, throughput rule against one pool, cycles (7)",
            "-18 %",
            fewer.collect::<Vec<_>>().join(", "),
        );
    }
    if let Some(lu) = find(results, "lu_noncontiguous") {
        let here = SHARES
            .iter()
            .filter(|share| [20, 40, 60, 80].contains(*share))
            .map(|share| {
                let spatial = lu.cycles(Policy::Spatial, BUFFER, *share);
                let proximity = lu.cycles(Policy::Proximity, BUFFER, *share);
                format!("{:.1}x at {share} %", spatial / proximity)
            })
            .collect::<Vec<_>>();
        add(
            "non-contiguous LU, proximity against spatial, time (8)",
            "significantly faster",
            here.join(", "),
        );
    }
    let mut overheads: Vec<_> =
        results.iter().map(|one| (one.hardware_overhead(PAPER_BUFFER), one.program.name)).collect();
    overheads.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most = overheads
        .iter()
        .take(3)
        .map(|(overhead, name)| format!("{name} {:.1} %", overhead * 100.0));
    add(
        "overhead of PATH with 2,048 entries (12)",
        "below 3 %, but for LU-nonc and SPECjbb, below 6 %",
        format!("the highest: {}", most.collect::<Vec<_>>().join(", ")),
    );
    text
}

fn find<'a>(results: &'a [Results], name: &str) -> Option<&'a Results> {
    results.iter().find(|one| one.program.name == name)
}

fn worst_gain(one: &Results, policy: Policy) -> f64 {
    SHARES
        .iter()
        .map(|share| one.cycles(Policy::Lru, BUFFER, *share) / one.cycles(policy, BUFFER, *share))
        .fold(f64::INFINITY, f64::min)
}
