//! Prefetchers by the name a user selects them by.

use farside_trace::PageId;

use super::{
    Adaptive, FixedReadahead, Leap, LeapOptions, LinuxWindow, NoPrefetch, Prefetcher, Proximity,
    ProximityOptions, Spatial, SpatialOptions, SwapCluster, Tape, TapeOptions,
};

/// In a run it does with what that sees of accesses, see [`ProximityInRun`](super::ProximityInRun).
pub const PROXIMITY: &str = "proximity";

/// Name and one-line description of every prefetcher that works with what a run can see.
pub const NAMES: &[(&str, &str)] = &[
    ("none", "fetch only what is asked for"),
    ("readahead", "fetch a fixed number of pages after each fault"),
    ("linux", "a window per stream that grows while accesses are sequential, as in Linux"),
    (
        "linux-swap",
        "the aligned block around each fault, larger while it proves useful, as in Linux",
    ),
    ("leap", "along the stride that most of the latest accesses have"),
    ("spatial", "the next pages, more or fewer as they prove useful"),
    (PROXIMITY, "what followed a page the last times, and what followed that, as in PATH"),
    (
        Adaptive::NAME,
        "what proves useful where: linux, leap, proximity, pointers that are followed, or none",
    ),
];

/// The same for the one that has to see what is in memory, as in a run: read-ahead by `linux`, and pointers besides.
pub const POINTER: (&str, &str) =
    ("pointer", "read-ahead as linux does it, and what the pages that come point to");

/// Those that a run can have: they work with what it sees of accesses, and some with what it sees of memory.
pub fn of_runs() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().chain([&POINTER]).copied()
}

/// The same as [`NAMES`] for prefetchers that have to see every access, or what comes, as in a simulation.
pub const OMNISCIENT: &[(&str, &str)] = &[("tape", "what comes, known beforehand, as in 3PO")];

/// How far beyond its lookahead a tape is searched for a fault that is not where it should be.
const TAPE_SEARCH: usize = 1024;

/// A new prefetcher that fetches at most `max_pages` pages with a fault, or `None` if none has that
/// name or it needs a tape.
pub fn by_name(name: &str, max_pages: u32) -> Option<Box<dyn Prefetcher>> {
    Some(match name {
        "none" => Box::new(NoPrefetch),
        "readahead" => Box::new(FixedReadahead::new(max_pages)),
        "linux" => Box::new(LinuxWindow::new(max_pages)),
        "linux-swap" => Box::new(SwapCluster::new(max_pages)),
        "leap" => Box::new(Leap::new(LeapOptions { most: max_pages, ..LeapOptions::default() })),
        "spatial" => Box::new(Spatial::new(SpatialOptions {
            least: max_pages.min(1),
            most: max_pages,
            ..SpatialOptions::default()
        })),
        Adaptive::NAME => Box::new(Adaptive::new(max_pages)),
        PROXIMITY => Box::new(Proximity::new(ProximityOptions {
            most: max_pages,
            ..ProximityOptions::default()
        })),
        _ => return None,
    })
}

/// As [`by_name`], for a program that uses the pages of `tape` in that order. The tape is read
/// while it is followed, a bounded way ahead, and only by the prefetcher that needs it.
pub fn by_name_with_tape<I>(name: &str, max_pages: u32, tape: I) -> Option<Box<dyn Prefetcher>>
where
    I: IntoIterator<Item = PageId>,
    I::IntoIter: Send + 'static,
{
    if name != "tape" {
        return by_name(name, max_pages);
    }
    let lookahead = max_pages as usize;
    let options =
        TapeOptions { lookahead, batch: 0, search: lookahead.saturating_add(TAPE_SEARCH) };
    Some(Box::new(Tape::new(tape, options)))
}
