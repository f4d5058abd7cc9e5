//! Prefetchers by the name a user selects them by.

use super::{FixedReadahead, LinuxWindow, NoPrefetch, Prefetcher};

/// Name and one-line description of every prefetcher.
pub const NAMES: &[(&str, &str)] = &[
    ("none", "fetch only what is asked for"),
    ("readahead", "fetch a fixed number of pages after each fault"),
    ("linux", "a window per stream that grows while accesses are sequential, as in Linux"),
];

/// A new prefetcher that fetches at most `max_pages` pages with a fault, or `None` if none has that
/// name.
pub fn by_name(name: &str, max_pages: u32) -> Option<Box<dyn Prefetcher>> {
    Some(match name {
        "none" => Box::new(NoPrefetch),
        "readahead" => Box::new(FixedReadahead::new(max_pages)),
        "linux" => Box::new(LinuxWindow::new(max_pages)),
        _ => return None,
    })
}
