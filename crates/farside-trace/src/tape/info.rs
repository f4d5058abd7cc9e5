//! What a tape says about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::PAGE_SHIFT;

/// What is known of a tape besides its steps.
///
/// It is kept as a JSON object in the header of the file. Keys that this version does not know end
/// up in `other` and are written back from there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TapeInfo {
    /// Binary logarithm of the page size in bytes, at most 63.
    #[serde(skip)]
    pub page_shift: u32,
    /// The program that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its arguments, without its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Its build id, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// How the pages to evict were chosen: `lru` or `min`.
    pub policy: String,
    /// Pages it was planned for, all threads together.
    pub capacity: u64,
    /// Pages of the local limit it was planned for.
    pub local_pages: u64,
    /// Pages of a microset (3PO, section 3.1).
    pub microset: u64,
    /// Most threads that have steps, from 1 to [`MAX_THREADS`](super::MAX_THREADS).
    pub threads: u32,
    /// Anything else.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

impl TapeInfo {
    /// The keys that `other` must not have.
    pub(super) const KEYS: [&'static str; 8] = [
        "program",
        "arguments",
        "build_id",
        "policy",
        "capacity",
        "local_pages",
        "microset",
        "threads",
    ];
}

impl Default for TapeInfo {
    fn default() -> Self {
        Self {
            page_shift: PAGE_SHIFT,
            program: None,
            arguments: Vec::new(),
            build_id: None,
            policy: "lru".into(),
            capacity: 0,
            local_pages: 0,
            microset: 1,
            threads: 1,
            other: BTreeMap::new(),
        }
    }
}
