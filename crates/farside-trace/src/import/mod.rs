//! Other people's traces: accesses out of the files of other tools, one at a time.
//!
//! One file per format. A text format is a `LineParser`; cutting into lines, dividing accesses that
//! span pages, and merging repeats are shared.

mod addresses;
mod csv;
mod dynamorio;
mod format;
mod lackey;
mod lines;
mod numbers;
mod oracle;
mod pages;
mod perf;

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;

pub use csv::Column;
pub use format::ImportFormat;
pub(crate) use oracle::RECORD_BYTES;

use crate::reader::{ListReader, decompressor};
use crate::{Access, Block, Metadata, PAGE_SHIFT, TraceError};
use lines::{LineParser, Lines};
use oracle::OracleReader;
use pages::{Merger, Span};

/// The decompressed form of a source that is compressed with zstd.
///
/// # Errors
/// If the decompressor cannot be set up.
pub fn decompress(source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(decompressor(source)?))
}

/// What is asked of an import besides its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// Binary logarithm of the page size in bytes, at most 63.
    pub page_shift: u32,
    /// Whether consecutive accesses of one thread to one page become one record; if not given, they
    /// do where the format has addresses, and not where it has pages or objects.
    pub merge: Option<bool>,
    /// The column of a CSV file that has the objects, if its header does not tell.
    pub object_column: Option<Column>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { page_shift: PAGE_SHIFT, merge: None, object_column: None }
    }
}

/// Data accesses to consecutive addresses, as one line or record of a trace says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub address: u64,
    /// Bytes accessed; 0 counts as 1.
    pub size: u64,
    pub write: bool,
    pub thread: u32,
    /// Number of data accesses.
    pub weight: u32,
}

enum Source {
    /// A text of addresses.
    Lines(Lines, Box<dyn LineParser>),
    /// A text of objects, each of which counts as a page.
    Objects(Lines, Box<csv::CsvParser>),
    Oracle(OracleReader),
    /// Numbers that become pages when they lose `shift` bits.
    List {
        list: Box<ListReader>,
        shift: u32,
        block: Block,
        given: usize,
    },
}

/// The accesses of another tool's trace in order.
///
/// Memory use depends neither on the length of the trace nor on that of a line. The first error ends
/// the iteration; a trace without any access is an error too.
pub struct Importer {
    source: Source,
    path: PathBuf,
    format: ImportFormat,
    page_shift: u32,
    merge: bool,
    span: Span,
    merger: Merger,
    /// What went wrong behind the access that was given out last.
    error: Option<TraceError>,
    empty: bool,
    ended: bool,
}

impl Importer {
    /// Reads a trace in `format` from `source`; `name` stands for it in error messages.
    pub fn new(
        source: Box<dyn Read + Send>,
        format: ImportFormat,
        options: &ImportOptions,
        name: impl Into<PathBuf>,
    ) -> Self {
        let path = name.into();
        let page_shift = options.page_shift.min(63);
        let list = |list, shift| Source::List {
            list: Box::new(list),
            shift,
            block: Block::default(),
            given: 0,
        };
        let merge = options.merge.unwrap_or(format.has_addresses());
        let text = |source| Lines::new(source, path.clone());
        let source = match format {
            ImportFormat::Lackey => Source::Lines(text(source), Box::new(lackey::Lackey)),
            ImportFormat::DynamoRio => Source::Lines(text(source), Box::new(dynamorio::DynamoRio)),
            ImportFormat::PerfScript => {
                Source::Lines(text(source), Box::new(perf::Perf::default()))
            }
            ImportFormat::Addresses => Source::Lines(text(source), Box::new(addresses::Addresses)),
            ImportFormat::Csv => {
                let parser = csv::CsvParser::new(options.object_column.clone());
                Source::Objects(text(source), Box::new(parser))
            }
            ImportFormat::OracleGeneral => Source::Oracle(OracleReader::new(source, path.clone())),
            ImportFormat::AddressesU64 => {
                list(ListReader::binary(source, path.clone()), page_shift)
            }
            ImportFormat::PagesU64 => list(ListReader::binary(source, path.clone()), 0),
            ImportFormat::Pages => list(ListReader::text(source, path.clone()), 0),
        };
        Self {
            source,
            path,
            format,
            page_shift,
            merge,
            span: Span::default(),
            merger: Merger::default(),
            error: None,
            empty: true,
            ended: false,
        }
    }

    /// What the header of the imported trace is to say.
    pub fn metadata(&self) -> Metadata {
        let mut metadata = Metadata {
            page_shift: self.page_shift,
            tool: Some(self.format.name().to_owned()),
            merged: self.merge,
            ..Metadata::default()
        };
        let from = self.path.to_string_lossy().into_owned();
        metadata.other.insert("imported_from".into(), from.into());
        metadata
    }

    /// The next access before merging.
    fn next_single(&mut self) -> Result<Option<Access>, TraceError> {
        loop {
            if let Some(access) = self.span.next() {
                return Ok(Some(access));
            }
            match &mut self.source {
                Source::Lines(lines, parser) => {
                    let Some(line) = lines.next()? else { return Ok(None) };
                    let touch = parser.parse(line).and_then(|touch| match touch {
                        Some(touch) => Span::new(&touch, self.page_shift).map(Some),
                        None => Ok(None),
                    });
                    match touch {
                        Ok(Some(span)) => self.span = span,
                        Ok(None) => {}
                        Err(problem) => return Err(lines.wrong(problem)),
                    }
                }
                Source::Objects(lines, parser) => {
                    let Some(line) = lines.next()? else { return Ok(None) };
                    match parser.parse(line) {
                        Ok(None) => {}
                        Ok(access) => return Ok(access),
                        Err(problem) => return Err(lines.wrong(problem)),
                    }
                }
                Source::Oracle(oracle) => return oracle.next(),
                Source::List { list, shift, block, given } => {
                    if let Some(access) = block.accesses.get(*given) {
                        *given += 1;
                        let mut access = *access;
                        access.page.0 >>= *shift;
                        return Ok(Some(access));
                    }
                    *given = 0;
                    if !list.next_block(block)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn next_merged(&mut self) -> Result<Option<Access>, TraceError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        loop {
            match self.next_single() {
                Ok(Some(access)) => {
                    self.empty = false;
                    if !self.merge {
                        return Ok(Some(access));
                    }
                    if let Some(done) = self.merger.push(access) {
                        return Ok(Some(done));
                    }
                }
                Ok(None) if self.empty => {
                    let (path, format) = (self.path.clone(), self.format.name());
                    return Err(TraceError::NoAccess { path, format });
                }
                Ok(None) => return Ok(self.merger.take()),
                Err(error) => {
                    let Some(done) = self.merger.take() else { return Err(error) };
                    self.error = Some(error);
                    return Ok(Some(done));
                }
            }
        }
    }
}

impl Iterator for Importer {
    type Item = Result<Access, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_merged();
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

impl std::iter::FusedIterator for Importer {}

impl fmt::Debug for Importer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Importer")
            .field("path", &self.path)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
