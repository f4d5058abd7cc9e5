//! Traces in formats for data analysis.

mod columns;

pub use columns::{ColumnFormat, ColumnsExport};
