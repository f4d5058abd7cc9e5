//! Recording real programs, and running them from tapes.

mod record;
