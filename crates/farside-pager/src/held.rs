//! What sections of the program held, in memory shared with the supervisor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Most sections that are shown.
pub const MOST_HELD: usize = 64;

/// Longest name that is shown, in bytes, and in words.
pub const LONGEST_NAME: usize = 40;
const NAME_WORDS: usize = LONGEST_NAME / 8;

/// What is shown of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name, or as much as is shown of it.
    pub name: String,
    /// Most bytes that were allocated in it at once, in whole spans. Of one that is plain memory this is what it was expected
    /// to be.
    pub peak_bytes: u64,
    /// Whether it is plain memory, since there is room for all of it.
    pub plain: bool,
}

/// Sections by name. They are read by the supervisor, and a name is written by one thread.
#[repr(C)]
#[derive(Debug)]
pub struct ShownHeld {
    taken: AtomicU64,
    sections: [Shown; MOST_HELD],
}

#[repr(C)]
#[derive(Debug)]
struct Shown {
    name: [AtomicU64; NAME_WORDS],
    peak: AtomicU64,
    plain: AtomicU64,
}

impl Default for ShownHeld {
    fn default() -> Self {
        Self::new()
    }
}

impl ShownHeld {
    /// No sections.
    pub const fn new() -> Self {
        Self { taken: AtomicU64::new(0), sections: [const { Shown::new() }; MOST_HELD] }
    }

    /// Shows a section; the number that it has here, unless there are too many, or it has no name. Those that each thread
    /// has of its own have one name, and are shown as one.
    pub fn enter(&self, name: &[u8], peak: u64, plain: bool) -> Option<usize> {
        if name.is_empty() {
            return None;
        }
        let words: [u64; NAME_WORDS] = std::array::from_fn(|at| {
            let mut bytes = [0; 8];
            let part = name.get(at * 8..).unwrap_or_default();
            let len = part.len().min(8);
            bytes[..len].copy_from_slice(&part[..len]);
            u64::from_le_bytes(bytes)
        });
        let is_same = |shown: &Shown| {
            shown.plain.load(Relaxed) == u64::from(plain)
                && shown.name.iter().zip(words).all(|(one, other)| one.load(Relaxed) == other)
        };
        let taken = (self.taken.load(Relaxed) as usize).min(MOST_HELD);
        if let Some(at) = self.sections[..taken].iter().position(is_same) {
            self.note(at, peak);
            return Some(at);
        }
        let at = self.taken.fetch_update(Relaxed, Relaxed, |taken| {
            (taken < MOST_HELD as u64).then_some(taken + 1)
        });
        let at = at.ok()? as usize;
        let shown = &self.sections[at];
        for (word, name) in shown.name.iter().zip(words) {
            word.store(name, Relaxed);
        }
        shown.plain.store(plain.into(), Relaxed);
        shown.peak.store(peak, Relaxed);
        Some(at)
    }

    /// Says that so much was allocated at once.
    pub fn note(&self, at: usize, peak: u64) {
        self.sections[at].peak.fetch_max(peak, Relaxed);
    }

    /// A copy of the current values.
    pub fn snapshot(&self) -> Vec<Held> {
        let taken = (self.taken.load(Relaxed) as usize).min(MOST_HELD);
        self.sections[..taken].iter().map(Shown::snapshot).collect()
    }
}

impl Shown {
    const fn new() -> Self {
        Self {
            name: [const { AtomicU64::new(0) }; NAME_WORDS],
            peak: AtomicU64::new(0),
            plain: AtomicU64::new(0),
        }
    }

    fn snapshot(&self) -> Held {
        let bytes: Vec<u8> =
            self.name.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        let name = String::from_utf8_lossy(&bytes);
        Held {
            name: name.trim_end_matches('\0').to_owned(),
            peak_bytes: self.peak.load(Relaxed),
            plain: self.plain.load(Relaxed) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_shown_until_there_are_too_many() {
        let shown = ShownHeld::new();
        assert_eq!(shown.snapshot(), []);
        assert_eq!(shown.enter(b"", 0, false), None);
        let long = [b'n'; LONGEST_NAME + 3];
        assert_eq!(
            (shown.enter(b"nodes", 0, false), shown.enter(&long, 7, true)),
            (Some(0), Some(1))
        );
        shown.note(0, 9);
        shown.note(0, 4);
        let held = |name: &str, peak_bytes, plain| Held { name: name.into(), peak_bytes, plain };
        let all = [held("nodes", 9, false), held(&"n".repeat(LONGEST_NAME), 7, true)];
        assert_eq!(shown.snapshot(), all);
        for more in 2..MOST_HELD {
            assert!(shown.enter(format!("more{more}").as_bytes(), 0, false).is_some());
        }
        assert_eq!(shown.enter(b"more", 0, false), None);
    }

    #[test]
    fn sections_of_one_name_are_one() {
        let shown = ShownHeld::new();
        assert_eq!(shown.enter(b"scratch", 3, false), Some(0));
        assert_eq!(shown.enter(b"scratches", 0, false), Some(1));
        assert_eq!(shown.enter(b"scratch", 0, true), Some(2), "one that is plain is another");
        assert_eq!(shown.enter(b"scratch", 5, false), Some(0));
        assert_eq!(shown.enter(b"scratch", 4, false), Some(0));
        assert_eq!(shown.snapshot()[0].peak_bytes, 5);
        assert_eq!(shown.snapshot().len(), 3);
    }
}
