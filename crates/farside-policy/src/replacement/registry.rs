//! Replacement policies by the name a user selects them by.

use super::{
    Adaptive, Arc, Bimodal, Clock, ClockPro, Eden, Fifo, Lirs, LirsOptions, Lru, MOST_PRIORITIES,
    Mru, Priority, RegionSpecific, RegionsInRun, ReplacementPolicy, S3Fifo, SecondChance, TwoQueue,
    Watching, WatchingOptions,
};

/// Name and one-line description of every policy that works with the accesses a run can see.
pub const NAMES: &[(&str, &str)] = &[
    ("fifo", "evict in order of arrival; costs nothing while pages stay"),
    ("second-chance", "evict in order of arrival, but spare pages used while about to leave"),
    ("priority", "evict what the program gave the highest priority, in order of arrival"),
    ("eden", "Eden's timestamped lists: LRU in a few steps, with priorities"),
    (
        Bimodal::NAME,
        "keep what is here, and of what comes one page in 32; for loops over more than fits",
    ),
    (Adaptive::NAME, "second chance or bimodal, whichever lets fewer pages leave that come back"),
];

/// The same for policies that want to see every access, and make do with what can be seen in a run: see [`Watching`].
pub const BY_WATCHING: &[(&str, &str)] = &[
    ("lru", "evict what was not used for longest, as far as is known"),
    ("mru", "evict what came last, but for the very last: for loops over more than fits"),
    ("clock", "CLOCK, as far as uses are known"),
    ("lirs", "LIRS: keep what comes back soonest, as far as uses are known; for loops and scans"),
    (
        RegionsInRun::NAME,
        "PATH's: LRU or MRU for each large allocation, and memory where it helps most, by what tracking tells",
    ),
];

/// The same for policies that have to see every access, as in a simulation.
pub const OMNISCIENT: &[(&str, &str)] = &[
    ("lru", "evict what was not used for longest"),
    ("mru", "evict what was used last"),
    ("clock0", "CLOCK; a page arrives with its reference bit clear"),
    ("clock1", "CLOCK; a page arrives with its reference bit set"),
    ("2q", "2Q: pages used again after they had left stay, scans pass by"),
    ("arc", "ARC: recency and frequency, balanced by hits on what left"),
    ("lirs", "LIRS: evict by the time between the last two uses; repeats ignored"),
    ("lirs-dup", "LIRS, with every reference counted"),
    ("lirs-bounded", "LIRS that remembers no more pages than memory holds, much as libCacheSim's"),
    ("clock-pro", "CLOCK-Pro: LIRS by reference bits; the share of pages that leave next adapts"),
    ("region", "LRU or MRU for each region of the address space, and memory where it helps most"),
    ("s3-fifo", "S3-FIFO: a small queue that most pages leave from, and a main one"),
];

/// What to do with a policy whose type is known by name only.
pub trait PolicyVisitor {
    /// What comes of it.
    type Output;

    /// Takes the policy.
    fn visit<P: ReplacementPolicy + 'static>(self, policy: P) -> Self::Output;
}

/// Gives a new policy with its default parameters to `visitor`; `None` if none has that name.
///
/// So code that calls a policy for every access is compiled for each of them.
pub fn visit_by_name<V: PolicyVisitor>(name: &str, visitor: V) -> Option<V::Output> {
    Some(match name {
        "fifo" => visitor.visit(Fifo::new()),
        "second-chance" => visitor.visit(SecondChance::new()),
        "lru" => visitor.visit(Lru::new()),
        "mru" => visitor.visit(Mru::new()),
        "clock0" => visitor.visit(Clock::new(false)),
        "clock1" => visitor.visit(Clock::new(true)),
        "2q" => visitor.visit(TwoQueue::new()),
        "arc" => visitor.visit(Arc::new()),
        "lirs" => visitor.visit(Lirs::new()),
        "lirs-dup" => visitor.visit(Lirs::with_options(
            "lirs-dup",
            LirsOptions { repeats_count: true, ..LirsOptions::default() },
        )),
        "lirs-bounded" => visitor.visit(Lirs::with_options(
            "lirs-bounded",
            LirsOptions { most_ghosts: Some(1), ..LirsOptions::default() },
        )),
        "clock-pro" => visitor.visit(ClockPro::new()),
        "eden" => visitor.visit(Eden::new()),
        // As many as `farside.h` promises.
        "priority" => visitor.visit(Priority::with_priorities(MOST_PRIORITIES)),
        Bimodal::NAME => visitor.visit(Bimodal::new()),
        Adaptive::NAME => visitor.visit(Adaptive::new()),
        "region" => visitor.visit(RegionSpecific::new()),
        "s3-fifo" => visitor.visit(S3Fifo::new()),
        _ => return None,
    })
}

/// A new policy with its default parameters, or `None` if none has that name.
pub fn by_name(name: &str) -> Option<Box<dyn ReplacementPolicy>> {
    struct Boxed;
    impl PolicyVisitor for Boxed {
        type Output = Box<dyn ReplacementPolicy>;

        fn visit<P: ReplacementPolicy + 'static>(self, policy: P) -> Self::Output {
            Box::new(policy)
        }
    }
    visit_by_name(name, Boxed)
}

/// Name and one-line description of every policy that a run can have.
pub fn of_runs() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().chain(BY_WATCHING).copied()
}

/// A new policy for a run, where only those accesses are seen that a policy asks for; `None` if none has that name.
pub fn in_run(name: &str) -> Option<Box<dyn ReplacementPolicy>> {
    let watching = WatchingOptions::default();
    let bounded = LirsOptions { most_ghosts: Some(1), ..LirsOptions::default() };
    Some(match name {
        "lru" => Box::new(Watching::new("lru", Lru::new(), watching)),
        // What it evicts came just before: whether it was used since does not matter.
        "mru" => {
            Box::new(Watching::new("mru", Mru::new(), WatchingOptions { watched: 0, ..watching }))
        }
        "clock" => Box::new(Watching::new("clock", Clock::new(false), watching)),
        "lirs" => Box::new(Watching::new("lirs", Lirs::with_options("lirs", bounded), watching)),
        RegionsInRun::NAME => Box::new(RegionsInRun::new()),
        _ if NAMES.iter().any(|(known, _)| *known == name) => return by_name(name),
        _ => return None,
    })
}
