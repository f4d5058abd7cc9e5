//! The analysis as an object for other programs.

use farside_sim::curve::Curve;
use farside_sim::regions::SHARES;
use serde_json::{Value, json};

use super::Analysis;
use super::place::PhaseRow;

/// The object.
pub fn value(analysis: &Analysis) -> Value {
    let found = &analysis.found;
    let (stretch, working_set) = found.working_set.stretches();
    let needs = analysis.needs.iter();
    let knees = analysis.knees.iter();
    json!({
        "trace": analysis.trace,
        "command": found.command(),
        "accesses": found.accesses,
        "data_accesses": found.data_accesses,
        "writes": found.writes,
        "footprint_pages": found.footprint(),
        "access_ns": analysis.costs.access_ns,
        "curves": {
            "lru": analysis.found.lru.steps(),
            "mru": analysis.found.mru.steps(),
            "opt": analysis.found.opt.as_ref().map(Curve::steps),
        },
        "lru_sample": found.sample.as_ref().map(|sample| json!({
            "share": sample.share,
            "pages": sample.pages,
            "most_pages": sample.most_pages,
            "references": sample.references,
            "mean_error": sample.mean_error,
            "points": sample.points.iter()
                .map(|point| json!([point.pages, point.miss_ratio, point.error]))
                .collect::<Vec<_>>(),
        })),
        "reuse_distances": found.reuse,
        "working_set": { "accesses": stretch, "pages": working_set },
        "policies": analysis.simulated.policies,
        "prefetchers": analysis.simulated.prefetchers,
        "compared_pages": analysis.simulated.compared_pages,
        "needs": needs.map(|need| json!({
            "slowdown": need.slowdown, "pages": need.pages,
        })).collect::<Vec<_>>(),
        "knees": knees.map(|knee| json!({
            "pages": knee.pages, "misses": knee.misses, "slowdown": knee.slowdown,
        })).collect::<Vec<_>>(),
        "phases": analysis.places.phases.iter().map(|row| phase(analysis, row)).collect::<Vec<_>>(),
        "regions": (0..analysis.places.regions.list().len())
            .map(|number| region(analysis, number)).collect::<Vec<_>>(),
    })
}

fn phase(analysis: &Analysis, row: &PhaseRow) -> Value {
    let regions = analysis.places.regions.list();
    json!({
        "begin": row.phase.begin,
        "end": row.phase.end,
        "change": row.phase.change,
        "pages": row.pages,
        "region": row.main.map(|(region, _)| &regions[region].name),
        "region_share": row.main.map(|(_, share)| share),
    })
}

fn region(analysis: &Analysis, number: usize) -> Value {
    let region = &analysis.places.regions.list()[number];
    let runs = analysis.places.regions.runs().iter().filter(|run| run.region == number);
    let sizes = SHARES.map(|share| (region.pages * share / 100).max(1));
    let misses = analysis.places.misses[number]
        .iter()
        .map(|row| (row.replacement.clone(), json!(row.misses)))
        .collect::<serde_json::Map<_, _>>();
    json!({
        "name": region.name,
        "first_page": runs.clone().map(|run| run.first.0).min(),
        "last_page": runs.map(|run| run.last.0).max(),
        "pages": region.pages,
        "accesses": analysis.places.accesses[number],
        "local_pages": sizes,
        "misses": misses,
        "best": analysis.places.best(number).map(|row| &row.replacement),
    })
}
