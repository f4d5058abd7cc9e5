//! What a run counts, in memory shared with the supervisor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use farside_far::Health;

use crate::curve::{Curve, ShownCurve};
use crate::held::{Held, ShownHeld};
use crate::ordered::OrderedLimit;

/// First word of a counters block: "farside" and the layout version.
pub const MAGIC: u64 = u64::from_le_bytes(*b"farside\x02");

/// Buckets of [`Counters::fault_ns`]: bucket `i` counts waits of `2^(i/4)` nanoseconds, in steps of a
/// quarter of a power of two.
pub const FAULT_BUCKETS: usize = 128;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one process. All of them only grow, but for the ones described as levels.
        ///
        /// The block lies in a shared mapping that the supervisor reads while the program runs and
        /// after it died, however it died.
        #[repr(C)]
        #[derive(Debug)]
        pub struct Counters {
            /// [`MAGIC`] once the block is in use.
            pub magic: AtomicU64,
            $($(#[$doc])* pub $name: AtomicU64,)*
            /// How long demand faults took, from the message to the wake-up; see [`FAULT_BUCKETS`].
            pub fault_ns: [AtomicU64; FAULT_BUCKETS],
            /// How many misses there would be with other sizes of memory.
            pub curve: ShownCurve,
            /// The limit that the supervisor orders: the one thing here that it writes.
            pub ordered: OrderedLimit,
            /// What sections held.
            pub held: ShownHeld,
        }

        impl Counters {
            /// All counters at zero.
            pub const fn new() -> Self {
                Self {
                    magic: AtomicU64::new(0),
                    $($name: AtomicU64::new(0),)*
                    fault_ns: [const { AtomicU64::new(0) }; FAULT_BUCKETS],
                    curve: ShownCurve::new(),
                    ordered: OrderedLimit::new(),
                    held: ShownHeld::new(),
                }
            }

            /// A copy of the current values.
            pub fn snapshot(&self) -> Snapshot {
                Snapshot {
                    $($name: self.$name.load(Relaxed),)*
                    fault_ns: std::array::from_fn(|i| self.fault_ns[i].load(Relaxed)),
                    curve: self.curve.snapshot(),
                    recent: self.curve.recent(),
                    held: self.held.snapshot(),
                }
            }
        }

        /// Values of [`Counters`] at one moment.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Snapshot {
            $($(#[$doc])* pub $name: u64,)*
            /// How long demand faults took; see [`FAULT_BUCKETS`].
            pub fault_ns: [u64; FAULT_BUCKETS],
            /// How many misses there would be with other sizes of memory.
            pub curve: Curve,
            /// The same of the last seconds alone.
            pub recent: Curve,
            /// What sections held.
            pub held: Vec<Held>,
        }

        impl Snapshot {
            /// Names and values of all plain counters, in the order of their declaration.
            pub fn fields(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Level: the local limit in force, in bytes.
    limit_bytes,
    /// Level: bytes of program data held in local frames.
    resident_bytes,
    /// Highest value that `resident_bytes` ever had.
    resident_peak_bytes,
    /// Level: bytes of the far region that were touched and not freed since.
    footprint_bytes,
    /// Highest value that `footprint_bytes` ever had.
    footprint_peak_bytes,
    /// Level: bytes of the far region handed out to the program, touched or not.
    reserved_bytes,
    /// Faults in which the program waited for a far page that nobody had asked for.
    demand_faults,
    /// Faults on pages that were already on their way.
    late_hits,
    /// Faults on pages never written before.
    first_touch_faults,
    /// Faults on pages that were only unmapped to learn of their next use, or being evicted.
    soft_faults,
    /// Faults by the first write to a page fetched for reading.
    protection_faults,
    /// Faults that were already served when their turn came.
    spurious_faults,
    /// Hints that were more than a look at a page that is here.
    hints,
    /// Hints that found a page missing.
    hints_missing,
    /// Pages that hints brought in for the program to use at once.
    hinted_pages,
    /// Hints at ranges that go beyond far memory, or that cannot be meant.
    hints_astray,
    /// Level: pages that the program has pinned.
    held_pages,
    /// Level: bytes of local memory that sections have.
    section_bytes,
    /// Lines of sections that the program waited for, and that nobody had asked for.
    section_misses,
    /// Lines that the program waited for when they were already on their way.
    section_late,
    /// Lines that were asked for ahead of their use.
    section_ahead,
    /// Lines asked for ahead that are known to have been used.
    section_ahead_used,
    /// Lines asked for ahead that left without a use.
    section_ahead_unused,
    /// Lines read from the far store, at least in part.
    section_fetched,
    /// Bytes read for them, besides [`fetched_bytes`](Self::fetched_bytes).
    section_fetched_bytes,
    /// Lines that left sections.
    section_evicted,
    /// Those that needed no write.
    section_evicted_clean,
    /// Lines written to the far store, at least in part.
    section_written,
    /// Bytes written for them, besides [`written_bytes`](Self::written_bytes).
    section_written_bytes,
    /// Lines that were put beside their sets, in which all lines were pinned.
    section_beside,
    /// How often a section took over the local memory that it shares with others.
    section_takeovers,
    /// Calls of functions that ran where their data is.
    offload_calls,
    /// Calls that could have, and ran in the program.
    offload_here,
    /// Calls that did not come to their end there, and ran in the program.
    offload_failed,
    /// Pages brought in by a prefetcher, or ahead of what a hint is about.
    prefetched_pages,
    /// Prefetched pages that are known to have been touched.
    prefetched_used,
    /// Prefetched pages that left, or were freed, without a known touch although touches were watched.
    prefetched_unused,
    /// Prefetched pages that were sent for because of a pointer.
    pointer_pages,
    /// Places in pages that were looked at for pointers to follow.
    pointer_scanned,
    /// Pointers found there that lead to far pages, each as often as it was found.
    pointer_candidates,
    /// Pages of [`pointer_pages`](Self::pointer_pages) that are known to have been touched.
    pointer_used,
    /// Those that the program came to when they were still on their way.
    pointer_late,
    /// Those that left, or were freed, without a known touch although touches were watched.
    pointer_unused,
    /// Pages brought in without a fault of their own by one fault's batch of first touches.
    populated_pages,
    /// Bytes read from the far store.
    fetched_bytes,
    /// Bytes written to the far store.
    written_bytes,
    /// Pages evicted.
    evicted_pages,
    /// Evicted pages that needed no write because the far store still had them.
    evicted_clean,
    /// Evicted pages of which only the fact was kept that they were zero.
    evicted_zero,
    /// Frames made free before they were needed.
    freed_ahead,
    /// Pages the kernel refused to move that were evicted another way.
    move_fallbacks,
    /// Pages that could not be evicted when their turn came because the kernel held them.
    pinned_pages,
    /// Faults that told a tape's follower where the program is.
    tape_met,
    /// Faults that the tape did not expect then: on its pages, and on other ones that were far.
    tape_missed,
    /// Far pages that the tape does not know, and that were waited for, or foreseen without it.
    tape_unknown,
    /// Nanoseconds that the program waited in faults, but for those on pages that are new.
    waiting_ns,
    /// Faults on pages that were unmapped to see in which order pages are used.
    tracked_faults,
    /// Nanoseconds that seeing it took, faults included.
    tracking_ns,
    /// Level: pages of which is seen when they are used.
    tracked_pages,
    /// Level: pages held by the far store for this process.
    far_pages,
    /// Times this process forked.
    forks,
    /// Faults served by the sentinel because no handler got a processor in time.
    rescued_faults,
    /// Steps of a tape that the program has passed.
    tape_steps,
    /// Key pages whose use was a fault, which told where the program is.
    tape_keys_met,
    /// Key pages that the program passed without a fault.
    tape_keys_missed,
    /// How often a thread was taken to have left its tape.
    tape_lost,
    /// Pages that the node moved in or out while the program ran.
    moved_pages,
    /// Pages that the node was to move, but did not come to in time.
    recalled_pages,
    /// Reads that were sent to another memory node because the first did not answer in time.
    hedged_reads,
    /// Pages that came from a memory node, or to one, other than they were sent.
    damaged_pages,
    /// Copies of pages that memory nodes lost.
    lost_copies,
    /// Copies of pages made because there were too few.
    repaired_copies,
    /// Pages that were stored with fewer copies than there should be.
    degraded_pages,
    /// Level: pages of which there are fewer copies than there should be.
    lacking_pages,
    /// Milliseconds during which there were such pages.
    lacking_ms,
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl Counters {
    /// Adds `n` to a counter.
    #[inline]
    pub fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Relaxed);
    }

    /// Takes the levels over into the block of a forked child, which starts with the same pages.
    pub fn hand_over(&self, child: &Counters) {
        for (from, to) in [
            (&self.magic, &child.magic),
            (&self.resident_bytes, &child.resident_bytes),
            (&self.resident_bytes, &child.resident_peak_bytes),
            (&self.footprint_bytes, &child.footprint_bytes),
            (&self.footprint_bytes, &child.footprint_peak_bytes),
            (&self.reserved_bytes, &child.reserved_bytes),
            (&self.far_pages, &child.far_pages),
            (&self.held_pages, &child.held_pages),
            (&self.section_bytes, &child.section_bytes),
        ] {
            to.store(from.load(Relaxed), Relaxed);
        }
        // It has what its parent has, whatever was ordered for it.
        let has = self.resident_bytes.load(Relaxed) + self.section_bytes.load(Relaxed);
        let limit = self.limit_bytes.load(Relaxed);
        let begins = child.ordered.bytes().map_or(limit, |ordered| ordered.max(has).min(limit));
        child.limit_bytes.store(begins, Relaxed);
    }

    /// Takes over what the far store has seen of its nodes.
    pub fn note_health(&self, health: &Health) {
        for (counter, value) in [
            (&self.hedged_reads, health.hedged_reads),
            (&self.damaged_pages, health.damaged_pages),
            (&self.lost_copies, health.lost_copies),
            (&self.repaired_copies, health.repaired_copies),
            (&self.degraded_pages, health.degraded_pages),
            (&self.lacking_pages, health.lacking_pages),
            (&self.lacking_ms, health.lacking_ms),
        ] {
            counter.store(value, Relaxed);
        }
    }

    /// Counts one demand fault that took `ns` nanoseconds.
    pub fn record_fault_ns(&self, ns: u64) {
        self.fault_ns[fault_bucket(ns)].fetch_add(1, Relaxed);
    }
}

/// The bucket of [`Counters::fault_ns`] that holds waits of `ns` nanoseconds.
pub fn fault_bucket(ns: u64) -> usize {
    if ns < 4 {
        return 0;
    }
    let exponent = 63 - ns.leading_zeros() as usize;
    let quarter = (ns >> (exponent - 2)) as usize & 3;
    (exponent * 4 + quarter).min(FAULT_BUCKETS - 1)
}

/// Lowest wait, in nanoseconds, that falls into `bucket`.
pub fn fault_bucket_floor(bucket: usize) -> u64 {
    let (exponent, quarter) = (bucket / 4, (bucket % 4) as u64);
    if exponent < 2 { 0 } else { (4 + quarter) << (exponent - 2) }
}

impl Snapshot {
    /// The wait, in nanoseconds, that the share `q` (0 to 1) of demand faults stayed under; `None`
    /// when there was no demand fault.
    pub fn fault_quantile(&self, q: f64) -> Option<u64> {
        let total: u64 = self.fault_ns.iter().sum();
        if total == 0 {
            return None;
        }
        let rank = ((total as f64 * q).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        for (bucket, &count) in self.fault_ns.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let floor = fault_bucket_floor(bucket);
                return Some((floor + fault_bucket_floor(bucket + 1)) / 2);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_begins_with_what_was_ordered_for_it_or_what_it_has() {
        let begins = |ordered: Option<u64>, resident: u64| {
            let (parent, child) = (Counters::new(), Counters::new());
            parent.limit_bytes.store(80, Relaxed);
            parent.resident_bytes.store(resident, Relaxed);
            ordered.into_iter().for_each(|bytes| child.ordered.order(bytes));
            parent.hand_over(&child);
            child.limit_bytes.load(Relaxed)
        };
        assert_eq!([begins(None, 20), begins(Some(5), 20), begins(Some(30), 20)], [80, 20, 30]);
        assert_eq!(begins(Some(99), 20), 80, "it may grow by an order like any other");
    }

    #[test]
    fn buckets_are_monotone_and_hold_their_floor() {
        let mut last = 0;
        for ns in 0..100_000u64 {
            let bucket = fault_bucket(ns);
            assert!(bucket >= last);
            last = bucket;
            assert!(fault_bucket_floor(bucket) <= ns);
            if ns >= 4 {
                assert!(fault_bucket_floor(bucket + 1) > ns);
            }
        }
        assert!(fault_bucket(u64::MAX) < FAULT_BUCKETS);
    }

    #[test]
    fn quantile_finds_the_middle() {
        let counters = Counters::new();
        for ns in [1_000, 2_000, 4_000] {
            counters.record_fault_ns(ns);
        }
        let median = counters.snapshot().fault_quantile(0.5).unwrap();
        assert!((1_700..2_400).contains(&median), "{median}");
        assert_eq!(Counters::new().snapshot().fault_quantile(0.5), None);
    }
}
