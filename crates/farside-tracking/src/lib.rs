//! The order in which a running program uses its pages, and how many misses it would have with each size of memory, in
//! software: what stands in for PATH's hardware (sections 2 and 3).
//!
//! The hardware records each access to a page that is not among the hottest. Software sees an access to a page that is
//! mapped only if it had been unmapped before, and pays with a fault. So only a [sample](farside_trace::PageSample) of the pages is tracked,
//! as many as a [budget](Budget) allows. A tracked page is mapped when the program comes there, stays in the
//! [active set](ActiveSet) for as long as pages stay that are used again at once, and is unmapped then. How many tracked
//! pages the program came to meanwhile is known from their [stack](Stack), and makes a [curve](LiveCurve).
//!
//! Nothing here knows of time or memory: whoever maps and unmaps tells what the program came to, and is told what to
//! unmap.

mod active;
mod budget;
mod curve;
mod order;
mod stack;
mod tracker;

pub use active::ActiveSet;
pub use budget::{Budget, Typical, Verdict};
pub use curve::LiveCurve;
pub use order::{NO_SLOT, OrderedSlots};
pub use stack::Stack;
pub use tracker::{Tracker, TrackingOptions};
