//! Which words of memory are pointers.

/// Tells pointers from other words.
pub trait Identify: Send {
    /// Where the word `word`, which lies at `location`, points to, if it is a pointer into far memory.
    fn target(&self, location: u64, word: u64) -> Option<u64>;

    /// The same of a word that lies where pointers are known to lie, as the next one of an array: what it points to need
    /// not be aligned.
    fn names(&self, location: u64, word: u64) -> Option<u64>;
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
    fn target(&self, location: u64, word: u64) -> Option<u64> {
        self.names(location, word).filter(|word| word.is_multiple_of(OBJECT_ALIGNMENT))
    }

    #[inline]
    fn names(&self, _location: u64, word: u64) -> Option<u64> {
        (word.wrapping_sub(self.first) < self.len).then_some(word)
    }
}

/// What a program says of its words.
pub trait Tags: Send {
    /// Whether a word is a pointer; `None` where nothing is said.
    fn is_pointer(&self, location: u64) -> Option<bool>;
}

impl<T: Tags + Sync + ?Sized> Tags for std::sync::Arc<T> {
    fn is_pointer(&self, location: u64) -> Option<bool> {
        (**self).is_pointer(location)
    }
}

/// Exact where the program says which words are pointers, as a capability machine knows it of all words; conservative
/// elsewhere.
///
/// A tagged word counts even if it leads to no aligned place: low bits of pointers are used for other things.
#[derive(Copy, Clone, Debug)]
pub struct Tagged<T> {
    /// What is said.
    pub tags: T,
    /// What decides where nothing is said.
    pub otherwise: Conservative,
}

impl<T: Tags> Identify for Tagged<T> {
    fn target(&self, location: u64, word: u64) -> Option<u64> {
        match self.tags.is_pointer(location) {
            Some(is_pointer) => {
                let inside = word.wrapping_sub(self.otherwise.first) < self.otherwise.len;
                (is_pointer && inside).then_some(word)
            }
            None => self.otherwise.target(location, word),
        }
    }

    fn names(&self, location: u64, word: u64) -> Option<u64> {
        let is_other = self.tags.is_pointer(location) == Some(false);
        if is_other { None } else { self.otherwise.names(location, word) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Second;

    impl Tags for Second {
        fn is_pointer(&self, location: u64) -> Option<bool> {
            (location >= 100).then_some(location == 108)
        }
    }

    #[test]
    fn tags_are_exact_and_where_there_are_none_what_looks_like_a_pointer_is_one() {
        let otherwise = Conservative { first: 1000, len: 1000 };
        let tagged = Tagged { tags: Second, otherwise };
        let target = |location, word| tagged.target(location, word);
        assert_eq!((target(0, 1000), target(0, 1001)), (Some(1000), None));
        assert_eq!((target(100, 1000), target(108, 1000)), (None, Some(1000)));
        assert_eq!(
            (target(108, 1001), target(108, 2000), target(108, 0)),
            (Some(1001), None, None)
        );
        let names = |location, word| tagged.names(location, word);
        assert_eq!((names(0, 1001), names(100, 1001), names(108, 2000)), (Some(1001), None, None));
    }
}
