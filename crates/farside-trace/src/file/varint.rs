//! Numbers in as few bytes as they need: seven bits to a byte, least significant first, the high bit
//! set in all but the last (LEB128). Signed numbers are zigzagged first.

/// Appends `number`.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Maps numbers of small magnitude, read as two's complement, to small numbers.
pub(super) const fn zigzag(number: u64) -> u64 {
    (number << 1) ^ ((number as i64) >> 63) as u64
}

/// The reverse of [`zigzag`].
pub(super) const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Reads numbers off the front of a slice.
pub(super) struct Cursor<'a> {
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
