//! Numbers in as few bytes as they need: seven bits to a byte, least significant first, the high bit
//! set in all but the last (LEB128). Signed numbers are zigzagged first.

/// Most bytes that a number takes.
const MOST_BYTES: usize = 10;

/// Numbers below this have at most eight groups of seven bits.
const SHORT: u64 = 1 << 56;

/// Appends `number`.
pub(crate) fn put(bytes: &mut Vec<u8>, number: u64) {
    if number < 0x80 { bytes.push(number as u8) } else { put_all(bytes, 1, [number]) }
}

/// Appends `numbers`, of which there are at most `count`.
#[inline(always)]
pub(crate) fn put_all(bytes: &mut Vec<u8>, count: usize, numbers: impl IntoIterator<Item = u64>) {
    let mut end = bytes.len();
    bytes.resize(end + count * MOST_BYTES, 0);
    for number in numbers {
        if Short::is(number) {
            // A whole word is written, of which a part counts.
            let short = Short::of(number);
            bytes[end..end + 8].copy_from_slice(&short.bytes.to_le_bytes());
            end += usize::from(short.length);
        } else {
            end += long(number, &mut bytes[end..]);
        }
    }
    bytes.truncate(end);
}

/// A number below [`SHORT`], as it is written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// The bytes, the first one lowest.
    pub bytes: u64,
    /// How many of them count.
    pub length: u8,
}

impl Short {
    /// Whether a number is below [`SHORT`].
    #[inline(always)]
    pub fn is(number: u64) -> bool {
        number < SHORT
    }

    /// A number below [`SHORT`]; what comes of others makes no sense. Without a branch, since nothing
    /// foretells the length, and without a table, so that many can be made at once.
    #[inline(always)]
    pub fn of(number: u64) -> Self {
        // Groups of 28, 14 and at last 7 bits move to where halves, quarters and bytes begin.
        let halves = number & 0x0fff_ffff | (number & 0x00ff_ffff_f000_0000) << 4;
        let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
        let groups = quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
        // The bits before the last group that is not zero: all bytes but the last have the high one.
        let before = (63 - (groups | 1).leading_zeros() as u64) & 0x38;
        let more = 0x8080_8080_8080_8080 & ((1 << before) - 1);
        Self { bytes: groups | more, length: (before >> 3) as u8 + 1 }
    }
}

/// Writes a number of any length to the front of `bytes`; how many bytes it took.
#[cold]
pub(crate) fn long(mut number: u64, bytes: &mut [u8]) -> usize {
    let mut length = 0;
    while number >= 0x80 {
        bytes[length] = number as u8 | 0x80;
        number >>= 7;
        length += 1;
    }
    bytes[length] = number as u8;
    length + 1
}

/// Maps numbers of small magnitude, read as two's complement, to small numbers.
pub(crate) const fn zigzag(number: u64) -> u64 {
    (number << 1) ^ ((number as i64) >> 63) as u64
}

/// The reverse of [`zigzag`].
pub(crate) const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Reads numbers off the front of a slice.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next number; `None` if the slice ends within it or it does not fit in 64 bits.
    #[inline(always)]
    pub fn number(&mut self) -> Option<u64> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        if first < 0x80 { Some(u64::from(first)) } else { self.long(first) }
    }

    #[inline]
    fn long(&mut self, first: u8) -> Option<u64> {
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
            if shift > 63 {
                return None;
            }
        }
    }

    /// The next number, if it is at most `limit`.
    pub fn at_most(&mut self, limit: u64) -> Option<u64> {
        self.number().filter(|&number| number <= limit)
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        let around = |bit: u32| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1];
        let numbers: Vec<u64> = (0..64).flat_map(around).chain([0, u64::MAX]).collect();
        let (mut bytes, mut plain) = (vec![7], vec![7]);
        put_all(&mut bytes, numbers.len(), numbers.iter().copied());
        for &number in &numbers {
            let mut one = [0; MOST_BYTES];
            let length = long(number, &mut one);
            plain.extend_from_slice(&one[..length]);
        }
        assert_eq!(bytes, plain);
        let mut cursor = Cursor::new(&bytes[1..]);
        assert!(numbers.iter().all(|&number| cursor.number() == Some(number)));
        assert!(cursor.is_empty());
    }
}
