//! Recording real programs, and running them from tapes.

mod follow;
mod record;
mod report;
