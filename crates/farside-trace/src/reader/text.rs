//! Text traces, parsed byte by byte so that no line needs to be kept.

use std::path::Path;

use super::TraceError;

/// Where in a line the parser is.
#[derive(Copy, Clone, Debug, Default)]
enum Place {
    /// Nothing but blanks so far.
    #[default]
    Start,
    Comment,
    Digits(u64),
    /// Blanks after a complete number.
    After(u64),
}

/// The parser's state between two bytes.
#[derive(Debug, Default)]
pub(super) struct LineState {
    place: Place,
    complete_lines: u64,
}

/// What a byte led to.
pub(super) enum Step {
    More,
    Page(u64),
    Invalid(Problem),
}

/// What is wrong with a byte.
pub(super) enum Problem {
    Unexpected(u8),
    TooLarge,
}

impl LineState {
    /// The current line, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.complete_lines + 1
    }

    /// Takes the next byte; after [`Step::Invalid`] the state is of no further use.
    pub(super) fn step(&mut self, byte: u8) -> Step {
        self.place = match (self.place, byte) {
            (_, b'\n') => {
                self.complete_lines += 1;
                return self.end_of_line().map_or(Step::More, Step::Page);
            }
            (Place::Comment, _) | (Place::Start, b'#' | b'*') => Place::Comment,
            (Place::Start, b' ' | b'\t' | b'\r') => Place::Start,
            (Place::Digits(number) | Place::After(number), b' ' | b'\t' | b'\r') => {
                Place::After(number)
            }
            (Place::Start, b'0'..=b'9') => Place::Digits(u64::from(byte - b'0')),
            (Place::Digits(number), b'0'..=b'9') => match append(number, byte) {
                Some(number) => Place::Digits(number),
                None => return Step::Invalid(Problem::TooLarge),
            },
            _ => return Step::Invalid(Problem::Unexpected(byte)),
        };
        Step::More
    }

    /// Ends the line, also one that the file ends without a line feed; the number it held, if any.
    pub(super) fn end_of_line(&mut self) -> Option<u64> {
        match std::mem::take(&mut self.place) {
            Place::Digits(number) | Place::After(number) => Some(number),
            Place::Start | Place::Comment => None,
        }
    }
}

impl Problem {
    pub(super) fn at(self, path: &Path, offset: u64, line: u64) -> TraceError {
        let path = path.to_owned();
        match self {
            Self::Unexpected(byte) => TraceError::NotANumber { path, line, offset, byte },
            Self::TooLarge => TraceError::NumberTooLarge { path, line, offset },
        }
    }
}

fn append(number: u64, digit: u8) -> Option<u64> {
    number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
}
