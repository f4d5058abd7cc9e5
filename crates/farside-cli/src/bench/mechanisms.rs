//! `farside bench mechanisms`: what the kernel charges for the operations that paging is made of.
//!
//! Every operation that stands in for another is shown beside it; the goal of such a row is what the
//! design counts on. The other rows are there to be the measure of others.

mod batches;
mod faults;

use std::collections::HashMap;
use std::io::Result;

use clap::Args;

use super::row::{Goal, Row, median};
use super::uffd::Pages;
use super::{Failure, Shared, skip};
use crate::progress::Progress;

/// Options of `farside bench mechanisms`.
#[derive(Debug, Args)]
pub(crate) struct MechanismsArgs {
    /// Pages each operation is done to, per repetition
    #[arg(long, default_value_t = 16384, value_parser = clap::value_parser!(u32).range(1024..=1 << 20))]
    pages: u32,
}

/// One operation: its name, how to time it in nanoseconds per page, and what it stands in for.
struct Mechanism {
    name: &'static str,
    measure: fn(usize) -> Result<f64>,
    instead_of: Option<(&'static str, Goal)>,
}

const fn plain(name: &'static str, measure: fn(usize) -> Result<f64>) -> Mechanism {
    Mechanism { name, measure, instead_of: None }
}

const fn against(
    name: &'static str,
    measure: fn(usize) -> Result<f64>,
    partner: &'static str,
    goal: Goal,
) -> Mechanism {
    Mechanism { name, measure, instead_of: Some((partner, goal)) }
}

const POLLED: &str = "missing fault -> handler in poll -> UFFDIO_COPY -> wake";
const COPY_1: &str = "UFFDIO_COPY, 1 page a call";
const COPY_16: &str = "UFFDIO_COPY, 16 pages a call";
const COPY_64: &str = "UFFDIO_COPY, 64 pages a call";
const DROP_1: &str = "madvise(MADV_DONTNEED), 1 page a call";
const DROP_64: &str = "madvise(MADV_DONTNEED), 64 pages a call";
const MEMCPY: &str = "memcpy of a warm page";

const MECHANISMS: &[Mechanism] = &[
    plain(MEMCPY, batches::memcpy),
    plain("first touch, served by the kernel", faults::first_touch),
    plain(POLLED, faults::polled),
    plain("the same, handler spinning", faults::spinning),
    against(
        "missing fault as SIGBUS -> UFFDIO_COPY",
        faults::sigbus_copy,
        POLLED,
        Goal::AtMost(1.0),
    ),
    against(
        "missing fault as SIGBUS -> UFFDIO_MOVE",
        faults::sigbus_move,
        POLLED,
        Goal::AtMost(1.0),
    ),
    against(
        "minor fault as SIGBUS -> UFFDIO_CONTINUE",
        faults::sigbus_continue,
        POLLED,
        Goal::AtMost(1.0),
    ),
    plain("PROT_NONE as SIGSEGV -> mprotect", faults::sigsegv),
    plain(COPY_1, batches::copy::<1>),
    plain("UFFDIO_COPY, 4 pages a call", batches::copy::<4>),
    plain(COPY_16, batches::copy::<16>),
    plain(COPY_64, batches::copy::<64>),
    against("UFFDIO_MOVE, 1 page a call", batches::mv::<1>, COPY_1, Goal::AtMost(1.25)),
    plain("UFFDIO_MOVE, 4 pages a call", batches::mv::<4>),
    against("UFFDIO_MOVE, 16 pages a call", batches::mv::<16>, COPY_16, Goal::Faster(2.0)),
    against("UFFDIO_MOVE, 64 pages a call", batches::mv::<64>, COPY_64, Goal::Faster(4.0)),
    plain("UFFDIO_MOVE, 256 pages a call", batches::mv::<256>),
    plain("UFFDIO_MOVE, single scattered pages", batches::mv_scattered),
    plain("UFFDIO_CONTINUE, 1 page a call", batches::resume::<1>),
    plain("UFFDIO_CONTINUE, 16 pages a call", batches::resume::<16>),
    against("UFFDIO_CONTINUE, 64 pages a call", batches::resume::<64>, COPY_64, Goal::Faster(2.0)),
    plain("UFFDIO_CONTINUE, 256 pages a call", batches::resume::<256>),
    plain("UFFDIO_WRITEPROTECT, 1 page a call", batches::protect::<1>),
    plain("UFFDIO_WRITEPROTECT, 16 pages a call", batches::protect::<16>),
    plain("UFFDIO_WRITEPROTECT, 64 pages a call", batches::protect::<64>),
    plain("UFFDIO_WRITEPROTECT, 256 pages a call", batches::protect::<256>),
    against("write to a WP_ASYNC page", faults::wp_async, POLLED, Goal::Faster(2.0)),
    plain("PAGEMAP_SCAN of written pages", batches::scan::<false>),
    plain("PAGEMAP_SCAN, protecting again", batches::scan::<true>),
    plain(DROP_1, batches::drop_run::<1>),
    plain("madvise(MADV_DONTNEED), 16 pages a call", batches::drop_run::<16>),
    plain(DROP_64, batches::drop_run::<64>),
    plain("madvise(MADV_DONTNEED), 256 pages a call", batches::drop_run::<256>),
    plain("process_madvise(MADV_DONTNEED), 1 scattered page", batches::drop_vector::<1>),
    plain("process_madvise(MADV_DONTNEED), 16 scattered pages", batches::drop_vector::<16>),
    against(
        "process_madvise(MADV_DONTNEED), 64 scattered pages",
        batches::drop_vector::<64>,
        DROP_1,
        Goal::Faster(2.0),
    ),
    plain("process_madvise(MADV_DONTNEED), 256 scattered pages", batches::drop_vector::<256>),
    plain("zap of a shared mapping, 1024 pages a call", batches::zap_shared),
    against("fallocate(PUNCH_HOLE), 64 pages a call", batches::punch, DROP_64, Goal::AtMost(10.0)),
    plain("scan of a page for pointers into a range", batches::pointers),
];

/// Pages that are dropped in one comparison of ways to do it.
const DROPPED: usize = 16_384;

/// Dropping scattered pages, 64 in a call, beside each by itself: alone, and while another thread keeps a second processor
/// busy, which has to be told of each page that goes. That is what an evictor does beside the program, and what Eden's
/// authors measured, on several cores that drop at once (sections 2.2 and 5.4).
pub(crate) fn scattered_drops(
    shared: &Shared,
    progress: &Progress,
) -> std::result::Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for beside in [false, true] {
        let work = format!(
            "64 scattered pages dropped in one call, beside single calls{}",
            if beside { ", another thread running" } else { "" }
        );
        let (mut together, mut singly) = (Vec::new(), Vec::new());
        let measured = batches::while_running(beside, || {
            for round in 0..=shared.repetitions {
                progress.say(format!("{work}, round {round} of {}", shared.repetitions));
                let (one, other) =
                    (batches::drop_vector::<64>(DROPPED)?, batches::drop_scattered(DROPPED)?);
                // The first round warms up.
                if round > 0 {
                    together.push(one);
                    singly.push(other);
                }
            }
            Ok(())
        });
        if let Err(error) = measured {
            skip(&work, &error.to_string());
            continue;
        }
        let (ours, partner) = (median(&together), Some(median(&singly)));
        rows.push(Row { work, ours, partner, unit: "ns/page", goal: Some(Goal::Faster(5.0)) });
    }
    Ok(rows)
}

/// Measures all mechanisms that this kernel has, in rounds, and takes medians.
pub(crate) fn run(
    args: &MechanismsArgs,
    shared: &Shared,
    progress: &Progress,
) -> std::result::Result<Vec<Row>, Failure> {
    let pages = args.pages as usize;
    // The machine below hands out its memory now, not while something is timed.
    Pages::anonymous(4 * pages).map_err(|e| Failure::io("mmap", &e))?.fill(1);
    let mut figures: HashMap<&str, Vec<f64>> = HashMap::new();
    let mut missing: HashMap<&str, String> = HashMap::new();
    for round in 0..=shared.repetitions {
        for mechanism in MECHANISMS {
            if missing.contains_key(mechanism.name) {
                continue;
            }
            progress.say(format!("round {round} of {}: {}", shared.repetitions, mechanism.name));
            match (mechanism.measure)(pages) {
                // The first round warms up.
                Ok(ns) if round > 0 => figures.entry(mechanism.name).or_default().push(ns),
                Ok(_) => {}
                Err(error) => {
                    missing.insert(mechanism.name, error.to_string());
                }
            }
        }
    }
    progress.finish();
    for mechanism in MECHANISMS {
        if let Some(why) = missing.get(mechanism.name) {
            skip(mechanism.name, why);
        }
    }
    let of = |name: &str| figures.get(name).map(|figures| median(figures));
    Ok(MECHANISMS
        .iter()
        .filter_map(|mechanism| {
            let partner = mechanism.instead_of.and_then(|(name, _)| of(name));
            Some(Row {
                work: mechanism.name.into(),
                ours: of(mechanism.name)?,
                partner,
                unit: "ns/page",
                goal: mechanism.instead_of.filter(|_| partner.is_some()).map(|(_, goal)| goal),
            })
        })
        .collect())
}
