//! Valgrind's lackey: ` L ADDRESS,SIZE` for a load, ` S` for a store, ` M` for an instruction that
//! loads and stores, `I ` for an instruction; addresses are hexadecimal without a prefix.

use super::Touch;
use super::lines::LineParser;
use super::numbers::{address, decimal};

const NOT_LACKEY: &str =
    "not a line of lackey's trace; give the trace alone, as valgrind --log-file writes it";

/// Understands lackey's trace. It does not tell threads apart.
pub(super) struct Lackey;

impl LineParser for Lackey {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Touch>, &'static str> {
        let (write, weight) = match line {
            [b' ', b'L', b' ', ..] => (false, 1),
            [b' ', b'S', b' ', ..] => (true, 1),
            [b' ', b'M', b' ', ..] => (true, 2),
            // Instructions, and what valgrind itself says.
            [b'I', b' ', b' ', ..]
            | [b'=', b'=', ..]
            | [b'-', b'-', ..]
            | [b'*', b'*', ..]
            | [] => {
                return Ok(None);
            }
            _ => return Err(NOT_LACKEY),
        };
        let rest = line[3..].trim_ascii();
        let comma = rest.iter().position(|&byte| byte == b',').ok_or(NOT_LACKEY)?;
        let address = address(&rest[..comma], NOT_LACKEY)?;
        let size = decimal(&rest[comma + 1..]).ok_or(NOT_LACKEY)?;
        Ok(Some(Touch { address, size, write, thread: 0, weight }))
    }
}

/// Whether only lackey writes such a line.
pub(super) fn is_record(line: &[u8]) -> bool {
    let record = match line {
        [b'I', b' ', b' ', rest @ ..] => rest,
        [b' ', b'L' | b'S' | b'M', b' ', rest @ ..] => rest,
        _ => return false,
    };
    let mut parts = record.trim_ascii().split(|&byte| byte == b',');
    let hex = parts.next().is_some_and(|part| address(part, "").is_ok());
    hex && parts.next().is_some_and(|part| decimal(part).is_some()) && parts.next().is_none()
}
