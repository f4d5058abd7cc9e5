//! What the running kernel and the current user may do.
//!
//! Everything here asks the kernel itself and, where an answer could be a lie (a feature bit that a
//! security module or a container takes back), really tries the operation on scratch memory. Nothing
//! is concluded from version numbers or from the headers of the building machine.

mod limits;
mod machine;
mod memory;
mod userfault;

pub use limits::{Limits, limits};
pub use machine::{Cgroup, HaltPoll, Machine, machine};
pub use memory::{huge_file, memfd, page_size, pagemap_scan, pidfd, process_madvise};
pub use userfault::{
    DEVICE, FEATURES, Feature, OpenFailure, Route, Userfault, copy_and_protect, fork_events,
    move_pages, open, userfault,
};
