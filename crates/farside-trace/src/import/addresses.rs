//! Plain lists of addresses: one to a line, hexadecimal with `0x` or decimal. Before it there may be
//! the instruction's address and a colon, as Pin's `pinatrace` prints it, and the kind of access;
//! behind it the kind, if it was not said yet, and the size in bytes. Lines that begin with `#` or
//! `*` are comments.

use super::Touch;
use super::lines::LineParser;
use super::numbers::{ADDRESS_TOO_LARGE, address, decimal, words};

const NOT_AN_ADDRESS: &str =
    "not an address; a line holds [R|W] ADDRESS [SIZE], hexadecimal numbers begin with 0x";

/// Understands lists of addresses.
pub(super) struct Addresses;

impl LineParser for Addresses {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Touch>, &'static str> {
        let mut words = words(line).peekable();
        if words.peek().is_none_or(|word| word.starts_with(b"#") || word.starts_with(b"*")) {
            return Ok(None);
        }
        words.next_if(|word| word.starts_with(b"0x") && word.ends_with(b":"));
        let before = words.next_if(|word| is_write(word).is_some());
        let address = place(words.next().ok_or(NOT_AN_ADDRESS)?)?;
        let after = words.next_if(|word| before.is_none() && is_write(word).is_some());
        let write = before.or(after).and_then(is_write).unwrap_or(false);
        let size = match words.next() {
            Some(word) => decimal(word).ok_or(NOT_AN_ADDRESS)?,
            None => 1,
        };
        match words.next() {
            None => Ok(Some(Touch { address, size, write, thread: 0, weight: 1 })),
            Some(_) => Err(NOT_AN_ADDRESS),
        }
    }
}

fn is_write(word: &[u8]) -> Option<bool> {
    match word {
        b"R" | b"r" | b"L" | b"l" | b"read" | b"load" => Some(false),
        b"W" | b"w" | b"S" | b"s" | b"write" | b"store" => Some(true),
        _ => None,
    }
}

fn place(word: &[u8]) -> Result<u64, &'static str> {
    if word.starts_with(b"0x") {
        address(word, NOT_AN_ADDRESS)
    } else if word.iter().all(u8::is_ascii_digit) {
        decimal(word).ok_or(ADDRESS_TOO_LARGE)
    } else {
        Err(NOT_AN_ADDRESS)
    }
}
