//! The Redis protocol (RESP, version 2), as much of it as is spoken here.

use std::io::Write;

/// Bytes of the longest reply that is taken: more than any that is asked for.
pub const MOST_REPLY: usize = 4 << 20;

/// Elements of the longest array, and how deep they may lie in one another.
const MOST_ELEMENTS: usize = 1 << 16;
const DEEPEST: u32 = 4;

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is done.
    Status(String),
    /// It is not, and why.
    Error(String),
    /// A number.
    Number(i64),
    /// Bytes.
    Bulk(Vec<u8>),
    /// There is no such thing.
    Nil,
    /// Several replies.
    Array(Vec<Reply>),
}

/// Bytes that no server sends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Nonsense;

/// The first reply in `bytes`, and how many of them it takes; `None` if it has not come whole.
///
/// # Errors
/// If the bytes are no reply, or one that is longer than any that could be meant.
pub fn parse(bytes: &[u8]) -> Result<Option<(Reply, usize)>, Nonsense> {
    let mut rest = bytes;
    match element(&mut rest, 0) {
        Ok(reply) => Ok(Some((reply, bytes.len() - rest.len()))),
        Err(Stop::Short) if bytes.len() < MOST_REPLY => Ok(None),
        Err(_) => Err(Nonsense),
    }
}

/// Why there is no reply.
enum Stop {
    Short,
    Nonsense,
}

fn element(rest: &mut &[u8], depth: u32) -> Result<Reply, Stop> {
    let (&kind, after) = rest.split_first().ok_or(Stop::Short)?;
    *rest = after;
    let line = line(rest)?;
    match kind {
        b'+' => Ok(Reply::Status(text(line))),
        b'-' => Ok(Reply::Error(text(line))),
        b':' => Ok(Reply::Number(number(line)?)),
        b'$' => match length(line, MOST_REPLY)? {
            None => Ok(Reply::Nil),
            Some(len) => bulk(rest, len).map(Reply::Bulk),
        },
        b'*' if depth < DEEPEST => match length(line, MOST_ELEMENTS)? {
            None => Ok(Reply::Nil),
            Some(len) => {
                let all: Result<Vec<Reply>, Stop> =
                    (0..len).map(|_| element(rest, depth + 1)).collect();
                all.map(Reply::Array)
            }
        },
        _ => Err(Stop::Nonsense),
    }
}

/// What comes before the next end of a line.
fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Stop> {
    let end = rest.windows(2).position(|two| two == b"\r\n").ok_or(Stop::Short)?;
    let line = &rest[..end];
    *rest = &rest[end + 2..];
    Ok(line)
}

fn bulk(rest: &mut &[u8], len: usize) -> Result<Vec<u8>, Stop> {
    let bytes = rest.get(..len + 2).ok_or(Stop::Short)?;
    let (content, end) = bytes.split_at(len);
    *rest = &rest[len + 2..];
    if end == b"\r\n" { Ok(content.to_vec()) } else { Err(Stop::Nonsense) }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn number(line: &[u8]) -> Result<i64, Stop> {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).ok_or(Stop::Nonsense)
}

/// `None` for -1, which stands for nothing.
fn length(line: &[u8], most: usize) -> Result<Option<usize>, Stop> {
    match number(line)? {
        -1 => Ok(None),
        len => {
            let len = usize::try_from(len).ok().filter(|len| *len <= most);
            len.map(Some).ok_or(Stop::Nonsense)
        }
    }
}

/// Appends the beginning of a command of `len` words.
pub fn begin(bytes: &mut Vec<u8>, len: usize) {
    put(bytes, b'*', len);
}

/// Appends a word of a command.
pub fn word(bytes: &mut Vec<u8>, word: &[u8]) {
    put(bytes, b'$', word.len());
    bytes.extend_from_slice(word);
    bytes.extend_from_slice(b"\r\n");
}

/// Appends a number as a word.
pub fn decimal(bytes: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut room = &mut digits[..];
    // Twenty digits are enough for any.
    let _ = write!(room, "{number}");
    let len = 20 - room.len();
    word(bytes, &digits[..len]);
}

/// Appends the beginning of a word of `len` bytes, which follow with the end of a line.
pub fn long_word(bytes: &mut Vec<u8>, len: usize) {
    put(bytes, b'$', len);
}

fn put(bytes: &mut Vec<u8>, kind: u8, len: usize) {
    // Writing to memory does not fail.
    let _ = write!(bytes, "{}{len}\r\n", char::from(kind));
}

/// A command.
pub fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, words.len());
    for text in words {
        word(&mut bytes, text.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn replies_are_read_whole_or_not_at_all() {
        let bytes = b"*3\r\n$5\r\na\r\nbc\r\n:-7\r\n*2\r\n$-1\r\n+OK\r\n-ERR no\r\n";
        let (reply, len) = parse(bytes).unwrap().unwrap();
        let inner = Reply::Array(vec![Reply::Nil, Reply::Status("OK".into())]);
        assert_eq!(
            reply,
            Reply::Array(vec![Reply::Bulk(b"a\r\nbc".to_vec()), Reply::Number(-7), inner])
        );
        assert_eq!(
            parse(&bytes[len..]),
            Ok(Some((Reply::Error("ERR no".into()), bytes.len() - len)))
        );
        for short in 0..len {
            assert_eq!(parse(&bytes[..short]), Ok(None), "{short}");
        }
    }

    #[test]
    fn what_is_too_long_or_no_reply_is_refused() {
        for bytes in [
            &b"$9999999\r\n"[..],
            b"*65537\r\n",
            b"$-2\r\n",
            b":12a\r\n",
            b"?\r\n",
            b"$1\r\nabc",
            b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
        ] {
            assert_eq!(parse(bytes), Err(Nonsense), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn commands_are_arrays_of_words() {
        assert_eq!(command(&["GET", "a b"]), b"*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
        let mut bytes = Vec::new();
        decimal(&mut bytes, 18_446_744_073_709_551_615);
        assert_eq!(bytes, b"$20\r\n18446744073709551615\r\n");
    }

    fn replies() -> impl Strategy<Value = Reply> {
        let leaf = prop_oneof![
            "[^\r\n]{0,20}".prop_map(Reply::Status),
            "[^\r\n]{0,20}".prop_map(Reply::Error),
            any::<i64>().prop_map(Reply::Number),
            proptest::collection::vec(any::<u8>(), 0..50).prop_map(Reply::Bulk),
            Just(Reply::Nil),
        ];
        leaf.prop_recursive(3, 20, 5, |inner| {
            proptest::collection::vec(inner, 0..5).prop_map(Reply::Array)
        })
    }

    fn encode(reply: &Reply, bytes: &mut Vec<u8>) {
        let line = |kind: char, text: &str| format!("{kind}{text}\r\n").into_bytes();
        match reply {
            Reply::Status(text) => bytes.extend(line('+', text)),
            Reply::Error(text) => bytes.extend(line('-', text)),
            Reply::Number(number) => bytes.extend(line(':', &number.to_string())),
            Reply::Bulk(content) => word(bytes, content),
            Reply::Nil => bytes.extend(b"$-1\r\n"),
            Reply::Array(all) => {
                begin(bytes, all.len());
                all.iter().for_each(|reply| encode(reply, bytes));
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(reply in replies(), more in proptest::collection::vec(any::<u8>(), 0..20)) {
            let mut bytes = Vec::new();
            encode(&reply, &mut bytes);
            let len = bytes.len();
            bytes.extend(more);
            prop_assert_eq!(parse(&bytes), Ok(Some((reply, len))));
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((_, len))) = parse(&bytes) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
