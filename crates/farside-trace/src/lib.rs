//! Pages, page traces and their file formats.

mod page;
mod reader;

pub use page::{PAGE_SHIFT, PAGE_SIZE, PageId, PageRange};
pub use reader::{TraceError, TraceFormat, TraceReader};
