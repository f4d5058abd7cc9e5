//! Pages, page traces and their file formats.

mod access;
mod page;
mod reader;

pub use access::{Access, Mapping};
pub use page::{PAGE_SHIFT, PAGE_SIZE, PageId, PageRange};
pub use reader::{TraceError, TraceFormat, TraceReader};
