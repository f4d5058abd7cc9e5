//! DynamoRIO's memory traces in the text forms that its tools print.
//!
//! The `view` tool of drmemtrace prints `RECORD INSTRUCTION: THREAD read 8 byte(s) @ 0xADDRESS by PC
//! 0x...`; a thread is a number, perhaps behind `W0.T`. The sample `memtrace_simple` prints
//! `0xADDRESS: SIZE, r` (or `w`, or an opcode for an instruction), and `memtrace_x86` prints
//! `0xPC,r,SIZE,0xADDRESS`; both write one file for each thread.

use super::Touch;
use super::lines::LineParser;
use super::numbers::{address, decimal, words};

const NOT_DYNAMORIO: &str = "not a line of a DynamoRIO memory trace";

/// What lines of the `view` tool begin with that hold no record.
const CHATTER: [&[u8]; 6] = [b"Format:", b"Output format:", b"<", b"--", b"==", b"View tool"];

/// Understands all three forms.
pub(super) struct DynamoRio;

impl LineParser for DynamoRio {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Touch>, &'static str> {
        let line = line.trim_ascii();
        if line.is_empty() || CHATTER.iter().any(|start| line.starts_with(start)) {
            return Ok(None);
        }
        if !line.starts_with(b"0x") {
            return view(line);
        }
        match line.iter().position(|&byte| byte == b':') {
            Some(colon) => simple(&line[..colon], &line[colon + 1..]),
            None => x86(line),
        }
    }
}

fn view(line: &[u8]) -> Result<Option<Touch>, &'static str> {
    let words: Vec<_> = words(line).take(12).collect();
    let Some(unit) = words.iter().position(|&word| word == b"byte(s)") else {
        let numbered = words[0].iter().all(|byte| byte.is_ascii_digit() || *byte == b':');
        return if numbered { Ok(None) } else { Err(NOT_DYNAMORIO) };
    };
    let &[name, size] = unit
        .checked_sub(2)
        .and_then(|start| words[start..unit].first_chunk())
        .ok_or(NOT_DYNAMORIO)?;
    let write = match name {
        b"read" => false,
        b"write" => true,
        // Fetched instructions, flushes and prefetches.
        _ => return Ok(None),
    };
    let at = words.get(unit + 1).is_some_and(|&word| word == b"@");
    let place = words.get(unit + 2).filter(|_| at).ok_or(NOT_DYNAMORIO)?;
    let address = address(place, NOT_DYNAMORIO)?;
    let size = decimal(size).ok_or(NOT_DYNAMORIO)?;
    let thread = match unit.checked_sub(3).map(|i| words[i]) {
        Some(word) if !word.ends_with(b":") => thread(word)?,
        _ => 0,
    };
    Ok(Some(Touch { address, size, write, thread, weight: 1 }))
}

/// The thread in `123`, `T123` or `W0.T123`.
fn thread(word: &[u8]) -> Result<u32, &'static str> {
    let digits = word.rsplit(|&byte| byte == b'T').next().unwrap_or(word);
    let number = decimal(digits).ok_or(NOT_DYNAMORIO)?;
    u32::try_from(number).map_err(|_| "a thread number that does not fit in 32 bits")
}

fn simple(place: &[u8], rest: &[u8]) -> Result<Option<Touch>, &'static str> {
    let address = address(place, NOT_DYNAMORIO)?;
    let comma = rest.iter().position(|&byte| byte == b',').ok_or(NOT_DYNAMORIO)?;
    let size = decimal(rest[..comma].trim_ascii()).ok_or(NOT_DYNAMORIO)?;
    let write = match rest[comma + 1..].trim_ascii() {
        b"r" => false,
        b"w" => true,
        _ => return Ok(None),
    };
    Ok(Some(Touch { address, size, write, thread: 0, weight: 1 }))
}

fn x86(line: &[u8]) -> Result<Option<Touch>, &'static str> {
    let fields: Vec<_> = line.split(|&byte| byte == b',').take(5).collect();
    let &[pc, kind, size, place] = &fields[..] else { return Err(NOT_DYNAMORIO) };
    address(pc, NOT_DYNAMORIO)?;
    let write = match kind {
        b"r" => false,
        b"w" => true,
        _ => return Err(NOT_DYNAMORIO),
    };
    let address = address(place, NOT_DYNAMORIO)?;
    let size = decimal(size).ok_or(NOT_DYNAMORIO)?;
    Ok(Some(Touch { address, size, write, thread: 0, weight: 1 }))
}
