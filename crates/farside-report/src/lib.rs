//! Charts, reports, and traces in formats for data analysis.

pub mod chart;
mod columns;
pub mod report;
pub mod stacks;

pub use columns::{ColumnFormat, ColumnsExport};
