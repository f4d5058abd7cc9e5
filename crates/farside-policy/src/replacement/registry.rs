//! Replacement policies by the name a user selects them by.

use super::{
    Arc, Clock, ClockPro, Eden, Fifo, Lirs, LirsOptions, Lru, MOST_PRIORITIES, Mru, Priority,
    RegionSpecific, ReplacementPolicy, S3Fifo, SecondChance, TwoQueue,
};

/// Name and one-line description of every policy that works with the accesses a run can see.
pub const NAMES: &[(&str, &str)] = &[
    ("fifo", "evict in order of arrival; costs nothing while pages stay"),
    ("second-chance", "evict in order of arrival, but spare pages used while about to leave"),
    ("priority", "evict what the program gave the highest priority, in order of arrival"),
    ("eden", "Eden's timestamped lists: LRU in a few steps, with priorities"),
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
