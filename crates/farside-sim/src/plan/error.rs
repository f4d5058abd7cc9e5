//! Why a trace cannot be planned.

use farside_trace::PageId;

/// Why a trace, or the memory it is planned for, cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A thread would get no page.
    #[error(
        "{capacity} pages for {threads} threads: each thread needs at least one page; plan for more \
         memory"
    )]
    TooLittleMemory {
        /// Pages for all threads together.
        capacity: u64,
        /// Number of threads.
        threads: u32,
    },
    /// More threads than the memory was shared among.
    #[error(
        "thread {thread} at access {access} is one more than the {threads} threads that memory is \
         shared among; count the threads of the same trace that is planned"
    )]
    TooManyThreads {
        /// The thread.
        thread: u32,
        /// Number of its access.
        access: u64,
        /// Number of threads.
        threads: u32,
    },
    /// A thread has more records than can be planned at once.
    #[error(
        "thread {thread} has more than {} records; plan with LRU, or record with a larger microset",
        u32::MAX - 1
    )]
    TooLong {
        /// The thread.
        thread: u32,
    },
    /// More pages than can be numbered.
    #[error(
        "the trace has more than {} pages; this is more than can be planned",
        super::pages::MOST_PAGES
    )]
    TooManyPages,
    /// A region's pages lie beyond what a region may have.
    #[error(
        "{name:?} with {count} pages, before access {access}: a region may have {} pages; the trace \
         is damaged or not from `farside record`",
        super::REGION_PAGES
    )]
    RegionTooLarge {
        /// Name of the mapping.
        name: String,
        /// Pages of the mapping.
        count: u64,
        /// Number of the access before which it appeared.
        access: u64,
    },
    /// More regions than can be numbered.
    #[error("the trace has more than {} regions; this is more than can be planned", u32::MAX)]
    TooManyRegions,
    /// A page of no region, in a trace that has regions, lies where theirs are.
    #[error(
        "page {} is in no region and no page of a far region, which are below {}; the trace is \
         damaged or not from `farside record`",
        .page.0,
        super::REGION_PAGES
    )]
    PageBeyond {
        /// The page.
        page: PageId,
    },
}
