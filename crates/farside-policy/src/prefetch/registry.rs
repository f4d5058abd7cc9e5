//! Prefetchers by the name a user selects them by.

use super::{
    FixedReadahead, Leap, LeapOptions, LinuxWindow, NoPrefetch, Prefetcher, Spatial,
    SpatialOptions, SwapCluster,
};

/// Name and one-line description of every prefetcher.
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
];

/// A new prefetcher that fetches at most `max_pages` pages with a fault, or `None` if none has that
/// name.
pub fn by_name(name: &str, max_pages: u32) -> Option<Box<dyn Prefetcher>> {
    Some(match name {
        "none" => Box::new(NoPrefetch),
        "readahead" => Box::new(FixedReadahead::new(max_pages)),
        "linux" => Box::new(LinuxWindow::new(max_pages)),
        "linux-swap" => Box::new(SwapCluster::new(max_pages)),
        "leap" => Box::new(Leap::new(LeapOptions { most: max_pages, ..LeapOptions::default() })),
        "spatial" => Box::new(Spatial::new(SpatialOptions {
            least: 1.min(max_pages),
            most: max_pages,
            ..SpatialOptions::default()
        })),
        _ => return None,
    })
}
