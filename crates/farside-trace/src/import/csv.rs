//! Comma-separated values with a column of objects, as libCacheSim reads them and as Farside writes
//! them.
//!
//! The first line may name the columns. Objects are numbers, or texts that are hashed into numbers.
//! Fields may be separated by commas, tabs, bars or semicolons, and quoted.

use std::hash::Hasher;

use super::numbers::decimal;
use crate::{Access, PageId};

/// Names of the columns that Farside understands, the best first.
const OBJECT: [&str; 10] =
    ["page", "obj_id", "object_id", "objid", "object", "obj", "id", "key", "lbn", "lba"];
const WRITE: [&str; 1] = ["write"];
const OPERATION: [&str; 3] = ["op", "operation", "opcode"];
const THREAD: [&str; 2] = ["thread", "tid"];
const WEIGHT: [&str; 3] = ["weight", "count", "cnt"];

/// Operations that write, in small letters; the numbers are those of SCSI.
const WRITING: [&str; 17] = [
    "w", "write", "set", "put", "add", "replace", "append", "prepend", "cas", "incr", "decr",
    "store", "delete", "0a", "2a", "8a", "aa",
];

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Its number, counted from 1.
    Number(usize),
    /// Its name in the first line.
    Name(String),
}

/// Places of the columns, counted from 0.
struct Columns {
    separator: Option<u8>,
    object: usize,
    write: Option<usize>,
    operation: Option<usize>,
    thread: Option<usize>,
    weight: Option<usize>,
}

/// Understands the lines.
pub(super) struct CsvParser {
    wanted: Option<Column>,
    columns: Option<Columns>,
}

impl CsvParser {
    pub fn new(wanted: Option<Column>) -> Self {
        Self { wanted, columns: None }
    }

    /// The access that a line tells of; `None` for the header, comments and empty lines.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse(&mut self, line: &[u8]) -> Result<Option<Access>, &'static str> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let Some(columns) = &self.columns else {
            let (columns, header) = columns_of(line, self.wanted.as_ref())?;
            let first = if header { None } else { Some(access(line, &columns)?) };
            self.columns = Some(columns);
            return Ok(first);
        };
        if line.starts_with(b"#") { Ok(None) } else { access(line, columns).map(Some) }
    }
}

/// Whether a line names the columns of a table with objects.
pub(super) fn is_header(line: &[u8]) -> bool {
    let names = header_names(line, separator(line));
    separator(line).is_some() && names.is_some_and(|names| place(&names, &OBJECT).is_some())
}

/// The columns that the first line shows, and whether it is a header.
fn columns_of(line: &[u8], wanted: Option<&Column>) -> Result<(Columns, bool), &'static str> {
    let separator = separator(line);
    let names = header_names(line, separator);
    let header = names.is_some();
    let names = names.unwrap_or_default();
    let object = match wanted {
        Some(Column::Number(number)) => number.checked_sub(1).ok_or("columns count from 1")?,
        Some(Column::Name(name)) => {
            place(&names, &[name.to_ascii_lowercase().as_str()]).ok_or("no column of that name")?
        }
        None => place(&names, &OBJECT)
            .ok_or("no column is known to hold the objects; say which with --object-column")?,
    };
    let columns = Columns {
        separator,
        object,
        write: place(&names, &WRITE),
        operation: place(&names, &OPERATION),
        thread: place(&names, &THREAD),
        weight: place(&names, &WEIGHT),
    };
    Ok((columns, header))
}

/// The names in a first line, in small letters, if no field of it is a number.
fn header_names(line: &[u8], separator: Option<u8>) -> Option<Vec<String>> {
    let line = line.strip_prefix(b"#").unwrap_or(line);
    let name = |field: &[u8]| String::from_utf8_lossy(field).to_ascii_lowercase().replace('-', "_");
    let fields = fields(line, separator);
    fields.map(|field| decimal(field).is_none().then(|| name(field))).collect()
}

fn place(names: &[String], known: &[&str]) -> Option<usize> {
    known.iter().find_map(|known| names.iter().position(|name| name == known))
}

fn separator(line: &[u8]) -> Option<u8> {
    [b',', b'\t', b'|', b';'].into_iter().find(|separator| line.contains(separator))
}

/// The fields of a line without blanks and quotes around them.
fn fields(line: &[u8], separator: Option<u8>) -> impl Iterator<Item = &[u8]> {
    line.split(move |&byte| Some(byte) == separator).map(|field| {
        let field = field.trim_ascii();
        field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(field)
    })
}

fn access(line: &[u8], columns: &Columns) -> Result<Access, &'static str> {
    let mut access = Access::from(PageId(0));
    let mut found = false;
    for (i, field) in fields(line, columns.separator).enumerate() {
        if i == columns.object {
            access.page = PageId(object(field)?);
            found = true;
        } else if Some(i) == columns.write {
            access.write = field == b"1" || field.eq_ignore_ascii_case(b"true");
        } else if Some(i) == columns.operation {
            access.write = WRITING.iter().any(|word| field.eq_ignore_ascii_case(word.as_bytes()));
        } else if Some(i) == columns.thread {
            access.thread = small(field).ok_or("a thread number that does not fit in 32 bits")?;
        } else if Some(i) == columns.weight {
            access.weight = small(field).ok_or("a weight that does not fit in 32 bits")?;
        }
    }
    if found { Ok(access) } else { Err("too few columns") }
}

fn small(field: &[u8]) -> Option<u32> {
    decimal(field).and_then(|number| u32::try_from(number).ok())
}

/// The number of an object; that of a text is its XXH3.
fn object(field: &[u8]) -> Result<u64, &'static str> {
    match decimal(field) {
        Some(number) => Ok(number),
        None if field.is_empty() => Err("no object in its column"),
        None if field.iter().all(u8::is_ascii_digit) => {
            Err("an object number that does not fit in 64 bits")
        }
        None => {
            let mut hasher = twox_hash::XxHash3_64::new();
            hasher.write(field);
            Ok(hasher.finish())
        }
    }
}
