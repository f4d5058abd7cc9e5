//! Charts, reports, and traces in formats for data analysis.

pub mod chart;
mod columns;

pub use columns::{ColumnFormat, ColumnsExport};
