//! Pages, page traces and their file formats.

mod page;

pub use page::{PAGE_SHIFT, PAGE_SIZE, PageId, PageRange};
