//! The golden traces and tables.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

#[allow(unused_imports, reason = "not every test file looks at tables")]
pub use farside_golden::{folder as golden, table};
use farside_trace::{PageId, TraceReader};

fn number(field: &str) -> u64 {
    field.parse().unwrap_or_else(|_| panic!("{field:?} is not a number"))
}

/// Expected misses of a policy.
#[allow(dead_code, reason = "not every test file looks at misses")]
pub struct MissRow {
    pub trace: String,
    pub policy: String,
    pub pages: usize,
    pub misses: u64,
}

/// All expected misses.
#[allow(dead_code, reason = "not every test file looks at misses")]
pub fn miss_rows(golden: &Path) -> Vec<MissRow> {
    let row = |fields: Vec<String>| MissRow {
        trace: fields[0].clone(),
        policy: fields[1].clone(),
        pages: number(&fields[2]) as usize,
        misses: number(&fields[4]),
    };
    table(&golden.join("expected/miss_counts.tsv")).into_iter().map(row).collect()
}

/// References by LRU stack distance, and first references.
#[allow(dead_code, reason = "not every test file looks at distances")]
pub struct MrcTable {
    pub trace: String,
    pub cold: u64,
    pub counts: Vec<(usize, u64)>,
}

/// All expected distances.
#[allow(dead_code, reason = "not every test file looks at distances")]
pub fn mrc_tables(golden: &Path) -> Vec<MrcTable> {
    let folder = golden.join("expected/lru_mrc");
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    files
        .map(|file| {
            let path = file.expect("a readable folder").path();
            let text = fs::read_to_string(&path).expect("a readable table");
            let cold = text.lines().find_map(|line| line.strip_prefix("# cold\t")).expect("cold");
            let counts = table(&path)
                .into_iter()
                .map(|fields| (number(&fields[0]) as usize, number(&fields[1])))
                .collect();
            let cold = number(cold);
            let trace = path.file_stem().expect("a name").to_string_lossy().into_owned();
            MrcTable { trace, cold, counts }
        })
        .collect()
}

/// Golden traces by name, each read once.
#[allow(dead_code, reason = "not every test file reads a trace")]
pub struct Traces {
    folder: PathBuf,
    read: HashMap<String, Option<Vec<PageId>>>,
}

#[allow(dead_code, reason = "not every test file reads a trace")]
impl Traces {
    pub fn new(golden: &Path) -> Self {
        Self { folder: golden.join("traces"), read: HashMap::new() }
    }

    /// The trace, or `None` if it is not among the golden files.
    pub fn get(&mut self, name: &str) -> Option<&[PageId]> {
        let folder = &self.folder;
        let trace = self.read.entry(name.to_owned()).or_insert_with(|| {
            let path = ["", ".zst", ".u64.zst", ".txt"]
                .into_iter()
                .map(|ending| folder.join(format!("{name}{ending}")))
                .find(|path| path.is_file())?;
            let pages: Result<_, _> = TraceReader::open(path).expect("a golden trace").collect();
            Some(pages.expect("an intact golden trace"))
        });
        trace.as_deref()
    }
}
