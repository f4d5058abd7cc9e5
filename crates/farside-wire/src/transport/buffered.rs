//! Receiving with few calls: what arrives behind a message's first bytes is taken with them.

use std::io::{self, IoSliceMut};

use super::{Interest, Patience, Spin, Stream};

/// Bytes taken at once: a message with a page, and a little more. What is longer goes where it belongs without a copy.
const ROOM: usize = 8192;

/// Bytes that have arrived and are not asked for yet.
pub struct Buffered {
    bytes: Box<[u8; ROOM]>,
    start: usize,
    end: usize,
}

impl Default for Buffered {
    fn default() -> Self {
        Self { bytes: Box::new([0; ROOM]), start: 0, end: 0 }
    }
}

impl Buffered {
    /// Whether something has been received that was not asked for yet.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Receives the first `LEN` bytes of a message. If it takes too long nothing is lost: they will be there the next
    /// time.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if it takes too long, [`io::ErrorKind::UnexpectedEof`] if the other side hung up.
    ///
    /// # Panics
    /// If there is no room for so many.
    pub fn receive_start<const LEN: usize>(
        &mut self,
        stream: &dyn Stream,
        patience: Patience,
    ) -> io::Result<[u8; LEN]> {
        assert!(LEN <= ROOM, "{LEN} bytes");
        if self.end - self.start < LEN {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let mut spin = Spin::new(patience);
            while self.end < LEN {
                match stream.receive(&mut [IoSliceMut::new(&mut self.bytes[self.end..])]) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(more) => self.end += more,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        spin.pause(stream, Interest::Receive)?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        let mut first = [0; LEN];
        first.copy_from_slice(&self.bytes[self.start..self.start + LEN]);
        self.start += LEN;
        Ok(first)
    }

    /// Receives until `parts` are full.
    ///
    /// # Errors
    /// As [`receive_all`](super::receive_all); what has arrived so far is lost.
    pub fn receive_all(
        &mut self,
        stream: &dyn Stream,
        mut parts: &mut [IoSliceMut<'_>],
        patience: Patience,
    ) -> io::Result<()> {
        while self.start < self.end {
            let Some(part) = parts.iter_mut().find(|part| !part.is_empty()) else { return Ok(()) };
            let len = part.len().min(self.end - self.start);
            part[..len].copy_from_slice(&self.bytes[self.start..self.start + len]);
            self.start += len;
            IoSliceMut::advance_slices(&mut parts, len);
        }
        super::receive_all(stream, parts, patience)
    }
}
