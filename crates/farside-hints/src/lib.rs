//! What a program in Rust may tell Farside: what it is about to use. The same as `farside.h` for C and C++, which says
//! more about when hints are worth it.
//!
//! ```
//! # let (rows, order) = (vec![[7u64; 64]; 100], vec![3usize, 99, 4]);
//! # let mut total = 0;
//! for &i in &order {
//!     farside_hints::hint(&rows[i]);
//!     total += rows[i][0];
//! }
//! # assert_eq!(total, 21);
//! ```
//!
//! If the row is here, the hint is a look at a table; if not, it fetches all pages of the row without a detour through
//! the kernel. Tasks need not wait for that: [`resident`] is a future that is ready when it is done, with any executor.
//!
//! ```
//! # struct Bucket(u64);
//! async fn look_up(bucket: &Bucket) -> u64 {
//!     farside_hints::resident(bucket).await;
//!     bucket.0
//! }
//! # assert_eq!(tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(look_up(&Bucket(7))), 7);
//! ```
//!
//! A hint never changes what a program computes. Without Farside - that is, but in `farside run` - all of this does
//! nothing, at the cost of a comparison.

mod hint;
mod list;
mod pinned;
mod resident;
mod sweep;
mod view;

pub use hint::{Hint, hint};
pub use list::ahead;
pub use pinned::{NoRoom, Pinned};
pub use resident::{Resident, resident};
pub use sweep::Sweep;
