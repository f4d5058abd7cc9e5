//! What a capture says at its end.

use serde::Serialize;

use super::recorder::Recorded;
use crate::options::Size;
use crate::run::{Ending, grouped};

/// A capture as a whole.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Program as it was named.
    pub program: String,
    /// The trace file.
    pub trace: String,
    /// How the program ended.
    pub ending: Ending,
    /// Data accesses that it made.
    pub accesses: u64,
    /// Records in the trace.
    pub records: u64,
    /// Distinct pages that it accessed.
    pub pages: u64,
    /// Threads that were traced.
    pub threads: u64,
    /// Threads that were not, for want of a lane.
    pub untraced_threads: u64,
    /// Child processes, which are not traced.
    pub untraced_children: u64,
    /// Programs that its children became.
    pub untraced_programs: u64,
    /// Whether the program became another one by `exec`, untraced from there on.
    pub replaced: bool,
    /// Bytes in the trace file.
    pub bytes: u64,
    /// Wall-clock time.
    pub elapsed_seconds: f64,
}

impl Summary {
    /// Takes over what was recorded.
    pub fn record(&mut self, recorded: Recorded) {
        self.accesses = recorded.accesses;
        self.records = recorded.records;
        self.pages = recorded.pages;
    }

    /// One line.
    pub fn line(&self) -> String {
        let threads = counted(self.threads, "thread", "threads");
        format!(
            "captured {}: {} accesses in {} records, {} pages, {threads}, {:.2} s; {} in {}",
            self.program,
            grouped(self.accesses),
            grouped(self.records),
            grouped(self.pages),
            self.elapsed_seconds,
            Size(self.bytes),
            self.trace,
        )
    }

    /// What the trace lacks, a line for each.
    pub fn gaps(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.replaced {
            lines.push(
                "the program replaced itself by exec; what it became was not traced. \
                 Capture that program directly"
                    .to_owned(),
            );
        }
        if self.untraced_children > 0 {
            let programs = match self.untraced_programs {
                0 => String::new(),
                n => format!(", nor {} that they became", counted(n, "program", "programs")),
            };
            let children = counted(self.untraced_children, "child process", "child processes");
            lines.push(format!("not traced: {children}{programs}"));
        }
        if self.untraced_threads > 0 {
            let threads = counted(self.untraced_threads, "thread", "threads");
            let most = super::stream::LANES;
            lines.push(format!("not traced: {threads}; there were more than {most} at once"));
        }
        if self.ending == Ending::Killed(libc::SIGILL) {
            lines.push(
                "it died by an illegal instruction: the emulated processor has no AVX-512, and \
                 the program used it, or something like it, without asking"
                    .to_owned(),
            );
        }
        lines
    }
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}
