//! Samples of data addresses that `perf` prints.
//!
//! `perf script -F tid,addr` prints `THREAD ADDRESS`, with more fields more in front; the layout of
//! `perf mem` is `COMMAND THREAD [CPU] TIME: PERIOD EVENT: ADDRESS SOURCE ...`. `perf mem -D report`
//! prints a header and the columns that it names. Addresses are hexadecimal, mostly without a prefix.
//! Samples whose address is 0 have none and are passed over.

use super::Touch;
use super::lines::LineParser;
use super::numbers::{address, decimal, words};

const NOT_PERF: &str = "not a sample of perf; print them with perf script -F tid,addr";

const NO_DATA_ADDRESS: &str = "a sample of an instruction, without a data address; record with \
     perf mem record or perf record -d, and print with perf script -F tid,addr";

/// Bit of a data source (`perf_mem_data_src`) that says that it was a store.
const STORE: u64 = 4;

/// Most words of a line that matter.
const MAX_WORDS: usize = 24;

/// Where the columns of `perf mem -D report` are.
#[derive(Copy, Clone)]
struct Columns {
    separator: Option<u8>,
    thread: usize,
    address: usize,
    source: usize,
}

/// Understands all layouts.
#[derive(Default)]
pub(super) struct Perf {
    columns: Option<Columns>,
}

impl LineParser for Perf {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Touch>, &'static str> {
        if line.starts_with(b"# PID, TID") {
            self.columns = Some(named_columns(line).ok_or(NOT_PERF)?);
            return Ok(None);
        }
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(None);
        }
        let touch = match &mut self.columns {
            Some(columns) => dumped(line, columns)?,
            None => scripted(line)?,
        };
        Ok(Some(touch).filter(|touch| touch.address != 0))
    }
}

fn named_columns(header: &[u8]) -> Option<Columns> {
    let names: Vec<_> = header[1..].split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
    let place = |name: &[u8]| names.iter().position(|&known| known == name);
    Some(Columns {
        separator: None,
        thread: place(b"TID")?,
        address: place(b"ADDR")?,
        source: place(b"DSRC")?,
    })
}

/// A line of `perf mem -D report`, with blanks or with the separator of its option `-x`.
fn dumped(line: &[u8], columns: &mut Columns) -> Result<Touch, &'static str> {
    if columns.separator.is_none() && !line.contains(&b' ') {
        columns.separator = line.iter().find(|byte| !byte.is_ascii_digit()).copied();
    }
    let fields: Vec<_> = match columns.separator {
        Some(separator) => line.split(|&byte| byte == separator).take(MAX_WORDS).collect(),
        None => words(line).take(MAX_WORDS).collect(),
    };
    let field = |i: usize| fields.get(i).copied().ok_or(NOT_PERF);
    let thread = thread(field(columns.thread)?).ok_or(NOT_PERF)?;
    let mut place = field(columns.address)?;
    // perf prints the first address behind "0x016" by mistake, for "0x%016".
    if let Some(digits) = place.strip_prefix(b"0x016").filter(|digits| digits.len() != 13) {
        place = digits;
    }
    let address = address(place, NOT_PERF)?;
    let source = address_or_zero(field(columns.source)?);
    Ok(Touch { address, size: 1, write: source & STORE != 0, thread, weight: 1 })
}

fn address_or_zero(word: &[u8]) -> u64 {
    address(word, "").unwrap_or(0)
}

/// A line of `perf script`.
fn scripted(line: &[u8]) -> Result<Touch, &'static str> {
    let words: Vec<_> = words(line).take(MAX_WORDS).collect();
    let time = words.iter().position(|word| is_time(word));
    let (place, event) = address_place(&words, time).ok_or(NOT_PERF)?;
    let address = address(words[place], NOT_PERF)?;
    // Behind a data address comes nothing or a number; behind that of an instruction its symbol.
    if let Some(after) = words.get(place + 1)
        && time.or(event).is_some()
        && !after.iter().all(u8::is_ascii_hexdigit)
        && !after.starts_with(b"0x")
    {
        return Err(NO_DATA_ADDRESS);
    }
    let front = &words[..time.or(event).unwrap_or(place)];
    let number = front.iter().rev().find(|word| !is_processor(word)).copied();
    let thread = match number {
        Some(word) => thread(word).ok_or(NOT_PERF)?,
        None => 0,
    };
    let store = event.is_some_and(|i| words[i].windows(5).any(|word| word == b"store"));
    let store = store || line.windows(9).any(|words| words == b"|OP STORE");
    Ok(Touch { address, size: 1, write: store, thread, weight: 1 })
}

/// Where the address stands, and the name of the event, if there is one.
fn address_place(words: &[&[u8]], time: Option<usize>) -> Option<(usize, Option<usize>)> {
    let behind_time = time.map_or(0, |time| time + 1);
    let event = (behind_time..words.len())
        .take(if time.is_some() { 2 } else { MAX_WORDS })
        .find(|&i| words[i].ends_with(b":"));
    match (time, event) {
        (_, Some(event)) => Some((event + 1, Some(event))),
        (Some(time), None) => Some((time + 1, None)),
        (None, None) => Some((words.len().checked_sub(1)?, None)),
    }
    .filter(|(place, _)| *place < words.len())
}

/// `123.456789:`
fn is_time(word: &[u8]) -> bool {
    let Some(number) = word.strip_suffix(b":") else { return false };
    let mut parts = number.splitn(2, |&byte| byte == b'.');
    let digits = |part: Option<&[u8]>| part.is_some_and(|part| decimal(part).is_some());
    digits(parts.next()) && digits(parts.next())
}

/// `[000]`
fn is_processor(word: &[u8]) -> bool {
    word.starts_with(b"[") && word.ends_with(b"]")
}

/// The thread in `123` or `PROCESS/123`.
fn thread(word: &[u8]) -> Option<u32> {
    let digits = word.rsplit(|&byte| byte == b'/').next()?;
    decimal(digits).and_then(|number| u32::try_from(number).ok())
}
