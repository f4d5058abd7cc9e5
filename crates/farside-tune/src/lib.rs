//! Finds the cache sections of a program by itself (Mira, chapter 3): which functions suffer, which of the objects that
//! they use get sections, and the lines, structures and sizes of these.
//!
//! Decisions only: what the compiler tells of a program ([`Candidates`]) and what a run of it measured ([`Profile`],
//! and the accesses in [`trace`]) come in, a [`Configuration`] goes out. Building, running and comparing is the
//! matter of `farside tune`.

mod cache;
mod candidates;
mod configuration;
mod cost;
mod grouping;
mod layouts;
mod lines;
mod objects;
mod phases;
mod profile;
mod significance;
mod sizes;
mod suffering;
mod threads;
pub mod trace;

pub use cache::{Counts, Sampled, Ways};
pub use candidates::{Access, Candidates, Function, Kind, Site};
pub use configuration::{Configuration, Section, SitePlace};
pub use cost::{Calibration, Network};
pub use grouping::{Pattern, Proposal, group};
pub use layouts::{Layout, STEP, WINDOW, capacities, larger, layouts, usual};
pub use lines::Lines;
pub use objects::{Chosen, Thresholds, choose};
pub use phases::Uses;
pub use profile::{FunctionProfile, Profile, SectionProfile, SiteProfile};
pub use significance::{Verdict, compare_in_turn, level};
pub use sizes::{Choice, NoRoom, Part, Sizes, left_over, solve};
pub use suffering::{Overheads, Suffering, rank};
pub use threads::{Apart, Each, Users};
