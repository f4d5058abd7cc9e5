//! The exam: programs nobody changed, run on far memory at several local limits, whose outputs must be
//! byte for byte those of a plain run.
//!
//! Every file in `tests/exam/` examines one program. The sizes are reduced ones unless
//! `FARSIDE_EXAM_FULL` is set, and run at the levels from 25 % upwards unless `FARSIDE_EXAM_LEAST` names
//! a lower one; `FARSIDE_EXAM_PLAIN=1` compares plain runs with plain runs, which
//! examines the exam.
//! `FARSIDE_BIN` names the command to examine; without it that is `target/release/farside`.

mod build;
mod certificates;
mod churn;
mod cluster;
mod exam;
mod network;
mod node;
mod program;
mod server;
mod sizes;
mod skip;
mod text;
mod tree;

pub use build::{compile, compile_with, source};
pub use certificates::{Authority, Identity, text};
pub use churn::Churn;
pub use cluster::Cluster;
pub use exam::{Exam, LEVELS, Place, counter_of_run, farside, plain_only};
pub use network::{Machine, Network};
pub use node::Node;
pub use program::{Finished, Program, Running};
pub use server::{connect, read_reply, wait_for_file};
pub use sizes::{full, pick};
pub use skip::{PYTHON, has_numpy, has_program, skipped};
pub use text::{Random, lines, write_lines};
pub use tree::files;
