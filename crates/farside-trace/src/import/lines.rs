//! A text, line by line, however long its lines are.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use super::Touch;
use crate::TraceError;

/// Longest line, in bytes.
const MAX_LINE: usize = 64 << 10;

/// Bytes read from the source at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Bytes of a line that an error message shows.
const SHOWN: usize = 60;

/// Understands the lines of one format.
pub(super) trait LineParser: Send {
    /// What a line without its end says; `None` if it has no data access.
    ///
    /// # Errors
    /// What is wrong with the line.
    fn parse(&mut self, line: &[u8]) -> Result<Option<Touch>, &'static str>;
}

/// The lines of a text.
pub(super) struct Lines {
    source: BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    line: Vec<u8>,
    /// Number of the present line, counted from 1.
    number: u64,
    /// Where the present line begins, and the one after it.
    offset: u64,
    end: u64,
}

impl Lines {
    pub fn new(source: Box<dyn Read + Send>, path: PathBuf) -> Self {
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        Self { source, path, line: Vec::new(), number: 0, offset: 0, end: 0 }
    }

    /// The next line without its end; `None` at the end of the text.
    pub fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        self.line.clear();
        self.offset = self.end;
        self.number += 1;
        let mut bounded = (&mut self.source).take(MAX_LINE as u64 + 1);
        let read =
            bounded.read_until(b'\n', &mut self.line).map_err(|source| TraceError::Read {
                path: self.path.clone(),
                offset: self.offset + self.line.len() as u64,
                source,
            })?;
        self.end += read as u64;
        if read > MAX_LINE {
            return Err(self.wrong("a line that is too long"));
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok((read > 0).then_some(line))
    }

    /// The error that the present line is.
    pub fn wrong(&self, problem: &'static str) -> TraceError {
        let text = self.line.trim_ascii_end();
        let shown = &text[..text.len().min(SHOWN)];
        let more = if shown.len() < text.len() { "..." } else { "" };
        TraceError::Line {
            path: self.path.clone(),
            line: self.number,
            offset: self.offset,
            problem,
            text: format!("{}{more}", shown.escape_ascii()),
        }
    }
}
