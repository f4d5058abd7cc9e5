//! Memory shared out among programs by what they miss (PATH, section 4.2).
//!
//! The same rules serve traces of programs that have run and programs that run now: whoever knows what a program misses
//! with how much memory describes it as a [`Program`].
//!
//! - [`Sharing`]: programs, their memory, and what is wanted; equal shares, and PATH's greedy exchanges from there on.
//! - [`fairness`]: the least with which nobody is slowed down more than need be.
//! - [`fair()`]: by weights alone.
//! - [`share_out`]: what `farside balance` does for programs that run, with floors, users, and a preference for what is.
//! - [`orders`]: how limits come from what they are to what they are to be.

mod ahead;
mod exchange;
mod fair;
pub mod fairness;
mod goal;
mod moves;
mod running;
mod sharing;

pub use fair::{Claim, fair};
pub use moves::{Standing, orders};
pub use running::{Member, Rule, SeenCurve, TooLittle, share_out};

pub use goal::{Goal, Value};
pub use sharing::{Impossible, MOST_PROGRAMS, Program, Sharing};
