//! Cache sections: local caches of far memory that a program looks into by itself.
//!
//! A *section* keeps *lines* of far memory, of 64 bytes to 2 MiB, in *slots*. The program names its data by remote
//! pointers, and finds a line that is here with a handful of instructions (`include/farside/section.h`); what is behind
//! the rest is [`Section`]. It is written against one seam, [`Host`]: the far store, local memory to borrow, and how to
//! wait. [`PagerHost`] is the real one, which shares all of that with the paged region.

mod ahead;
mod bring;
mod copies;
mod flush;
mod give_up;
mod group;
mod host;
mod index;
mod inner;
mod latency;
mod lines;
mod offload;
mod pointer;
mod registry;
mod room;
mod section;
mod select;
mod shape;
mod space;
mod transfer;
mod transit;
mod view;

pub use host::{Host, PagerHost, Uncounted};
pub use offload::{Experience, Side};
pub use pointer::{ID_SHIFT, MOST_SECTIONS, RemotePtr};
pub use registry::{AddError, Registry};
pub use section::{OpenError, Options, Section, SectionError};
pub use select::{BadFields, Field};
pub use shape::{BadShape, LEAST_LINE, MOST_LINE, Shape, Structure};
pub use view::View;
