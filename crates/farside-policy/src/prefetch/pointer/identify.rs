//! Which words of memory are pointers.

/// Tells pointers from other words.
pub trait Identify: Send {
    /// Where the word `word`, which lies at `location`, points to, if it is a pointer into far memory.
    fn target(&self, location: u64, word: u64) -> Option<u64>;
}

/// Takes every word for a pointer that is the address of an aligned place in far memory.
///
/// Numbers and compressed data that look like one are sorted out by what they lead to: to nothing that the program had
/// ever used, or to nothing that it uses next.
#[derive(Copy, Clone, Debug)]
pub struct Conservative {
    /// First address of far memory.
    pub first: u64,
    /// Bytes of far memory.
    pub len: u64,
}

/// Objects lie at multiples of this: what a pointer to an object is not, a number that looks like one seldom is.
const OBJECT_ALIGNMENT: u64 = 8;

impl Identify for Conservative {
    #[inline]
    fn target(&self, _location: u64, word: u64) -> Option<u64> {
        let inside = word.wrapping_sub(self.first) < self.len;
        (inside && word.is_multiple_of(OBJECT_ALIGNMENT)).then_some(word)
    }
}
