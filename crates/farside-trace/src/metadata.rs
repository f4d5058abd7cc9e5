//! What a trace says about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::PAGE_SHIFT;

/// What is known of a trace besides its accesses.
///
/// It is kept as a JSON object in the header of the file. Keys that this version does not know end up
/// in `other` and are written back from there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Binary logarithm of the page size in bytes, at most 63.
    #[serde(skip)]
    pub page_shift: u32,
    /// The program that was traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its arguments, without its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// What made the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether consecutive accesses of one thread to one page became one record.
    pub merged: bool,
    /// What held accesses back before they came into the trace, in the order of application.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// Anything else.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

impl Default for Metadata {
    fn default() -> Self {
        Self {
            page_shift: PAGE_SHIFT,
            program: None,
            arguments: Vec::new(),
            tool: None,
            merged: false,
            filters: Vec::new(),
            other: BTreeMap::new(),
        }
    }
}

/// Something that holds accesses back, like a TLB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Its kind, for example `lru`.
    pub name: String,
    /// Its sizes, for example `entries`.
    pub parameters: BTreeMap<String, u64>,
}
