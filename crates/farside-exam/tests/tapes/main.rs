//! Recording real programs, and running them from tapes.

mod auto;
mod bench;
mod follow;
mod part;
mod read_ahead;
mod record;
mod report;
