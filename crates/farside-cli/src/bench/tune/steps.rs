//! What each part of a configuration gains (Mira, figure 7.5): sections by themselves, their lines and structures,
//! and what is sent for ahead.

use farside_tune::Configuration;

use super::Bench;
use super::tuned::Tuned;
use crate::bench::Failure;
use crate::bench::compile::{Work, program};
use crate::bench::launch::Place;
use crate::bench::measure::Way;

/// Lines and sets of sections that are not tuned but for their sizes: those of pages.
const LIKE_PAGES: (u64, u32) = (4096, 16);

/// The program in paged memory, then with more and more of what was found; the tuned one last.
pub(super) fn breakdown<'a>(
    bench: &Bench<'_>,
    work: &Work,
    tuned: &Tuned,
    far: &'a [String],
) -> Result<Vec<Way<'a>>, Failure> {
    let best = serde_json::from_value::<Configuration>(tuned.tuning["best"].clone());
    let best = best.map_err(|why| Failure::new(format!("what farside tune prints: {why}")))?;
    let arguments = work.arguments(bench.args.scale);
    let plain = bench.compilers.plain(work.source)?;
    let way = |name: &str, path: &std::path::Path| Way {
        name: name.to_owned(),
        program: program(path, &arguments),
        place: Place::Far(far),
    };
    let mut ways = vec![way("paged memory", &plain.path)];
    if best.sections.is_empty() {
        ways.push(way("the same, since nothing was found", &tuned.path));
        return Ok(ways);
    }
    let mut nothing_ahead = best.clone();
    nothing_ahead.sections.iter_mut().for_each(|it| it.ahead = Some(0));
    let mut like_pages = nothing_ahead.clone();
    like_pages.sections.iter_mut().for_each(|it| {
        (it.line, it.ways) = LIKE_PAGES;
        it.capacity = it.capacity.max(u64::from(LIKE_PAGES.1) * LIKE_PAGES.0);
    });
    let file_of = |of: &Configuration| of.to_toml("");
    for (name, configuration) in
        [("sections", &like_pages), ("lines and structures", &nothing_ahead)]
    {
        let stem = format!(
            "{}-{}",
            tuned.path.file_name().unwrap_or_default().to_string_lossy(),
            name.replace(' ', "-")
        );
        let built = bench.compilers.sections(work.source, &stem, &file_of(configuration))?;
        ways.push(way(name, &built.path));
    }
    ways.push(way("what is sent for ahead", &tuned.path));
    Ok(ways)
}
