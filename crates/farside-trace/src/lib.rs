//! Pages, page traces, tapes, and their file formats.

mod access;
mod error;
pub mod export;
mod file;
pub mod import;
mod metadata;
mod page;
mod reader;
mod sample;
pub mod synthetic;
pub mod tape;

pub use access::{Access, Block, Mapping, MappingChange, MappingEvent};
pub use error::TraceError;
pub use file::{
    BLOCK_ACCESSES, BlockBuilder, BlockWriter, Cut, EncodedBlock, MAX_METADATA_BYTES,
    MAX_NAME_BYTES, NameTooLong, Summary, TraceWriter, VERSION,
};
pub use metadata::{Filter, Metadata};
pub use page::{PAGE_SHIFT, PAGE_SIZE, PageId, PageRange};
pub use reader::{Accesses, Record, Records, TraceFormat, TraceReader};
pub use sample::{PageSample, page_hash, pick_by_hash};
